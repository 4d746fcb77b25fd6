"""What things are called, and which types they are said to have."""

from __future__ import annotations

import builtins
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import dotted, every, name_of_call
from tests.metamorphic.transformation import Kind, ModuleTransformation, Transformation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.metamorphic.project import Project

FIXED = {"self", "cls", "args", "kwargs", "_"}
TYPES = {cst.Integer: "int", cst.Float: "float", cst.SimpleString: "str"}


class Renaming(Transformation):
    """Variables, parameters, functions and classes get other names, each the same one wherever it stands.

    Names that an import, an argument's keyword or a class body uses stay, and so do attributes and methods.
    """

    def variants(self, project: Project) -> Iterator[Project]:
        if len(project.modules) > 1:
            return
        ((path, module),) = project.modules.items()
        names = _Bound()
        module.visit(names)
        fixed = names.fixed | FIXED | set(dir(builtins))
        chosen = [name for name in names.bound if name not in fixed and not name.startswith("__")]
        if chosen and not m.findall(module, m.Name("locals") | m.Name("globals") | m.Name("eval") | m.Name("exec")):
            new = {name: self.renamed(name, number) for number, name in enumerate(chosen, start=1)}
            yield project.with_module(path, module.visit(_Renamer(new)))

    @abstractmethod
    def renamed(self, name: str, number: int) -> str:
        """The new name of the variable of this number."""


class RenamedMeaningless(Renaming):
    """Variables, parameters, functions and classes get meaningless names: `v1`, `v2`, each the same one wherever it stands."""

    kind: ClassVar[Kind] = Kind.KEPT

    def renamed(self, name: str, number: int) -> str:
        return f"{'V' if name[0].isupper() else 'v'}{number}"


class RenamedLonger(Renaming):
    """Variables, parameters, functions and classes get longer names: `model` becomes `my_model`, wherever it stands."""

    kind: ClassVar[Kind] = Kind.KEPT

    def renamed(self, name: str, number: int) -> str:
        del number
        return f"My{name}" if name[0].isupper() else f"my_{name}"


class _Bound(cst.CSTVisitor):
    """Which names a module binds, and which of them must keep them."""

    def __init__(self) -> None:
        super().__init__()
        self.bound: dict[str, None] = {}
        self.fixed: set[str] = set()
        self._inside: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            own = self.fixed if self._inside and isinstance(self._inside[-1], cst.ClassDef) else None
            self._bind(node.name.value, own)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            self._inside.append(node)
        elif isinstance(node, cst.Param):
            self._bind(node.name.value)
        elif isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.NamedExpr, cst.For, cst.CompFor)):
            self._targets(node.target)
        elif isinstance(node, cst.AsName):
            self._targets(node.name)
        elif isinstance(node, cst.Arg) and node.keyword:
            self.fixed.add(node.keyword.value)
        elif isinstance(node, cst.ImportAlias):
            self.fixed.add(node.evaluated_alias or node.evaluated_name.partition(".")[0])
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            self._inside.pop()

    def _targets(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            own = self.fixed if self._inside and isinstance(self._inside[-1], cst.ClassDef) else None
            self._bind(target.value, own)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._targets(element.value)

    def _bind(self, name: str, fixed: set[str] | None = None) -> None:
        if fixed is None:
            self.bound[name] = None
        else:
            fixed.add(name)


class _Renamer(cst.CSTTransformer):
    def __init__(self, new: dict[str, str]) -> None:
        super().__init__()
        self._new = new

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        del original_node
        return updated_node.with_changes(value=self._new.get(updated_node.value, updated_node.value))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_ImportAlias(self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias) -> cst.ImportAlias:
        del updated_node
        return original_node

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        del updated_node
        return original_node


class AnnotationsRemoved(ModuleTransformation):
    """Parameters, results and variables of functions and of the script have no annotations any more."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        rewritten = module.visit(_Removing())
        return module if rewritten.deep_equals(module) else rewritten


class _Removing(cst.CSTTransformer):
    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        """Fields of data classes are made of their annotations."""
        return not node.decorators and not any(dotted(base.value).endswith("Tuple") for base in node.bases)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        del original_node
        return updated_node.with_changes(annotation=None)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        del original_node
        return updated_node.with_changes(returns=None)

    def leave_AnnAssign(self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign) -> cst.BaseSmallStatement:
        del original_node
        if updated_node.value is None or not isinstance(updated_node.target, cst.Name):
            return updated_node
        return cst.Assign([cst.AssignTarget(updated_node.target)], updated_node.value)


class AnnotationsAdded(ModuleTransformation):
    """Variables get the type that the literal or the constructor says, and functions without a result `-> None`."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        lists = [node.names for node in every(module, cst.Global)] + [
            node.names for node in every(module, cst.Nonlocal)
        ]
        declared = {item.name.value for names in lists for item in names}
        rewritten = module.visit(_Adding(declared))
        return module if rewritten.deep_equals(module) else rewritten


class _Adding(cst.CSTTransformer):
    def __init__(self, declared: set[str]) -> None:
        super().__init__()
        self._declared = declared

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        """A field with a type is another thing to a data class and to an enumeration."""
        old, new = original_node.body.body, updated_node.body.body
        kept = [now if isinstance(now, cst.FunctionDef) else was for was, now in zip(old, new, strict=True)]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=kept))

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        del original_node
        kind = TYPES.get(type(updated_node.default))  # type: ignore[arg-type]
        if kind is None or updated_node.annotation is not None:
            return updated_node
        return updated_node.with_changes(annotation=cst.Annotation(cst.Name(kind)))

    def leave_Lambda(self, original_node: cst.Lambda, updated_node: cst.Lambda) -> cst.Lambda:
        return updated_node.with_changes(params=original_node.params)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        gives = m.findall(original_node, m.Yield() | m.Return(value=m.MatchIfTrue(lambda value: value is not None)))
        if gives or updated_node.returns is not None or m.findall(original_node.body, m.Lambda() | m.FunctionDef()):
            return updated_node
        return updated_node.with_changes(returns=cst.Annotation(cst.Name("None")))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.BaseSmallStatement:
        del original_node
        if not m.matches(updated_node, m.Assign([m.AssignTarget(m.Name())])):
            return updated_node
        target = cst.ensure_type(updated_node.targets[0].target, cst.Name)
        called = name_of_call(updated_node.value)
        kind = TYPES.get(type(updated_node.value)) or (called if called.rpartition(".")[2][:1].isupper() else "")
        if not kind or target.value in self._declared:
            return updated_node
        return cst.AnnAssign(target, cst.Annotation(cst.parse_expression(kind)), updated_node.value)
