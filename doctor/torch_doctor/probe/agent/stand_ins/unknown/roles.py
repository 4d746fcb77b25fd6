"""What the script takes a value for that comes from a module that is not there, by what it does with it."""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING

from ..source import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

    from ..source import Sources

MODULE, DATASET, LOADER, BATCH, PLAIN = "module", "dataset", "loader", "batch", "plain"
OF_MODULES = frozenset(
    "parameters named_parameters state_dict load_state_dict train eval modules children named_modules forward half "
    "requires_grad_ buffers cuda zero_grad".split()
)
"""Methods that modules have."""
OF_OTHERS_TOO = frozenset({"forward", "train", "eval", "cuda", "half"})
"""Those of them of which one alone says nothing: simulators, trainers and arrays have it."""
OF_OPTIMIZERS = frozenset({"zero_grad", "param_groups", "backward"})
TAKING_DATASETS = frozenset(
    "DataLoader random_split Subset ConcatDataset DistributedSampler RandomSampler SequentialSampler DataLoaderX".split()
)
TAKING_MODULES = frozenset(
    "Sequential ModuleList ModuleDict DataParallel DistributedDataParallel add_module register_module count_parameters".split()
)
TAKING_LOADERS = frozenset({"enumerate", "tqdm", "iter", "next", "cycle", "trange", "track", "zip", "islice"})
LOSSES = ("loss", "criterion", "crit")
DATASETS = ("dataset", "data_set", "trainset", "testset", "valset", "train_set", "test_set", "val_set")
LOADERS = ("loader", "iterator", "dataloader")
ANYWHERE = "*"
"""Before the name of a parameter, whose function may be in any file."""
DEEPEST = 3  # names that hold a value one after the other


@dataclasses.dataclass
class Uses:
    """What is done with a value: its methods, whether it is called, what takes it, and which names hold it.

    `several`: loops take several values from each of its items.
    """

    methods: set[str] = dataclasses.field(default_factory=set)
    takers: set[str] = dataclasses.field(default_factory=set)
    names: set[str] = dataclasses.field(default_factory=set)
    called: bool = False
    iterated: bool = False
    several: bool = False
    count: int = 0

    @property
    def role(self) -> str:
        """What it is taken for."""
        words = [name.lower() for name in self.names]
        if self.takers & TAKING_DATASETS or any(part in word for word in words for part in DATASETS):
            return DATASET
        if self.iterated or any(word.endswith(LOADERS) for word in words):
            return LOADER
        of_modules = self.methods & OF_MODULES
        if self.called or of_modules - OF_OTHERS_TOO or len(of_modules) > 1 or self.takers & TAKING_MODULES:
            return MODULE
        return PLAIN


def uses_of_call(sources: Sources, frame: FrameType, name: str) -> Uses:
    """What becomes of the value of the call of `name` that `frame` runs, followed through the names that hold it."""
    uses = Uses()
    tree = sources.tree(frame.f_code.co_filename)
    if tree is None:
        return uses
    files = _Files(sources, tree)
    statement = next(iter(sources.statements(frame)), None)
    if statement is None:
        return uses
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and spelled(node) == name]
    files.follow(calls, uses, DEEPEST)
    return uses


def uses_of_name(sources: Sources, frame: FrameType, name: str) -> Uses:
    """What is done with what a name holds in the file that `frame` runs."""
    uses = Uses(names={name})
    tree = sources.tree(frame.f_code.co_filename)
    if tree is not None:
        _Files(sources, tree).read({name}, uses, DEEPEST)
    return uses


def uses_in(sources: Sources, tree: ast.Module, function: ast.FunctionDef, name: str) -> Uses:
    """What a function does with a parameter of this name."""
    uses = Uses(names={name})
    reads = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    _Files(sources, tree).follow(reads, uses, DEEPEST)
    return uses


