"""Graphs that nobody lets go of: what is still alive of every pass so far, who holds it, and at which line it gets there."""

from __future__ import annotations

import ast
import functools
import gc
import sys
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ...nodes import last_name
from ...watching.graph.keeping import Sentinel
from ...watching.graph_memory import weight
from ...watching.marks import on_node
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from ...scopes import Here
    from ...watching.watch import Watch

PASSES = 4  # of which every graph is alive before anybody looks for who holds it
MOST = 8  # passes that are looked at
DEEP = 3  # containers within containers that a graph is looked for in
LETTING_GO = frozenset({"pop", "popleft", "popitem", "clear", "remove", "discard", "reset"})
AGENT = __name__.partition(".")[0]


def _by_hand() -> None:
    """The optimizer of updates that none makes."""


class Graph:
    """One graph: the pass it was made in, what tells that it is alive, and the tensor that it was made for."""

    __slots__ = ("made", "sentinel", "site", "tensor")

    def __init__(self, made: int, sentinel: Sentinel, tensor: Any, site: int) -> None:
        self.made = made
        self.sentinel = weakref.ref(sentinel)
        self.tensor = weakref.ref(tensor)
        self.site = site


class Holder:
    """What holds graphs: `name` is how the script calls it, `state()` changes when something is put in."""

    __slots__ = ("name", "state")

    def __init__(self, name: str, state: Callable[[], int]) -> None:
        self.name = name
        self.state = state


