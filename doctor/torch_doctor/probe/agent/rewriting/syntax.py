"""What the syntax of a statement tells of it before it is instrumented."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..nodes import last_name

if TYPE_CHECKING:
    from collections.abc import Iterable

JOINING = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})
PLAIN_NAMES = ("len", "int", "float", "str", "bool", "round", "range", "print", "input", "open", "time")
PLAIN_METHODS = ("item", "tolist", "numel", "numpy", "format", "join", "time")
MIXING = frozenset({"add", "sub", "lerp", "sum", "mean"})
"""Functions and methods whose result goes on from what a running sum had before, as `0.9 * x + 0.1 * v` does."""
GIVING_ITSELF = frozenset(
    {"to", "cuda", "cpu", "eval", "train", "requires_grad_", "float", "double", "half", "bfloat16"}
)
"""Methods that return the module that they are called on."""
READING = frozenset({"item", "tolist", "cpu"})
READERS = frozenset({"float", "int", "print", "str"})
COMPILED = ("jit", "guvectorize", "vectorize", "stencil", "cfunc", "kernel")  # decorators that read bytecode or source


def written_out(name: str, value: ast.expr) -> dict[str, ast.expr]:
    """A value under its name, and what is written out in it under the names of its parts."""
    parts: list[tuple[object, ast.expr]] = []
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        parts = [(key.value, each) for key, each in pairs if isinstance(key, ast.Constant)]
    elif isinstance(value, (ast.List, ast.Tuple)):
        parts = list(enumerate(value.elts))
    found = {name: value}
    for part, each in parts:
        found |= written_out(f"{name}.{part}", each)
    return found


def keeps_a_record(node: ast.If) -> bool:
    """Whether a branch is taken when something is better than ever, and notes it: `if acc > best: best = acc`."""
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    sides = {ast.dump(where_read(test.left)), ast.dump(where_read(test.comparators[0]))}
    return len(sides) == 2 and any(  # noqa: PLR2004 - both sides of a comparison
        isinstance(statement, ast.Assign)
        and {ast.dump(where_read(statement.targets[0])), ast.dump(statement.value)} == sides
        for statement in node.body
    )


def may_rename(value: ast.expr) -> bool:
    """Whether a value may be a model, or the parameters of one, that was there before: `net`, `net.eval()`, `twin(net)`."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return True
    if isinstance(value, ast.Call):
        function = isinstance(value.func, ast.Name) or last_name(value.func) in {"copy", "deepcopy"}
        inside: Iterable[ast.expr] = value.args if function else ()
        if last_name(value.func) in GIVING_ITSELF:
            return True
    elif isinstance(value, (ast.ListComp, ast.DictComp)):
        return any(isinstance(each, ast.Attribute) and "parameters" in each.attr for each in ast.walk(value))
    else:
        inside = value.values if isinstance(value, ast.Dict) else ()
    return any(isinstance(each, (ast.Name, ast.Attribute, ast.Call)) for each in inside)


def where_read(node: ast.expr) -> ast.expr:
    """The same name or attribute where it is read."""
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Load())
    return node


def does_something(node: ast.AST) -> bool:
    """Whether anything can happen in it: it calls something, or keeps something."""
    return any(isinstance(each, (ast.Call, ast.Await, ast.AugAssign, ast.Subscript)) for each in ast.walk(node))


def is_plain(value: ast.expr) -> bool:
    """Whether the value surely is no tensor and holds none."""
    if isinstance(value, (ast.Constant, ast.JoinedStr, ast.Compare, ast.Lambda, ast.BoolOp)):
        return not isinstance(value, ast.BoolOp) or all(map(is_plain, value.values))
    if isinstance(value, ast.UnaryOp):
        return is_plain(value.operand)
    if isinstance(value, ast.BinOp):
        return is_plain(value.left) and is_plain(value.right)
    if not isinstance(value, ast.Call):
        return False
    return last_name(value.func) in (PLAIN_NAMES if isinstance(value.func, ast.Name) else PLAIN_METHODS)


