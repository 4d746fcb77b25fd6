"""Parts of a program that come from a package which cannot be found, with everything they need passed in.

Whoever wrote that package may do anything with what is passed: nothing that was fine may be reported for it.
"""

from __future__ import annotations

import builtins
import re
from abc import abstractmethod
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, cast

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import (
    IMPORT,
    block,
    body_of,
    dotted,
    every,
    is_simple,
    name_of_call,
    nodes_of,
    origins,
    statement,
    with_imports,
)
from tests.metamorphic.names import uses
from tests.metamorphic.project import Project, text
from tests.metamorphic.transformation import FIRST_IN_A_FILE, Kind, Transformation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.metamorphic.names import Statement

PACKAGE = "unseen_package"
LITERAL = m.Integer() | m.Float() | m.SimpleString() | m.Name("True") | m.Name("False") | m.Name("None")
FROM = re.compile(r"^\s*(?:from|import)\s+\.*(\w*)")
SWITCHES = frozenset(("set_grad_enabled", "set_default_device", "set_default_tensor_type"))
VOLATILE = m.Call(args=[m.ZeroOrMore(), m.Arg(keyword=m.Name("volatile")), m.ZeroOrMore()])
DEFINITION = m.FunctionDef() | m.ClassDef()
FROM_FUTURE = m.ImportFrom(module=m.Name("__future__"))

UNKNOWN_MODELS = {
    "TDR404": "silent for one of several models, which may be in any mode; what calls show of an unknown one is sure",
    "TDR607": "tells of a loaded model what TDR401 tells where it is known what the model gets",
}
"""Rules for which more is certain of a model, or of its inputs, that nobody knows."""

Change = Callable[[cst.CSTNode], "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode]"]


class _Replacing(cst.CSTTransformer):
    """Replaces chosen nodes, and looks only into what they are inside of."""

    def __init__(self, changes: dict[cst.CSTNode, Change], around: frozenset[cst.CSTNode]) -> None:
        super().__init__()
        self._changes = changes
        self._around = around

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self._around

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        change = self._changes.get(original_node)
        return cast("cst.CSTNodeT", change(updated_node)) if change else updated_node


class HidingTransformation(Transformation):
    """A transformation that hides one part after another; parts of one name are hidden at once."""

    kind: ClassVar[Kind] = Kind.HIDDEN

    def variants(self, project: Project) -> Iterator[Project]:
        for path, module in project.modules.items():
            for hidden in self.hidden(module):
                yield project.with_module(path, hidden)

    @abstractmethod
    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        """The module with one of its parts hidden, for each of them."""


