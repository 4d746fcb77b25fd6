"""What the user's code does with a value that is not there yet: converts it, compares it, takes it apart, names it."""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING, Any

from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CONVERSIONS: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "eval": int,
    "literal_eval": int,
    "range": int,
    "int32": int,
    "int64": int,
    "float32": float,
    "float64": float,
}
SAME = frozenset({"strip", "lower", "upper", "rstrip", "lstrip", "casefold", "title", "capitalize", "replace", "str"})
"""Methods and functions that give the text of a text."""
OPENING = frozenset({"open", "Path", "PosixPath", "expanduser", "abspath", "realpath", "resolve", "str"})
"""Functions that give the file, or the same path, of a path."""
LOADING = frozenset(
    "json.load yaml.load yaml.safe_load yaml.full_load yaml.unsafe_load toml.load tomllib.load tomli.load OmegaConf.load "
    "Config.fromfile SourceFileLoader spec_from_file_location runpy.run_path".split()
)
MERGING = frozenset({"merge_from_file", "parse_config_file", "load_from_file", "cfg_from_file", "add_config_file"})
"""Functions, and methods, that read settings from a file."""
ARCHITECTURES = frozenset({"timm.create_model", "timm.list_models", "models.get_model", "models.list_models"})
"""Functions of the name of a model, or of all names, of which timm and torchvision have this one."""
SMALL_MODEL = "resnet18"
GATHERING = frozenset({"list", "tuple", "sorted", "set", "array", "asarray", "tensor", "iter"})
HOLDING = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
SEEN_THROUGH = (ast.GeneratorExp, ast.ListComp, ast.comprehension, ast.IfExp, ast.BoolOp, ast.Tuple, ast.Starred)
DEEPEST = 2  # names that hold a value, and then a part of it


@dataclasses.dataclass
class Use:
    """What becomes of a value.

    Attributes:
        kind: `int`, `float` or `bool` where it is converted.
        words: the texts that it is compared with, or looked up among.
        numbers: the numbers that it is compared with, when it was converted.
        names: the variables that hold it.
        count: how many values it is taken apart into.
        separator: what it is split at; None where it is not split, empty for white space.
        loaded: whether settings are read from the file of this name.
        imported: whether it is the name of a module.
        within: the texts before and after it in paths, and names of modules, of which it is a part.
    """

    kind: Any = None
    words: list[str] = dataclasses.field(default_factory=list)
    numbers: list[float] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    count: int = 1
    separator: str | None = None
    loaded: bool = False
    imported: bool = False
    within: list[tuple[str, str]] = dataclasses.field(default_factory=list)


def use_of(trees: Iterable[ast.Module], is_it: Callable[[ast.AST], bool], others: Iterable[ast.Module] = ()) -> Use:
    """What the code of some files does with the expressions of which `is_it` is true; functions may be in `others`, too."""
    use = Use()
    trees = list(trees)
    handed: list[tuple[str, int | str]] = []
    for tree in trees:
        nodes = [node for node in ast.walk(tree) if is_it(node)]
        if nodes:
            _Reader(tree, use, handed).read(nodes, DEEPEST)
    if handed:
        trees += [tree for tree in others if not any(tree is each for each in trees)]
    for name, place in list(dict.fromkeys(handed)):
        _read_parameter(trees, use, name, place)
    return use


def _read_parameter(trees: list[ast.Module], use: Use, name: str, place: int | str) -> None:
    """What a function of the user's does with a parameter that it was given the value for, if only one is called so."""
    found = [
        (tree, node)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name
    ]
    if len(found) != 1:
        return
    tree, function = found[0]
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    parameter = place if isinstance(place, str) else names[place] if place < len(names) else ""
    reads = [
        each
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id == parameter
    ]
    if reads:
        _Reader(tree, use, []).read(list(reads), DEEPEST)


