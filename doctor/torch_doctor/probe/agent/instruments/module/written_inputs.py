"""What the source of a `forward` says of its inputs: where they stand, and which slices it takes of them."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from ...nodes import span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PURE = frozenset(("torch", "einops", "math"))
_PLAIN = frozenset(("len", "int", "float", "bool", "isinstance", "range", "zip", "enumerate", "super", "list", "tuple"))


class Input(NamedTuple):
    """A parameter, or a slice of one that is kept under a name: where it stands, and how it is taken.

    `may_be_told`: it has to be given, and its name does not say that nobody reads it. `optional`: a branch that is not taken,
    or something of the project's that is called, may leave it out.
    """

    name: str
    parameter: str
    place: Any
    may_be_told: bool
    optional: bool
    owner: str = ""
    slices: tuple[ast.expr, ...] = ()

    def key(self, module: Any, dimensions: int) -> Any:
        """The key of the slice in a tensor of so many dimensions; None where it names what only the body knows."""
        if not self.slices:
            return ...
        if len(self.slices) > dimensions:
            return None
        try:
            return tuple(_value(each, self.owner, module) for each in self.slices)
        except (AttributeError, TypeError, ValueError):
            return None


def inputs_of(tree: ast.AST | None, function: Any, module: Any) -> list[Input]:
    """The parameters that the `forward` of a module takes, as a file has it, and the slices of them that it keeps.

    A class that none of the module's parts is of, and has a method that takes a parameter of the same name, may be called in
    the same place, and the parameter be there for that one.
    """
    code = function.__code__
    inside = {type(part).__name__ for part in module.modules()}
    methods = [
        (owner.name, node)
        for owner in (ast.walk(tree) if tree is not None else ())
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name
    ]
    for name, node in methods:
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        if first == code.co_firstlineno:
            rest = [each for other, each in methods if other != name and other not in inside]
            shared = {each.arg for method in rest for each in _parameters(method)}
            return _inputs(node, function, shared, module)
    return []


def _parameters(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _inputs(node: ast.FunctionDef, function: Any, shared: set[str], module: Any) -> list[Input]:
    path = function.__code__.co_filename
    plain = [*node.args.posonlyargs, *node.args.args]
    needed = {each.arg for each in plain[: len(plain) - len(node.args.defaults)]} - shared
    names = [each.arg for each in _parameters(node)[1:]]
    found: list[Input] = []
    for each in _parameters(node)[1:]:
        told = each.arg in needed and not _left_alone(each.arg, node, function)
        found.append(Input(each.arg, each.arg, span_of(path, each), told, _is_optional(each.arg, node, module)))
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    for name, taken in _kept(node):
        keys = taken.slice.elts if isinstance(taken.slice, ast.Tuple) else []
        whole = taken.value.id if isinstance(taken.value, ast.Name) else ""
        if whole in names and whole not in stored and len(keys) > 1 and _all_rows(keys[0]):
            told = not _left_alone(name, node, function)
            optional = _is_optional(name, node, module)
            found.append(Input(name, whole, span_of(path, taken), told, optional, plain[0].arg, tuple(keys)))
    return found


def _left_alone(name: str, node: ast.FunctionDef, function: Any) -> bool:
    """Whether nobody can tell by the results: a name says so, or what is of it goes to a function that may keep it."""
    if name.startswith("_"):
        return True
    taken = _made_of(name, node)
    names = {*_owner(node), *taken}
    return not all(_is_followed(each.func, names, function) for each in _given(node, taken))


def _is_optional(name: str, node: ast.FunctionDef, module: Any) -> bool:
    """Whether a branch may leave out what is of a name, or something that is called and is none of torch's layers."""
    taken = _made_of(name, node)
    branches = [
        each for each in ast.walk(node) if isinstance(each, (ast.If, ast.IfExp, ast.While, ast.Try, ast.BoolOp))
    ]
    if any(_names(each) & taken or _leaves(each) for each in branches):
        return True
    for call in _given(node, taken):
        func = call.func
        if isinstance(func, ast.Attribute) and _names(func.value) == _owner(node):
            part = getattr(module, func.attr, None) if isinstance(func.value, ast.Name) else None
            if not type(part).__module__.startswith("torch.nn.modules."):
                return True
    return False


def _leaves(branch: ast.AST) -> bool:
    return any(isinstance(each, ast.Return) for each in ast.walk(branch))


def _owner(node: ast.FunctionDef) -> set[str]:
    return {each.arg for each in _parameters(node)[:1]}


def _made_of(name: str, node: ast.FunctionDef) -> set[str]:
    """The names that get something of what a name has, itself among them."""
    taken = {name}
    assigned = [each for each in ast.walk(node) if isinstance(each, (ast.Assign, ast.For, ast.NamedExpr))]
    for each in assigned * 2:
        if _names(each.iter if isinstance(each, ast.For) else each.value) & taken:
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            taken |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return taken


def _given(node: ast.FunctionDef, names: set[str]) -> list[ast.Call]:
    """The calls that get one of these names."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return [each for each in calls if _names(*each.args, *(keyword.value for keyword in each.keywords)) & names]


def _is_followed(func: ast.expr, names: set[str], function: Any) -> bool:
    """Whether a call is of the module's own, of a tensor, of torch, or of a function that keeps nothing."""
    while isinstance(func, (ast.Attribute, ast.Subscript, ast.Call)):
        func = func.func if isinstance(func, ast.Call) else func.value
    if not isinstance(func, ast.Name):
        return True
    if func.id in names or func.id in _PLAIN:
        return True
    thing = function.__globals__.get(func.id)
    module = getattr(thing, "__name__" if inspect.ismodule(thing) else "__module__", None) or ""
    return module.partition(".")[0] in _PURE


def _names(*nodes: ast.AST) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _kept(node: ast.FunctionDef) -> Iterator[tuple[str, ast.Subscript]]:
    """The names to which a slice is assigned as it is."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and len(each.targets) == 1:
            target, value = each.targets[0], each.value
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts) if both else [(target, value)]  # type: ignore[attr-defined]  # noqa: B905
            yield from (
                (left.id, right)
                for left, right in pairs
                if isinstance(left, ast.Name) and isinstance(right, ast.Subscript)
            )


def _all_rows(key: ast.expr) -> bool:
    return isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None


def _value(node: ast.expr | None, owner: str, module: Any) -> Any:
    """A part of a key: numbers, slices of them, and attributes of the module."""
    if node is None:
        return None
    if isinstance(node, ast.Slice):
        return slice(*(_value(each, owner, module) for each in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.Constant) and (node.value is ... or isinstance(node.value, int)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, owner, module)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner:
        kept = vars(module).get(node.attr)
        if isinstance(kept, int):
            return kept
    raise ValueError(node)