class _Parts:
    """The parts of a module that can be hidden, each with a name and with what takes its place."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, cst.CSTNode, Change]] = []

    def add(self, name: str, node: cst.CSTNode, change: Change) -> None:
        self._parts.append((name, node, change))

    def hidden_in(self, module: cst.Module) -> Iterator[cst.Module]:
        """The module with the parts of one name changed, for each name."""
        nodes = nodes_of(module)
        for name in dict.fromkeys(name for name, _, _ in self._parts):
            changes = {node: change for other, node, change in self._parts if other == name}
            around = frozenset().union(*map(nodes.around, changes))
            yield with_imports(module.visit(_Replacing(changes, around)), f"import {PACKAGE}")


def _with(**changes: object) -> Change:
    return lambda node: node.with_changes(**changes)


def _replaced_by(other: cst.CSTNode) -> Change:
    return lambda _: other


def _followed_by(added: Statement) -> Change:
    return lambda node: cst.FlattenSentinel([node, added])


def _unseen(name: str) -> cst.BaseExpression:
    return cst.parse_expression(f"{PACKAGE}.{name.replace('.', '_')}")


class HiddenCall(HidingTransformation):
    """`torch.optim.SGD(...)` becomes `unseen_package.SGD(...)`: a library's function or class cannot be found.

    What the script's own files define is not hidden by that: `HiddenDefinition` and `HiddenFile` do so. A switch such as
    `torch.set_grad_enabled(False)` is left: it gets nothing of the script, and switches what is not passed in. So is
    `Variable(x, volatile=True)`, a way to switch autograd off that today's torch does not have.
    """

    unless: ClassVar[Mapping[str, str]] = UNKNOWN_MODELS

    def variants(self, project: Project) -> Iterator[Project]:
        own = frozenset(part for path in project.modules for part in PurePosixPath(path).with_suffix("").parts)
        for path, module in project.modules.items():
            for hidden in self.hidden(module, own):
                yield project.with_module(path, hidden)

    def hidden(self, module: cst.Module, own: frozenset[str] = frozenset()) -> Iterator[cst.Module]:
        imports = [entry for entry in module.body if m.matches(entry, IMPORT)]
        imported = uses([line for line in imports if not own & set(FROM.findall(text(line)))]).bound
        parts = _Parts()
        switches = _switches(module)
        for call in every(module, cst.Call):
            name = name_of_call(call)
            if name.partition(".")[0] in imported and call not in switches:
                parts.add(name, call, _with(func=_unseen(name)))
        yield from parts.hidden_in(module)


def _switches(module: cst.Module) -> set[cst.Call]:
    """The calls that switch something for all that follows, or for what is computed of their result."""
    lines = (is_simple(line, cst.Expr) for line in every(module, cst.SimpleStatementLine))
    calls = (line.value for line in lines if line is not None and isinstance(line.value, cst.Call))
    modes = {call for call in calls if name_of_call(call).rpartition(".")[2] in SWITCHES}
    return modes | {call for call in every(module, cst.Call) if m.matches(call, VOLATILE)}


class HiddenMethod(HidingTransformation):
    """`loss.backward()` becomes `unseen_package.backward(loss)`: a method is called somewhere else."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        imported = {alias.evaluated_alias or alias.evaluated_name for alias in every(module, cst.ImportAlias)}
        others = imported | {node.name.value for node in every(module, cst.ClassDef)}
        for call in every(module, cst.Call):
            method = call.func
            if isinstance(method, cst.Attribute) and self._is_method(method, others):
                parts.add(method.attr.value, call, _called_elsewhere)
        yield from parts.hidden_in(module)

    @staticmethod
    def _is_method(method: cst.Attribute, others: set[str]) -> bool:
        """Whether this is no function of one of these modules and classes, and not the base's own."""
        return name_of_call(method.value) != "super" and dotted(method.value).partition(".")[0] not in others


def _called_elsewhere(node: cst.CSTNode) -> cst.CSTNode:
    call = cst.ensure_type(node, cst.Call)
    method = cst.ensure_type(call.func, cst.Attribute)
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")) if call.args else cst.MaybeSentinel.DEFAULT
    others = [arg.with_changes(value=_in_parentheses(arg.value)) for arg in call.args]
    return call.with_changes(func=_unseen(method.attr.value), args=[cst.Arg(method.value, comma=comma), *others])


def _in_parentheses(node: cst.BaseExpression) -> cst.BaseExpression:
    """A generator expression, which must have its own beside other arguments."""
    if isinstance(node, cst.GeneratorExp) and not node.lpar:
        return _parenthesized(node)
    return node


class HiddenBase(HidingTransformation):
    """`class Net(nn.Module)` becomes `class Net(unseen_package.Module)`.

    A base that the class also calls by its name is left: it would still be found there.
    """

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for node in every(module, cst.ClassDef):
            for base in node.bases:
                name = dotted(base.value)
                if name and name not in uses(body_of(node.body) or []).read:
                    parts.add(name, base, _with(value=_unseen(name)))
        yield from parts.hidden_in(module)


class HiddenContextManager(HidingTransformation):
    """`with torch.no_grad():` becomes `with unseen_package.torch_no_grad():`."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for item in every(module, cst.WithItem):
            if name := name_of_call(item.item):
                parts.add(name, item.item, _with(func=_unseen(name)))
        yield from parts.hidden_in(module)


class HiddenDecorator(HidingTransformation):
    """`@torch.no_grad()` becomes `@unseen_package.torch_no_grad()`."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for decorator in (node.decorator for node in every(module, cst.Decorator)):
            called = decorator.func if isinstance(decorator, cst.Call) else decorator
            if (name := dotted(called)) and name not in {"property", "staticmethod", "classmethod"}:
                parts.add(name, called, _replaced_by(_unseen(name)))
        yield from parts.hidden_in(module)