class _Reader:
    """Follows a value through one file, from an expression outwards and through the names that hold it."""

    def __init__(self, tree: ast.Module, use: Use, handed: list[tuple[str, int | str]]) -> None:
        self._tree = tree
        self._use = use
        self._handed = handed
        self._parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def read(self, nodes: list[ast.AST], depth: int) -> None:
        for node in nodes:
            holder = self._climb(node)
            held = _held(holder) if holder is not None and depth else []
            for name in held:
                self._use.names.append(name)
                self.read(
                    [
                        each
                        for each in ast.walk(self._tree)
                        if isinstance(each, (ast.Name, ast.Attribute))
                        and isinstance(each.ctx, ast.Load)
                        and spelled(each) == name
                    ],
                    depth - 1,
                )

    def _climb(self, node: ast.AST) -> ast.AST | None:
        """Goes outwards as long as the value is the same; returns the statement that keeps it."""
        parent = self._parents.get(id(node))
        while parent is not None and self._goes_through(parent, node):
            node, parent = parent, self._parents.get(id(parent))
        return parent if isinstance(parent, (*HOLDING, ast.withitem)) else None

    def _goes_through(self, parent: ast.AST, node: ast.AST) -> bool:
        """Whether an expression around the value has the same value; what else it does with it is noted."""
        if isinstance(parent, ast.Call):
            return self._called(parent, node)
        if isinstance(parent, ast.Attribute):
            return parent.attr in SAME or parent.attr == "split"
        if isinstance(parent, (ast.GeneratorExp, ast.ListComp)):
            self._each(parent)
        elif isinstance(parent, ast.Compare):
            self._compared(parent, node)
        elif isinstance(parent, ast.Subscript):
            self._looked_up(parent, node)
        elif isinstance(parent, (ast.JoinedStr, ast.BinOp)):
            return self._put_together(parent, node)
        elif isinstance(parent, ast.keyword):
            return True
        elif isinstance(parent, HOLDING):
            self._count(parent)
        return isinstance(parent, (*SEEN_THROUGH, ast.FormattedValue))

    def _put_together(self, whole: ast.JoinedStr | ast.BinOp, node: ast.AST) -> bool:
        """A text of which the value is a part, between two that are known; False, because it is another one."""
        parts = whole.values if isinstance(whole, ast.JoinedStr) else _summed(whole)
        place = next((at for at, each in enumerate(parts) if node in ast.walk(each)), 0)
        before, after = _known(parts[:place]), _known(parts[place + 1 :])
        outer = self._parents.get(id(whole))
        if isinstance(whole, ast.BinOp) and isinstance(outer, ast.BinOp):
            return self._put_together(outer, node)
        if before is not None and after is not None:
            self._use.within.append((before, after))
        return False

    def _called(self, call: ast.Call, node: ast.AST) -> bool:
        name = spelled(call)
        if node is call.func:
            if name == "split":
                given = call.args[0] if call.args else None
                self._use.separator = str(given.value) if isinstance(given, ast.Constant) and given.value else ""
            return True
        if name == "map" and len(call.args) > 1 and node is call.args[1]:
            self._converted(spelled(call.args[0]))
            return True
        self._converted(name)
        whole = ".".join(ast.unparse(call.func).split(".")[-2:])
        self._use.loaded |= whole in LOADING or name in LOADING or name in MERGING
        if whole in ARCHITECTURES or (name == "getattr" and call.args[1:2] == [node] and _holds_models(call.args[0])):
            self._met(SMALL_MODEL)
        self._use.imported |= name in ("import_module", "__import__")
        if name == "join" and len(call.args) > 1:
            place = next((at for at, each in enumerate(call.args) if each is node), 0)
            before, after = _known(call.args[:place], "/"), _known(call.args[place + 1 :], "/")
            if before is not None and after is not None:
                self._use.within.append((f"{before}/" * bool(before), f"/{after}" * bool(after)))
        if name in CONVERSIONS or name in GATHERING or name in SAME or name in OPENING:
            return True
        if name and whole not in LOADING:
            keyword = next((each.arg for each in call.keywords if each is node), None)
            at = next((at for at, each in enumerate(call.args) if each is node), None)
            place_given = keyword if keyword is not None else at
            if place_given is not None:
                self._handed.append((name, place_given))
        return False

    def _converted(self, name: str) -> None:
        if self._use.kind is None:
            self._use.kind = CONVERSIONS.get(name)

    def _each(self, node: ast.GeneratorExp | ast.ListComp) -> None:
        """`float(x) for x in value`."""
        if isinstance(node.elt, ast.Call):
            self._converted(spelled(node.elt))

    def _compared(self, node: ast.Compare, side: ast.AST) -> None:
        others = node.comparators if side is node.left else [node.left]
        for other in others:
            for each in ast.walk(other):
                if isinstance(each, ast.Constant):
                    self._met(each.value)
                elif isinstance(each, ast.Call) and ast.unparse(each.func) in ARCHITECTURES:
                    self._met(SMALL_MODEL)
                elif isinstance(each, ast.Name):
                    for key in self._keys(each):
                        self._met(key)

    def _met(self, value: Any) -> None:
        if isinstance(value, str):
            self._use.words.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._use.numbers.append(value)

    def _looked_up(self, node: ast.Subscript, side: ast.AST) -> None:
        if side is node.slice and spelled(node.value) == "__dict__" and _holds_models(node.value):
            self._met(SMALL_MODEL)
        elif side is node.slice:
            for key in self._keys(node.value):
                self._met(key)

    def _keys(self, node: ast.expr) -> list[Any]:
        """What a display holds, or one that a name was given."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = spelled(node)
            given = [
                each.value for each in ast.walk(self._tree) if isinstance(each, ast.Assign) and name in _held(each)
            ]
            return [key for value in given if not isinstance(value, ast.Name) for key in self._keys(value)]
        parts: list[Any] = []
        if isinstance(node, ast.Dict):
            parts = node.keys
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = node.elts
        return [part.value for part in parts if isinstance(part, ast.Constant)]

    def _count(self, node: ast.AST) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, (ast.Tuple, ast.List)):
            self._use.count = max(self._use.count, len(target.elts))


def _holds_models(node: ast.expr) -> bool:
    """Whether it is `torchvision.models`, or its dictionary."""
    return "models" in ast.unparse(node).split(".")


def _summed(node: ast.expr) -> list[ast.expr]:
    """The parts of a sum, and of a path, from left to right."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        between: list[ast.expr] = [ast.Constant("/")] if isinstance(node.op, ast.Div) else []
        return [*_summed(node.left), *between, *_summed(node.right)]
    return [node]


def _known(parts: Sequence[ast.expr], between: str = "") -> str | None:
    """The text that some expressions are, if they are texts; None where one is not."""
    texts = [
        each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else None
        for part in parts
        for each in ([part.args[0]] if isinstance(part, ast.Call) and spelled(part) == "Path" and part.args else [part])
    ]
    return None if None in texts else between.join(each for each in texts if each is not None)


def _held(statement: ast.AST) -> list[str]:
    if isinstance(statement, ast.withitem):
        given: list[ast.expr] = [statement.optional_vars] if statement.optional_vars is not None else []
    elif isinstance(statement, ast.Assign):
        given = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.NamedExpr)):
        given = [statement.target]
    else:
        return []
    return [
        name
        for target in given
        for each in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
        if (name := spelled(each))
    ]