def wraps_one(value: ast.expr) -> bool:
    """Whether one thing that has a name is put in a list: nobody lists a single layer."""
    return isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1 and isinstance(value.elts[0], ast.Name)


def way_of_adding(value: ast.expr) -> str:
    """How a value is kept that is added to something: `[v]` becomes an item of a list."""
    return "appended" if isinstance(value, (ast.List, ast.Tuple, ast.ListComp)) else "accumulated"


def same(left: ast.expr, right: ast.expr) -> bool:
    """Whether both spell the same name, chain of attributes or item."""
    while True:
        if isinstance(left, ast.Attribute) and isinstance(right, ast.Attribute):
            if left.attr != right.attr:
                return False
        elif isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript):
            if ast.dump(left.slice) != ast.dump(right.slice):
                return False
        else:
            break
        left, right = left.value, right.value
    return isinstance(left, ast.Name) and isinstance(right, ast.Name) and left.id == right.id


def added_to(target: ast.expr, value: ast.expr) -> list[ast.BinOp]:
    """The additions of `x = x + a + b`, whose right sides are added to `x`; none where it is no such sum."""
    sums: list[ast.BinOp] = []
    while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        sums.append(value)
        value = value.left
    if same(value, target):
        return sums
    if sums and len(sums) == 1 and same(sums[0].right, target):  # x = v + x
        return []
    return []


def goes_on(target: ast.expr, value: ast.expr) -> bool:
    """Whether a value is mixed of what its target had and something else: `x = 0.9 * x + 0.1 * v`, `x = mix(x, v)`."""
    if isinstance(value, ast.IfExp):
        return goes_on(target, value.body) or goes_on(target, value.orelse)
    if isinstance(value, ast.Call):
        several = isinstance(value.func, ast.Name) and len(value.args) > 1
        if not several and last_name(value.func) not in MIXING:
            return False
    elif not isinstance(value, ast.BinOp):
        return False
    return any(isinstance(each, ast.expr) and _reads(each, target) for each in ast.walk(value))


def _reads(value: ast.expr, target: ast.expr) -> bool:
    """Whether it is what a target had: spelled as the target, or `table.get(key, 0)`."""
    if same(value, target):
        return True
    return (
        isinstance(target, ast.Subscript)
        and isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in {"get", "setdefault"}
        and same(value.func.value, target.value)
        and bool(value.args)
        and ast.dump(value.args[0]) == ast.dump(target.slice)
    )


def joined_to(target: ast.expr, value: ast.expr) -> list[ast.expr] | None:
    """The elements of `x = torch.cat([x, v])`."""
    if isinstance(value, ast.Call) and last_name(value.func) in JOINING and value.args:
        parts = value.args[0]
        if isinstance(parts, (ast.List, ast.Tuple)) and any(same(each, target) for each in parts.elts):
            return parts.elts
    return None


def touches(node: ast.AST) -> bool:
    """Whether it may change gradients or parameters by hand: it names `.grad` or `.data`, or calls a method in place."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and (each.attr in {"grad", "data"} or in_place(each.attr)):
            return True
    return False


def in_place(name: str) -> bool:
    """Whether a method of this name changes its tensor."""
    return name.endswith("_") and not name.endswith("__")


def reads(node: ast.Call) -> str:
    """How a call may read the numbers of a tensor: by this method or function; "" where it does not."""
    function, name = node.func, last_name(node.func)
    if isinstance(function, ast.Attribute):
        if name in READING and not node.args and not is_super(function.value):
            return name
        return "format" if name == "format" and isinstance(function.value, ast.Constant) else ""
    return name if name in READERS and not all(map(is_plain, node.args)) else ""


def is_super(node: ast.expr) -> bool:
    """Whether it is a call of `super`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "super"


def compiles(decorator: ast.expr) -> bool:
    """Whether a decorator reads the bytecode or the source of what it is put on."""
    names: Iterable[str] = (
        each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in ast.walk(decorator)
    )
    return any(word in name for name in names for word in COMPILED)