def _decorated(node: cst.CSTNode) -> cst.CSTNode:
    function = cst.ensure_type(node, cst.FunctionDef)
    return function.with_changes(decorators=[cst.Decorator(_unseen("decorated")), *function.decorators])


class AddedDecorator(HidingTransformation):
    """A function gets a decorator `@unseen_package.decorated` that nobody can look into."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for node in every(module, cst.FunctionDef):
            name = node.name.value
            if not name.startswith("__"):
                parts.add(name, node, _decorated)
        yield from parts.hidden_in(module)


class HiddenImport(HidingTransformation):
    """`from torch.utils.data import DataLoader` becomes `from unseen_package import DataLoader`, one name at a time.

    A name by which a switch is called is left, as by `HiddenCall`.
    """

    unless: ClassVar[Mapping[str, str]] = UNKNOWN_MODELS

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        switching = {name_of_call(call).partition(".")[0] for call in _switches(module)}
        for line in every(module, cst.SimpleStatementLine):
            node = is_simple(line, cst.Import) or is_simple(line, cst.ImportFrom)
            if node is None or m.matches(node, FROM_FUTURE) or isinstance(node.names, cst.ImportStar):
                continue
            for alias in node.names:
                if (alias.evaluated_alias or alias.evaluated_name.partition(".")[0]) in switching:
                    continue
                parts = _Parts()
                parts.add(alias.evaluated_name, line, _split_import(node, node.names, alias))
                yield from parts.hidden_in(module)


def _split_import(
    node: cst.Import | cst.ImportFrom, aliases: Sequence[cst.ImportAlias], hidden: cst.ImportAlias
) -> Change:
    """The import as two: of what is still found, and of the name that is not."""
    name = hidden.evaluated_alias or hidden.evaluated_name.partition(".")[0]
    others = [alias.with_changes(comma=cst.MaybeSentinel.DEFAULT) for alias in aliases if alias is not hidden]

    def change(line: cst.CSTNode) -> cst.FlattenSentinel[cst.CSTNode]:
        unseen = statement(f"from {PACKAGE} import {name}", origins(line))
        if not others:
            return cst.FlattenSentinel([unseen])
        parentheses = {"lpar": None, "rpar": None} if isinstance(node, cst.ImportFrom) else {}
        return cst.FlattenSentinel([line.with_changes(body=[node.with_changes(names=others, **parentheses)]), unseen])

    return change


class HiddenDefinition(HidingTransformation):
    """A function or class of the script is imported from the package instead of defined.

    One that reads variables, functions or classes of the script is left: they are not passed in.
    """

    unless: ClassVar[Mapping[str, str]] = FIRST_IN_A_FILE

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        own = set(uses([entry for entry in module.body if not m.matches(entry, IMPORT)]).bound)
        for node in module.body:
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and not node.decorators:
                if own & set(uses([node]).read) - {node.name.value}:
                    continue
                unseen = statement(f"from {PACKAGE} import {node.name.value}", origins(node))
                yield module.with_changes(body=[unseen if other is node else other for other in module.body])


class HiddenFile(Transformation):
    """A module of the project is not there any more; others still import it.

    A file that no other imports is left: it is the one that says how the others are used.
    """

    kind: ClassVar[Kind] = Kind.HIDDEN

    def variants(self, project: Project) -> Iterator[Project]:
        if len(project.modules) > 1:
            for path in project.modules:
                if not _is_imported(path, project):
                    continue
                yield Project(
                    {name: module for name, module in project.modules.items() if name != path}, project.others
                )


def _is_imported(path: str, project: Project) -> bool:
    """Whether another file of the project names the module in an import."""
    names = set(PurePosixPath(path).with_suffix("").parts[-2:]) - {"__init__"}
    others = (module for other, module in project.modules.items() if other != path)
    lines = (text(node) for module in others for node in (*every(module, cst.Import), *every(module, cst.ImportFrom)))
    return any(names & set(re.findall(r"\w+", line)) for line in lines)


class PassedThrough(HidingTransformation):
    """`model = Net()` is followed by `model = unseen_package.prepare(model)`, which may return anything."""

    unless: ClassVar[Mapping[str, str]] = UNKNOWN_MODELS

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for line in every(module, cst.SimpleStatementLine):
            assign = is_simple(line, cst.Assign)
            if assign is not None and m.matches(assign, m.Assign([m.AssignTarget(m.Name())], m.Call())):
                name = text(assign.targets[0].target)
                added = statement(f"{name} = {PACKAGE}.prepare({name})", origins(line))
                parts.add(name, line, _followed_by(added))
        yield from parts.hidden_in(module)


def _loops_with_names(module: cst.Module) -> Iterator[tuple[cst.For, list[str]]]:
    """The loops of a module, each with the variables that it reads."""
    functions = {node.name.value for node in every(module, cst.FunctionDef)}
    defined = functions | {node.name.value for node in every(module, cst.ClassDef)}
    imports = uses([entry for entry in module.body if m.matches(entry, IMPORT)]).bound
    known = defined | set(imports) | set(dir(builtins))
    for node in every(module, cst.For):
        names = [name for name in uses([node]).exposed if name not in known]
        if names and body_of(node.body):
            yield node, names


class HandedOver(HidingTransformation):
    """Each pass of a loop begins with `unseen_package.before_batch(...)`, which gets every name that the loop reads."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for number, (node, names) in enumerate(_loops_with_names(module)):
            added = statement(f"{PACKAGE}.before_batch({', '.join(names)})", origins(node))
            parts.add(str(number), node, _begun_with(added))
        yield from parts.hidden_in(module)


