"""What takes the time of a batch: the functions that a loader calls while it makes one."""

from __future__ import annotations

import os
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AGENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPLICAS = os.path.join(AGENT, "replicas") + os.sep
"""What of ours does the work of a library that is missing."""
MACHINERY = ("torch/nn/modules/module.py", "torch/utils/data/dataloader.py", "torch/utils/data/_utils/fetch.py")
"""Files of torch that only call what does the work."""
CALLS = frozenset({"__call__", "forward", "_call_impl", "_wrapped_call_impl"})
"""Functions that are called by the name of their object's class."""

COMPREHENSIONS = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})


class CallNode:
    """Calls of one function from one place: their seconds, and what they called where that is to be told apart."""

    __slots__ = ("called", "name", "opens", "seconds")

    def __init__(self, name: str, *, opens: bool) -> None:
        self.name = name
        self.opens = opens
        self.seconds = 0.0
        self.called: dict[tuple[object, object], CallNode] = {}

    def spent(self) -> Iterator[tuple[str, float]]:
        """Names with their seconds: of what is not told apart, and what the functions of the script do themselves."""
        inner = sum(each.seconds for each in self.called.values())
        if self.name:
            own = self.seconds - inner
            yield (f"{self.name} itself" if inner > own / 100 else self.name), max(0.0, own)
        for each in self.called.values():
            yield from each.spent()


class Fetching:
    """Follows the calls of data sets and of chains of transforms; each function that these call is taken as a whole."""

    def __init__(self, torch: Any, is_users: Callable[[str], bool]) -> None:
        self._datasets = torch.utils.data.Dataset
        self._chains = (torch.nn.Sequential, torch.nn.ModuleList)
        self._is_users = is_users
        self.root = CallNode("", opens=True)
        self._stack: list[tuple[CallNode, float]] = []
        self._deep = 0

    def run(self, function: Callable[[], object]) -> float:
        """Calls a function, and returns its seconds; what was called in it is in `root`."""
        before = sys.getprofile()
        self._stack, self._deep = [(self.root, perf_counter())], 0
        start = perf_counter()
        sys.setprofile(self._hear)
        try:
            function()
        finally:
            sys.setprofile(before)
        took = perf_counter() - start
        self.root.seconds += took
        return took

    def _hear(self, frame: Any, event: str, called: Any) -> None:
        if event in {"return", "c_return", "c_exception"}:
            if self._deep:
                self._deep -= 1
            elif len(self._stack) > 1:
                node, start = self._stack.pop()
                node.seconds += perf_counter() - start
            return
        parent = self._stack[-1][0]
        if self._deep or not parent.opens:
            self._deep += 1
            return
        caller = frame if event == "c_call" else frame.f_back
        line = caller.f_lineno if caller is not None and self._is_users(caller.f_code.co_filename) else 0
        thing = called if event == "c_call" else frame.f_code
        owner = None if event == "c_call" else _owner(frame)
        key = (getattr(thing, "__qualname__", thing), type(owner) if owner is not None else line)
        if key not in parent.called:
            where = f" at {os.path.basename(caller.f_code.co_filename)}:{line}" if line else ""
            parent.called[key] = self._node(event, frame, called, owner, where)
        self._stack.append((parent.called[key], perf_counter()))

    def _node(self, event: str, frame: Any, called: Any, owner: Any, where: str) -> CallNode:
        if event == "c_call":
            inner = not where  # what a loader itself calls is of no interest
            module = getattr(called, "__module__", None)
            name = getattr(called, "__qualname__", repr(called))
            prefix = "" if module in {None, "builtins"} else f"{module}."
            return CallNode("" if inner else f"`{prefix}{name}`{where}", opens=False)
        code = frame.f_code
        path = code.co_filename.replace(os.sep, "/")
        ours = code.co_filename.startswith(AGENT + os.sep) and not code.co_filename.startswith(REPLICAS)
        if ours or path.endswith(MACHINERY):
            return CallNode("", opens=True)
        if code.co_name in COMPREHENSIONS:
            return CallNode("", opens=True)
        return CallNode(f"`{self._name(frame, owner)}`{where}", opens=self._opens(code.co_name, owner))

    def _opens(self, name: str, owner: Any) -> bool:
        """Whether what a call does is told apart: the methods of a data set, and chains that pass a sample to transforms."""
        if isinstance(owner, self._datasets):
            return True
        several = isinstance(getattr(owner, "transforms", None), (list, tuple)) or isinstance(owner, self._chains)
        return name in CALLS and several

    def _name(self, frame: Any, owner: Any) -> str:
        code = frame.f_code
        if code.co_name in CALLS and owner is not None:
            return type(owner).__name__
        name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
        if owner is not None and "." not in name:
            name = f"{type(owner).__name__}.{name}"
        users = self._is_users(code.co_filename)
        module = "" if users or owner is not None else str(frame.f_globals.get("__name__", ""))
        return f"{module}.{name}".lstrip(".")

    def largest(self, most: int) -> list[tuple[str, float]]:
        """The names with the largest parts of the time, each as a share of 1."""
        total: dict[str, float] = {}
        for name, seconds in self.root.spent():
            total[name] = total.get(name, 0.0) + seconds
        whole = sum(total.values()) or 1.0  # without what the agent itself takes
        found = sorted(((name, seconds / whole) for name, seconds in total.items()), key=lambda pair: -pair[1])
        return found[:most]


def _owner(frame: Any) -> Any:
    """The object whose method a frame runs; None for a function."""
    code = frame.f_code
    first = code.co_varnames[0] if code.co_argcount else ""
    return frame.f_locals.get(first) if first == "self" else None