class Instrument(Base):
    """Marks the graph of each forward and each loss, and counts after each update of which passes any is alive.

    A pass ends with a step of the optimizer that stepped first. When of `PASSES` passes in a row nothing was let go, the
    holder is looked for, and the lines of the next pass are followed until one of them puts something in.
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._graphs: list[Graph] = []
        self._first: Any = None
        self._passes = 1
        self._holder: Holder | None = None
        self._size = 0
        self._before = 0
        self._line: tuple[str, int] | None = None
        self._found: tuple[str, int] | None = None
        self._grows = False

    # --- what is made ---

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A module answered."""
        self._mark(self.watch.marks.tensors(output), here)

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A loss is about to go backward."""
        self._mark(losses, here)

    def _mark(self, tensors: Any, here: Here) -> None:
        tensor = next((each for each in tensors if each.grad_fn is not None), None)
        if tensor is None or self._passes > MOST or not here.loops:
            return
        sentinel = Sentinel()
        on_node(tensor.grad_fn)["growth"] = sentinel
        self._graphs.append(Graph(self._passes, sentinel, tensor, here.site))

    # --- what is alive ---

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """An update was made; the first optimizer's ends a pass, or each by hand where the first was."""
        if self._first is None:
            self._first = _by_hand if optimizer is None else weakref.ref(optimizer)
        if self._first() is not optimizer or self._passes > MOST:
            return
        alive = self._alive()
        self._grows = len(alive) == self._passes > PASSES
        if len(alive) == self._passes == PASSES and sys.gettrace() is None:
            with self.watch.unwatched():
                oldest = next(graph for graph in self._graphs if graph.sentinel() is not None)
                self._holder = self._holding(oldest)
            if self._holder is not None:
                self._follow(self._holder)
        self._passes += 1

    def _alive(self) -> set[int]:
        return {graph.made for graph in self._graphs if graph.sentinel() is not None}

    def at_end(self, error: BaseException | None) -> None:
        """Writes what grew from the first pass to the last, where it is known who holds it."""
        self._unfollow()
        if not (self._grows and self._holder and self._found):
            return
        alive = len(self._alive())
        path, row = self._found
        recorder = self.watch.recorder
        recorder.event(
            "MemoryGrew",
            recorder.here(),
            site=recorder.sites.whole_line(path, row),
            holder=self._holder.name,
            alive=alive,
            passes=self._passes - 1,
            size=self._size,
        )

    # --- who holds it ---

    def _holding(self, graph: Graph) -> Holder | None:
        """What keeps a graph alive, where it is a container or a variable that the script has a name for."""
        tensor = graph.tensor()
        if tensor is None:
            tensor = self._later(graph)
        if tensor is None:
            return None
        self._size = weight(tensor.grad_fn) // self._passes if graph.tensor() is None else weight(tensor.grad_fn)
        thing = tensor
        for _ in range(DEEP):
            named = self._named(thing)
            if named is not None:
                return named
            holder = next(self._containers(thing), None)
            if holder is None:
                return None
            thing = holder
        return None

    def _later(self, graph: Graph) -> Any:
        """A tensor that has the graph behind it."""
        for thing in gc.get_objects():
            if type(thing) is self.watch.torch.Tensor and thing.grad_fn is not None:
                sentinel = graph.sentinel()
                if any(sentinel is each for each in _sentinels(thing.grad_fn)):
                    return thing
        return None

    def _containers(self, thing: Any) -> Iterator[Any]:
        return (each for each in gc.get_referrers(thing) if type(each) in {list, tuple, dict, set, deque})

    def _named(self, thing: Any) -> Holder | None:
        """The variable or attribute of the user's that a thing is in, when nothing else shows that it lets go."""
        for name, get in self._variables(thing):
            if isinstance(thing, deque) and thing.maxlen is not None:
                return None
            container = isinstance(thing, (list, dict, set, deque))
            if self._lets_go(name, _takes_out) if container else self._lets_go(name, _sets_back):
                return None
            return Holder(name, thing.__len__ if container else functools.partial(_identity, get))
        return None

    def _variables(self, thing: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        frame = self.watch.recorder.frame()
        while frame is not None:
            if self._users(frame):
                for name in [name for name, value in frame.f_locals.items() if value is thing]:
                    yield name, lambda frame=frame, name=name: frame.f_locals.get(name)  # type: ignore[misc]
            frame = frame.f_back
        for owner in gc.get_referrers(thing):
            fields = owner if isinstance(owner, dict) else getattr(owner, "__dict__", None)
            own = isinstance(owner, type(sys)) or type(owner).__module__.startswith(AGENT)
            if own or not isinstance(fields, dict):
                continue
            for name in [name for name, value in list(fields.items()) if value is thing and isinstance(name, str)]:
                yield name, lambda fields=fields, name=name: fields.get(name)  # type: ignore[misc]

    def _lets_go(self, name: str, how: Callable[[ast.AST, str], bool]) -> bool:
        """Whether some line of the script lets go of what has this name, or of a part of it, now and then at least."""
        index = self.watch.recorder.index
        for path in list(index.files):
            text = "\n".join(index.sites.lines(path))
            if any(how(node, name) for node in ast.walk(ast.parse(text))):
                return True
        return False

    # --- at which line ---

    def _follow(self, holder: Holder) -> None:
        """From here on each line of the user's is asked whether it put something in."""
        self._before = holder.state()
        sys.settrace(self._traced)
        frame = sys._getframe(1)
        while frame is not None:
            if self._users(frame):
                frame.f_trace = self._traced
            frame = frame.f_back  # type: ignore[assignment]

    def _traced(self, frame: FrameType, event: str, _: Any) -> Any:
        if not self._users(frame):
            return None
        if self._holder is not None and self._found is None and event in {"line", "return"}:
            if self._holder.state() != self._before and self._line is not None:
                self._found = self._line
                self._unfollow()
                return None
            back = frame.f_back if event == "return" else frame
            self._line = (back.f_code.co_filename, back.f_lineno) if back is not None and self._users(back) else None
        return self._traced if self._found is None else None

    def _unfollow(self) -> None:
        if sys.gettrace() == self._traced:
            sys.settrace(None)

    def _users(self, frame: FrameType) -> bool:
        return self.watch.recorder.sites.is_users(frame.f_code.co_filename)


def _identity(get: Callable[[], Any]) -> int:
    return id(get())


def _sentinels(node: Any) -> Iterator[Any]:
    """The marks of this instrument behind a node."""
    seen = {node}
    waiting = [node]
    while waiting:
        node = waiting.pop()
        notes = node.metadata.get("torch-doctor")
        if notes and "growth" in notes:
            yield notes["growth"]
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def _takes_out(node: ast.AST, name: str) -> bool:
    """Whether a node takes things out of a container, puts a slice of it in its place, or sets it back."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in LETTING_GO and last_name(node.func.value) == name
    if isinstance(node, ast.Delete):
        return any(isinstance(each, ast.Subscript) and last_name(each.value) == name for each in node.targets)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
        return last_name(node.value.value) == name and any(last_name(each) == name for each in node.targets)
    return _sets_back(node, name)


def _sets_back(node: ast.AST, name: str) -> bool:
    """Whether a node gives something else this name under a condition in a loop: one that holds later, perhaps."""
    if not isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return False
    tests = [each for each in ast.walk(node) if isinstance(each, ast.If) and not _asks_whether_it_is_there(each, name)]
    statements = [each for test in tests for each in ast.walk(test) if isinstance(each, ast.Assign)]
    targets = [each for statement in statements for target in statement.targets for each in ast.walk(target)]
    return any(last_name(each) == name for each in targets if isinstance(each, (ast.Name, ast.Attribute)))


def _asks_whether_it_is_there(test: ast.If, name: str) -> bool:
    """Whether the first pass alone decides: `if total is None: total = loss`."""
    compared = test.test
    return (
        isinstance(compared, ast.Compare)
        and isinstance(compared.ops[0], (ast.Is, ast.IsNot))
        and last_name(compared.left) == name
    )