class _Files:
    """Follows a value through the files of the script."""

    def __init__(self, sources: Sources, tree: ast.Module) -> None:
        self._tree = tree
        self._read: set[str] = set()
        self._trees = [tree, *(each for each in sources.trees() if each is not tree)]
        self._parents = {
            id(child): node for each in self._trees for node in ast.walk(each) for child in ast.iter_child_nodes(node)
        }

    def follow(self, nodes: Iterable[ast.expr], uses: Uses, depth: int) -> None:
        """Reads what is done with the value of some expressions, and with the names that are given it."""
        held: set[str] = set()
        for node in nodes:
            held |= self._done_with(node, uses)
        new = held - self._read
        self._read |= held
        uses.names |= {name.removeprefix(ANYWHERE) for name in held}
        if depth and new:
            self.read(new, uses, depth - 1)

    def read(self, names: set[str], uses: Uses, depth: int) -> None:
        """The same for what these names hold: variables of the file, attributes anywhere."""
        found: list[ast.expr] = []
        for tree in self._trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in names:
                    if isinstance(node.value, ast.Name) and node.value.id in ("self", "args", "cls"):
                        found.append(node)
                elif (
                    isinstance(node, ast.Name)
                    and isinstance(node.ctx, ast.Load)
                    and (ANYWHERE + node.id in names or (tree is self._tree and node.id in names))
                ):
                    found.append(node)
        self.follow(found, uses, depth)

    def _done_with(self, node: ast.expr, uses: Uses) -> set[str]:
        """Notes what the expression around a value does with it; returns the names that hold it then."""
        parent = self._parents.get(id(node))
        if isinstance(parent, ast.keyword):
            parent = self._parents.get(id(parent))
        if isinstance(parent, ast.Attribute):
            uses.methods.add(parent.attr)
            grand = self._parents.get(id(parent))
            if parent.attr in ("to", "cuda", "eval", "train", "double", "float") and isinstance(grand, ast.Call):
                return self._done_with(grand, uses)
            return set()
        if isinstance(parent, ast.Call):
            return self._called(parent, node, uses)
        if isinstance(parent, (ast.For, ast.comprehension)) and node is parent.iter:
            uses.iterated = True
            uses.several |= isinstance(parent.target, ast.Tuple)
            return set()
        if isinstance(parent, ast.Return):
            return self._returned(parent, uses)
        return self._held(parent, node, uses)

    def _held(self, parent: ast.AST | None, node: ast.expr, uses: Uses) -> set[str]:
        if isinstance(parent, (ast.IfExp, ast.BoolOp, ast.Starred, ast.Await)):
            return self._done_with(parent, uses)
        given: list[ast.expr] = []
        if isinstance(parent, ast.Assign):
            given = parent.targets
        elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
            given = [parent.target]
        elif isinstance(parent, ast.withitem) and parent.optional_vars is not None:
            given = [parent.optional_vars]
        elif isinstance(parent, (ast.Tuple, ast.List)):
            return self._among(parent, node, uses)
        for target in given:
            if isinstance(target, (ast.Tuple, ast.List)):
                uses.count = max(uses.count, len(target.elts))
        return {name for target in given if (name := spelled(target))}

    def _among(self, parent: ast.Tuple | ast.List, node: ast.expr, uses: Uses) -> set[str]:
        """One of several values that are returned, assigned or handed on together."""
        holder, place = self._parents.get(id(parent)), parent.elts.index(node)
        if isinstance(holder, ast.Return):
            return self._returned(holder, uses, place)
        if isinstance(holder, ast.Call):
            uses.takers.add(spelled(holder))
        return _at(holder, place)

    def _called(self, call: ast.Call, node: ast.expr, uses: Uses) -> set[str]:
        if node is call.func:
            uses.called = True
            return set()
        taker = spelled(call)
        uses.takers.add(taker)
        if taker in TAKING_LOADERS:
            uses.iterated = True
            uses.several |= self._gives_several(call)
        return self._parameter(call, node, taker)

    def _gives_several(self, call: ast.Call) -> bool:
        """Whether a loop over what counts a value takes several values from each of its items."""
        loop = self._parents.get(id(call))
        target = loop.target if isinstance(loop, (ast.For, ast.comprehension)) and loop.iter is call else None
        if spelled(call) == "enumerate" and isinstance(target, ast.Tuple):
            return isinstance(target.elts[-1], ast.Tuple)
        return False

    def _parameter(self, call: ast.Call, node: ast.expr, taker: str) -> set[str]:
        """The parameter of a function or class of the script's own that gets the value."""
        for tree in self._trees:
            for each in ast.walk(tree):
                function = _taking(each, taker)
                if function is None:
                    continue
                names = [each.arg for each in function.args.args if each.arg not in ("self", "cls")]
                by_name = [each.arg for each in call.keywords if each.value is node and each.arg in names]
                place = call.args.index(node) if node in call.args else len(names)
                return {ANYWHERE + name for name in [*by_name, *names[place : place + 1]] if name}
        return set()

    def _returned(self, statement: ast.Return, uses: Uses, place: int | None = None) -> set[str]:
        """The names that callers of the function give what it returns, or what is at a place of it."""
        above: ast.AST | None = statement
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            above = self._parents.get(id(above))
        if above is None:
            return set()
        if above.name == "forward":
            return set()
        held: set[str] = set()
        for tree in self._trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and spelled(node) == above.name:
                    parent = self._parents.get(id(node))
                    if place is not None:
                        held |= _at(parent, place)
                    elif not isinstance(parent, ast.Return):
                        held |= self._done_with(node, uses)
        return held


def _taking(node: ast.AST, name: str) -> ast.FunctionDef | None:
    """The function of this name that a node defines, or what builds the class of this name."""
    if isinstance(node, ast.ClassDef) and node.name == name:
        return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    return node if isinstance(node, ast.FunctionDef) and node.name == name else None


def _at(statement: ast.AST | None, place: int) -> set[str]:
    """The name that takes what is at a place of a value that is taken apart."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, (ast.Tuple, ast.List)) and place < len(target.elts):
        return {spelled(target.elts[place])} - {""}
    return set()