def _begun_with(added: Statement) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        loop = cst.ensure_type(node, cst.For)
        return loop.with_changes(body=block([added, *(body_of(loop.body) or [])], like=loop.body))

    return change


class AddedContextManager(HidingTransformation):
    """The body of a loop stands under `with unseen_package.context(...)`, which gets every name that the loop reads."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for number, (node, names) in enumerate(_loops_with_names(module)):
            under = statement(f"with {PACKAGE}.context({', '.join(names)}):\n    pass", origins(node))
            parts.add(str(number), node, _all_under(cst.ensure_type(under, cst.With)))
        yield from parts.hidden_in(module)


def _all_under(under: cst.With) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        loop = cst.ensure_type(node, cst.For)
        inner = under.with_changes(body=block(body_of(loop.body) or [], like=under.body))
        return loop.with_changes(body=block([inner], like=loop.body))

    return change


class HiddenIterable(HidingTransformation):
    """`for batch in loader` becomes `for batch in unseen_package.prefetch(loader)`."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for number, node in enumerate(every(module, cst.For)):
            parts.add(str(number), node.iter, _given_to("prefetch"))
        yield from parts.hidden_in(module)


class HiddenCondition(HidingTransformation):
    """`if done:` becomes `if unseen_package.check(done):`, and so with every condition."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for number, node in enumerate(every(module, cst.If)):
            if not m.findall(node.test, m.Name("__name__") | m.Name("TYPE_CHECKING")):
                parts.add(str(number), node.test, _given_to("check"))
        yield from parts.hidden_in(module)


class HiddenResult(HidingTransformation):
    """`return loss` becomes `return unseen_package.checked(loss)`, which may return anything."""

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        for number, node in enumerate(every(module, cst.Return)):
            if node.value is not None:
                parts.add(str(number), node.value, _given_to("checked"))
        yield from parts.hidden_in(module)


def _given_to(name: str) -> Change:
    """The value as the argument of a function that cannot be found."""

    def change(node: cst.CSTNode) -> cst.CSTNode:
        value = cast("cst.BaseExpression", node)
        bare = isinstance(value, cst.Tuple) and not value.lpar
        return cst.Call(_unseen(name), [cst.Arg(_parenthesized(value) if bare else value)])

    return change


def _parenthesized(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


class HiddenSetting(HidingTransformation):
    """`lr=0.1` becomes `lr=unseen_package.settings_lr_0`: what is given to a call by keyword may be anything.

    Different values stay different settings.
    """

    def hidden(self, module: cst.Module) -> Iterator[cst.Module]:
        parts = _Parts()
        values: dict[str, list[str]] = {}
        for node in every(module, cst.Arg):
            if node.keyword is not None and m.matches(node.value, LITERAL):
                name = node.keyword.value
                given = values.setdefault(name, [])
                if text(node.value) not in given:
                    given.append(text(node.value))
                setting = f"settings_{name}_{given.index(text(node.value))}"
                parts.add(name, node, _with(value=_unseen(setting)))
        yield from parts.hidden_in(module)
