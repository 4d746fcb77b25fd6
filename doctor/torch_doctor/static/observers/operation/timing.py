"""Clocks that a script reads, and whether what it calls between two readings may wait for the GPU."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static.library import library_family
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import functions, losses, torch_functions, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training.device import devices
from torch_doctor.static.values import (
    Bound,
    Call,
    ClassValue,
    Const,
    Either,
    Fact,
    FunctionValue,
    Lib,
    Method,
    Module,
    Optimizer,
    ParameterValue,
    Plain,
    Tensor,
    Unknown,
    UnknownAttribute,
    Value,
)
from torch_doctor.trace import ClockRead, Timed

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args
    from torch_doctor.trace import Tri


CLOCKS = frozenset(f"time.{name}{unit}" for name in ("time", "perf_counter", "monotonic") for unit in ("", "_ns"))
CLOCK = "clock"
"""Begins the symbol of what a clock said; then comes the number of the event, and how many calls that may wait were before."""
WAITING = frozenset(
    ("cpu", "nonzero", "unique", "unique_consecutive", "masked_select", "argwhere", "bincount", "tensor")
)
"""Methods and functions that return tensors and wait for those that they are given."""


class Timing(Observer, computed=("-",)):
    """Which clocks are read, and how many calls in between may wait for the GPU, or copy to it."""

    writes = (ClockRead, Timed)

    _on: bool = per_run(bool)
    _before: list[int] = per_run(list)  # waits when the calls around began
    _waiting: set[int] = per_run(set)  # modules whose forward may wait

    def began(self) -> None:
        """A clock has been read."""
        self._on = True

    @override
    def calling(self, run: Run, _: Value, __: Call) -> None:
        """Remember how many calls have waited before this one."""
        if self._on:
            self._before.append(run.state.fact(Fact.WAITS))

    @override
    def called(self, run: Run, func: Value, call: Call, _: Value) -> None:
        """Count a call that may wait; a forward of which that was seen once does so each time."""
        if not self._on:
            return
        waits = run.state.fact(Fact.WAITS)
        before = self._before.pop() if self._before else waits
        if isinstance(func, Module):
            if waits != before:
                self._waiting.add(func.id)
            elif func.id in self._waiting:
                _count(run, Fact.WAITS)
            return
        if isinstance(func, (Method, UnknownAttribute)) and func.name in MOVES and not isinstance(func.of, Module):
            _count(run, Fact.COPIES)
        if _may_wait(func, call.values):
            _count(run, Fact.WAITS)

    @override
    def tested(self, run: Run, value: Value) -> None:
        """A branch waits for the tensor that decides it."""
        if self._on and isinstance(value, Tensor):
            _count(run, Fact.WAITS)

    @override
    def shown(self, run: Run, _: tuple[Value, ...], __: p.Node) -> None:
        """A text waits for the tensors in it."""
        if self._on:
            _count(run, Fact.WAITS)

    @override
    def computed(self, run: Run, _: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Two readings are subtracted."""
        if not self._on or len(operands) != 2:
            return
        left, right = operands
        if not (isinstance(left, Plain) and isinstance(right, Plain) and left.symbol[0] == right.symbol[0] == CLOCK):
            return
        first, last = right.symbol, left.symbol
        waits, copies = first[2] != last[2], first[3] != last[3]
        run.emit(Timed, node, first=first[1], last=last[1], waits=waits, copies=copies)


@library_family(CLOCKS)
def read(run: Run, _: str, call: Call) -> Plain:
    """A clock is read."""
    if not run.watches(Timing):
        return Plain()
    timing = run.of(Timing)
    timing.began()
    event = run.emit(ClockRead, call.node)
    return Plain((CLOCK, event.index, run.state.fact(Fact.WAITS), run.state.fact(Fact.COPIES)))


def _count(run: Run, fact: Fact) -> None:
    run.heap.set(run.state.facts, fact, run.state.fact(fact) + 1)


def _may_wait(func: Value, values: Args) -> bool:
    if isinstance(func, (FunctionValue, ClassValue)):
        return False  # what it calls was looked at
    if isinstance(func, Bound):
        return False
    if isinstance(func, Method):
        if isinstance(func.of, (Optimizer, Module)):
            return False
        if isinstance(func.of, (Tensor, ParameterValue)):
            return _method_waits(func.name, func.of, values)
        return not isinstance(func.of, (Const, Plain)) or _any_tensor(values)
    if isinstance(func, UnknownAttribute):
        return not (func.name in ("to", "cuda") and not func.of.flow.forwards)
    if isinstance(func, Lib):
        waits = _function_waits(func.name)
        return _any_tensor(values) if waits is None else waits
    return True


@lru_cache(maxsize=4096)
def _function_waits(name: str) -> Tri:
    """Whether a function of a library waits; None where it does so for tensors that it is given."""
    name = canonical(name)
    known = torch_functions.FUNCTIONS.get(name)
    if known is not None:
        return known.result == "plain" or name.rpartition(".")[2] in WAITING
    if name in losses.LOSSES or name in training.GRAD_MODES or name in training.AUTOCASTS or name in CLOCKS:
        return False
    return True if name.endswith("synchronize") else None


def _method_waits(name: str, of: Value, values: Args) -> bool:
    if name in ("backward", "detach", "requires_grad_", "cuda", "contiguous"):
        return False
    if name == "to":
        return bool(of.flow.forwards) and not all(devices.dtype_of(value) for value in values)
    known = functions.METHODS.get(name)
    return known is None or known.result == "plain" or name in WAITING


def _any_tensor(values: Args) -> bool:
    return any(not isinstance(value, (Const, Plain, Lib)) or isinstance(value, (Unknown, Either)) for value in values)
