"""Groups of processes, and the GPU that each process chooses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.launchers import LAUNCHERS
from torch_doctor.static.training import elsewhere
from torch_doctor.static.values import Const, Default, Either, Lib, Plain, Unknown, constant
from torch_doctor.trace import GpuChosen, GroupBegun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Value

BEGINS = "torch.distributed.init_process_group"
_CHOOSES = frozenset(("set_device", "set_device_index", "set_device_idx"))
"""Functions of torch that set the current device, of GPUs as of other accelerators."""
_CONTEXTS = frozenset(("torch.cuda.device", "torch.cuda.device_of", "torch.accelerator.device_index"))
_STARTS = frozenset(name for name in LAUNCHERS if name.startswith("torch.multiprocessing.") or name.endswith("Process"))
_LOCAL = frozenset(("LOCAL_RANK", "--local_rank", "--local-rank"))
"""The number of a process among those of its machine, as torch's launchers tell it."""
_VISIBLE = frozenset(("CUDA_VISIBLE_DEVICES",))


class Processes(Observer, invoked=(Lib, Unknown)):
    """Calls that join a group of processes, that start some, and that choose the GPU of a process, or may do so."""

    writes = (GroupBegun, GpuChosen)

    def __init__(self) -> None:
        self._starts = False

    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Something of a library is called, or something that nobody knows."""
        if isinstance(func, Unknown):
            self._may_choose(run, call.name, call)
            return
        assert isinstance(func, Lib)
        name = canonical(func.name)
        if name == BEGINS:
            self._begun(run, call)
        elif name in _STARTS:
            number = call.argument(2, "nprocs") if not name.endswith("Process") else None
            self._starts = self._starts or constant(number or Const(None)) != 1
        elif name in _CONTEXTS or (name.startswith("torch.") and name.rpartition(".")[2] in _CHOOSES):
            given = call.argument(0, "device")
            if not isinstance(given, Const) or isinstance(given, Default):
                run.emit(GpuChosen, call.node, function=name)
        elif not libraries.heard_of(name):
            self._may_choose(run, name, call)

    def _may_choose(self, run: Run, name: str, call: Call) -> None:
        """Nobody knows what is called: the first such call is enough."""
        if not run.trace.of(GpuChosen):
            run.emit(GpuChosen, call.node, function=name, surely=False)

    def _begun(self, run: Run, call: Call) -> None:
        units = [run.main, *(each.unit for each in run.units.values())]
        given = call.argument(0, "backend")
        unseen = (
            isinstance(given, Unknown) or elsewhere.chosen(given) or not {"device_id", "**"}.isdisjoint(call.keywords)
        )
        if unseen or _mentions(units, _VISIBLE):
            run.emit(GpuChosen, call.node, function=BEGINS, surely=False)
        size = constant(call.argument(3, "world_size") or Unknown())
        run.emit(
            GroupBegun,
            call.node,
            backend=_backend(given),
            size=size if type(size) is int and size > 0 else 0,
            rank=run.text_of_argument(call.node, 4, "rank"),
            beside=self._starts or _mentions(units, _LOCAL),
        )


def _backend(given: Value | None) -> str:
    """The backend of a group; "" where torch or somebody out of sight chooses it, or it depends on what there is."""
    if isinstance(given, (Either, Plain, Default)) or not isinstance(given, Const):
        return ""
    return str(given.value or "")


def _mentions(units: Iterable[Unit], words: frozenset[str]) -> bool:
    return any(_constants(unit) & words for unit in units)


@lru_cache(maxsize=64)
def _constants(unit: Unit) -> frozenset[str]:
    """Which of the names that launchers and drivers know are written in a file as texts."""
    known = _LOCAL | _VISIBLE
    texts = (each.value for each in walk(unit.program.body) if isinstance(each, p.Const))
    return frozenset(text for text in texts if isinstance(text, str) and text in known)
