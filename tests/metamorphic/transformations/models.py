"""How models, optimizers and loaders are made."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import (
    IMPORT,
    body_of,
    dotted,
    is_simple,
    name_of_call,
    origins,
    statement,
    statements,
    with_imports,
)
from tests.metamorphic.extraction import DEFINITION, with_definitions
from tests.metamorphic.names import FreshNames, uses
from tests.metamorphic.project import text
from tests.metamorphic.transformation import Kind, ModuleTransformation

if TYPE_CHECKING:
    from tests.metamorphic.names import Statement

LAYERS = m.Call(args=[m.AtLeastN(m.Arg(value=m.Call(), keyword=None, star=""), n=2)])
USED_AS_A_LIST = ("append", "insert", "extend", "add_module", "children", "named_children", "pop")


def imported(module: cst.Module) -> set[str]:
    """Names that imports of the module bind."""
    return set(uses([entry for entry in module.body if m.matches(entry, IMPORT)]).bound)


def classes_of_modules(module: cst.Module) -> dict[str, cst.ClassDef]:
    """Classes of the file that say in their bases that they are modules."""
    classes = [entry for entry in module.body if isinstance(entry, cst.ClassDef) and not entry.decorators]
    return {
        node.name.value: node
        for node in classes
        if any(dotted(base.value).rpartition(".")[2] == "Module" for base in node.bases)
    }


class ByPartial(ModuleTransformation):
    """`x = f(a, lr=0.1)` becomes `x = functools.partial(f, lr=0.1)(a)`, where `f` is a library's and `0.1` a literal."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        visitor = _Partial(imported(module))
        rewritten = module.visit(visitor)
        return with_imports(rewritten, "import functools") if visitor.changed else module


class _Partial(cst.CSTTransformer):
    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.changed = False
        self._names = names

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        del original_node
        call = updated_node.value
        if name_of_call(call).partition(".")[0] not in self._names or not isinstance(call, cst.Call):
            return updated_node
        literal = m.Arg(keyword=m.Name(), value=m.Integer() | m.Float() | m.Name("True") | m.Name("False"))
        bound = [arg for arg in call.args if m.matches(arg, literal)]
        rest = [arg for arg in call.args if not m.matches(arg, literal)]
        if not bound or any(arg.star for arg in rest):
            return updated_node
        self.changed = True
        given = [cst.Arg(call.func), *bound]
        made = cst.Call(cst.parse_expression("functools.partial"), [_arg(arg) for arg in given])
        return updated_node.with_changes(value=cst.Call(made, [_arg(arg) for arg in rest]))


def _arg(arg: cst.Arg) -> cst.Arg:
    """An argument without what stood around it."""
    nothing = cst.SimpleWhitespace("")
    return arg.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=nothing)


def _innermost(node: cst.BaseExpression) -> cst.BaseExpression:
    """`nn.Sequential(…)` in `nn.Sequential(…).to(device)`."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Call):
        node = node.func.value
    return node


class SequentialAsClass(ModuleTransformation):
    """`nn.Sequential(a, b)` becomes a class with the layers as attributes, whose `forward` calls one after another.

    It does not apply where somebody counts the layers, takes them out, adds some, or names a parameter by their number.
    """

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        if m.findall(module, m.SimpleString()) and re.search(r"""["']\d+\.""", module.code):
            return module
        visitor = _Stacks(module)
        rewritten = module.visit(visitor)
        return with_definitions(rewritten, visitor.classes) if visitor.classes else module


class _Stacks(cst.CSTTransformer):
    def __init__(self, module: cst.Module) -> None:
        super().__init__()
        self.classes: list[Statement] = []
        self._module = module
        self._fresh = FreshNames(module)
        self._known = imported(module) | set(
            uses([entry for entry in module.body if m.matches(entry, DEFINITION)]).bound
        )

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine:
        assign = is_simple(updated_node, cst.Assign)
        if assign is None or not m.matches(assign, m.Assign([m.AssignTarget(m.Name())])):
            return updated_node
        name = text(assign.targets[0].target)
        call = _innermost(assign.value)
        if not isinstance(call, cst.Call) or not self._is_stack(call) or self._is_used_as_a_list(name):
            return updated_node
        found = uses([cst.SimpleStatementLine([cst.Expr(call)])])
        needs = [need for need in found.exposed if need not in self._known and need not in dir(builtins)]
        made = self._fresh.of("Stack", "LayerStack")
        self.classes.append(self._class(made, call, needs, original_node))
        value = cst.parse_expression(f"{made}({', '.join(needs)})")
        return cst.ensure_type(updated_node.deep_replace(call, value), cst.SimpleStatementLine)

    @staticmethod
    def _is_stack(call: cst.Call) -> bool:
        return name_of_call(call).endswith("nn.Sequential") and m.matches(call, LAYERS)

    def _is_used_as_a_list(self, name: str) -> bool:
        methods = m.OneOf(*(m.Name(method) for method in USED_AS_A_LIST))
        used = m.OneOf(
            m.Subscript(value=m.Name(name)),
            m.For(iter=m.Name(name)),
            m.CompFor(iter=m.Name(name)),
            m.StarredElement(m.Name(name)),
            m.Arg(value=m.Name(name), star="*"),
            m.Call(func=m.Name("len"), args=[m.Arg(m.Name(name))]),
            m.Attribute(value=m.Name(name), attr=methods),
        )
        return bool(m.findall(self._module, used))

    @staticmethod
    def _class(name: str, call: cst.Call, needs: list[str], line: cst.CSTNode) -> Statement:
        package = dotted(call.func).rpartition(".")[0]
        where = origins(line)
        lines = [f"class {name}({package}.Module):", f"    def __init__({', '.join(['self', *needs])}):"]
        lines.append("        super().__init__()")
        for number, arg in enumerate(call.args):
            layer = "\n".join(row if i == 0 else f"        {row}" for i, row in enumerate(text(arg.value).split("\n")))
            lines.append(f"        self.layer_{number} = {layer}")
        lines.append("    def forward(self, x):")
        lines += [f"        x = self.layer_{number}(x)" for number in range(len(call.args))]
        lines.append("        return x")
        return statement("\n".join(lines), where)


class ModelByFactory(ModuleTransformation):
    """`Net(10)` becomes `build_net(10)`, a function that returns the model."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        visitor = _Factories(module)
        body: list[Statement] = []
        for entry in module.body:
            if m.matches(entry, m.ClassDef() | IMPORT):
                body.append(entry)
            else:
                body.append(cst.ensure_type(entry.visit(visitor), type(entry)))
        return with_definitions(module.with_changes(body=body), visitor.functions) if visitor.functions else module


class _Factories(cst.CSTTransformer):
    def __init__(self, module: cst.Module) -> None:
        super().__init__()
        self.functions: list[Statement] = []
        self._fresh = FreshNames(module)
        self._classes = classes_of_modules(module)
        self._line: cst.CSTNode = module

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        self._line = node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        del original_node
        name = dotted(updated_node.func)
        if name not in self._classes or any(arg.star for arg in updated_node.args):
            return updated_node
        factory = self._fresh.of(f"build_{name.lower()}")
        names = [arg.keyword.value if arg.keyword else f"option_{i}" for i, arg in enumerate(updated_node.args)]
        given = [f"{name}={name}" if arg.keyword else name for name, arg in zip(names, updated_node.args, strict=True)]
        code = f"def {factory}({', '.join(names)}):\n    return {name}({', '.join(given)})"
        self.functions.append(statement(code, origins(self._line)))
        return updated_node.with_changes(func=cst.Name(factory))


class ModelByRegistry(ModuleTransformation):
    """`Net(10)` becomes `REGISTRY["net"](10)`, a dictionary of the classes of models by their names."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        classes = classes_of_modules(module)
        registry = FreshNames(module).of("REGISTRY", "MODELS")
        visitor = _Registry(registry, set(classes))
        body = [
            entry if m.matches(entry, m.ClassDef() | IMPORT) else cst.ensure_type(entry.visit(visitor), type(entry))
            for entry in module.body
        ]
        if not visitor.changed:
            return module
        last = max(i for i, entry in enumerate(body) if entry in classes.values())
        entries = ", ".join(f'"{name.lower()}": {name}' for name in classes)
        added = statements(f"{registry} = {{{entries}}}")
        return module.with_changes(body=[*body[: last + 1], *added, *body[last + 1 :]])


class _Registry(cst.CSTTransformer):
    def __init__(self, registry: str, classes: set[str]) -> None:
        super().__init__()
        self.changed = False
        self._registry = registry
        self._classes = classes

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        del original_node
        if (name := dotted(updated_node.func)) not in self._classes:
            return updated_node
        self.changed = True
        return updated_node.with_changes(func=cst.parse_expression(f'{self._registry}["{name.lower()}"]'))


class ClassAsSequential(ModuleTransformation):
    """A class whose `forward` only calls the one `nn.Sequential` that it has becomes a function that returns it.

    It does not apply where the class is asked for its type or the attribute is read.
    """

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        body: list[Statement] = []
        for entry in module.body:
            made = self._function(entry, module) if isinstance(entry, cst.ClassDef) and not entry.decorators else None
            body.append(made or entry)
        changed = any(new is not old for new, old in zip(body, module.body, strict=True))
        return module.with_changes(body=body) if changed else module

    @staticmethod
    def _function(node: cst.ClassDef, module: cst.Module) -> Statement | None:
        methods = [entry for entry in body_of(node.body) or [] if isinstance(entry, cst.FunctionDef)]
        if [method.name.value for method in methods] != ["__init__", "forward"]:
            return None
        made = [entry for entry in body_of(methods[0].body) or [] if not m.findall(entry, m.Call(func=m.Name("super")))]
        page = m.SimpleStatementLine([m.Expr(m.SimpleString() | m.ConcatenatedString())])
        run = [entry for entry in body_of(methods[1].body) or [] if not m.matches(entry, page)]
        assign = is_simple(made[0], cst.Assign) if len(made) == 1 else None
        returned = is_simple(run[0], cst.Return) if len(run) == 1 else None
        if assign is None or returned is None or not name_of_call(assign.value).endswith("nn.Sequential"):
            return None
        layers = dotted(assign.targets[0].target)
        arguments = methods[1].params.params
        if not m.matches(returned, m.Return(m.Call(args=[m.Arg(m.Name(), keyword=None)]))) or len(arguments) != 2:
            return None
        attribute, name = layers.rpartition(".")[2], node.name.value
        reads = len(m.findall(module, m.Attribute(attr=m.Name(attribute))))
        calls = len(m.findall(module, m.Call(func=m.Name(name))))
        if dotted(cst.ensure_type(returned.value, cst.Call).func) != layers or reads != 2:
            return None
        if calls + 1 + len(m.findall(methods[0], m.Name(name))) != len(m.findall(module, m.Name(name))):
            return None
        parameters = methods[0].params.with_changes(params=methods[0].params.params[1:])
        result = made[0].with_changes(body=[cst.Return(assign.value)])
        function = cst.ensure_type(statement(f"def {name}():\n    pass", origins(node)), cst.FunctionDef)
        suite = cst.ensure_type(function.body, cst.IndentedBlock).with_changes(body=[result])
        return function.with_changes(params=parameters, body=suite, leading_lines=node.leading_lines)
