"""Groups of processes, what they exchange, and the GPU that each process chooses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import libraries, words, wrappers
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.launchers import LAUNCHERS
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    Const,
    Default,
    Either,
    Lib,
    Method,
    Plain,
    Tensor,
    Unknown,
    constant,
)
from torch_doctor.trace import Exchanged, GpuChosen, GroupBegun, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSet

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


_DISTRIBUTED = "torch.distributed."
_SILENT = frozenset(
    words(
        """
        init_process_group destroy_process_group new_group barrier monitored_barrier get_rank get_world_size get_backend
        get_group_rank get_global_rank get_process_group_ranks is_available is_initialized is_nccl_available is_gloo_available
        is_mpi_available is_backend_available is_torchelastic_launched TCPStore FileStore HashStore PrefixStore record
        set_debug_level get_debug_level
        """
    )
)
"""What torch.distributed has that sends nothing of a model, and prepares nothing that does."""
_SENDS = frozenset(
    words(
        """
        all_reduce allreduce all_reduce_coalesced all_gather all_gather_into_tensor all_gather_object allgather all_to_all
        all_to_all_single batch_isend_irecv broadcast broadcast_coalesced broadcast_object_list reduce_scatter
        reduce_scatter_tensor gather_object isend irecv send recv send_object_list
        """
    )
)
"""Functions that send, under the names that all libraries give them."""
_OTHERS = frozenset(
    words(
        """
        horovod apex deepspeed fairscale accelerate lightning lightning_fabric pytorch_lightning bagua torch_xla colossalai
        byteps composer megatron fairseq hivemind syft flwr fedml torchrec
        """
    )
)
"""Packages that exchange gradients, or take over who does."""


_HOOKS = frozenset(
    words(
        """
        register_hook register_post_accumulate_grad_hook register_full_backward_hook register_backward_hook register_comm_hook
        register_full_backward_pre_hook register_step_pre_hook register_step_post_hook
        """
    )
)
"""Methods that have a function called with gradients, or before they are applied, which nobody follows."""


def _exchanges(name: str) -> bool:
    """Whether a function of a library sends something between processes, or makes what will do so."""
    if name.startswith("torch."):
        return (name.startswith(_DISTRIBUTED) and name.rpartition(".")[2] not in _SILENT) or "._composable." in name
    return name.partition(".")[0] in _OTHERS or name in wrappers.WRAPPERS


def _chooses(name: str) -> bool:
    """Whether a function of torch sets the current device."""
    return name in _CONTEXTS or (name.startswith("torch.") and name.rpartition(".")[2] in _CHOOSES)


def _matters(name: str) -> bool:
    """Whether a function of a library does one of these things, or nobody knows what it does."""
    name = canonical(name)
    return _exchanges(name) or _chooses(name) or name == BEGINS or name in _STARTS or not libraries.heard_of(name)


class Processes(Observer, invoked=(Named(Lib, _matters), Unknown, Named(Method, _HOOKS))):
    """Calls that join a group of processes, start some, exchange something, or choose the GPU of a process, or may do so."""

    writes = (GroupBegun, GpuChosen, Exchanged)

    _starts: MutableSet[p.Node] = per_path(set)  # calls that started processes

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Something of a library is called, or something that nobody knows."""
        if isinstance(func, Unknown):
            self._may_choose(run, call.name, call)
            return
        if isinstance(func, Method):
            run.emit(Exchanged, call.node, function=func.name, numbers=0)
            return
        assert isinstance(func, Lib)
        name = canonical(func.name)
        if _exchanges(name):
            run.emit(Exchanged, call.node, function=name, numbers=_numbers(call))
        if name == BEGINS:
            self._begun(run, call)
        elif name in _STARTS:
            number = call.argument(2, "nprocs") if not name.endswith("Process") else None
            if constant(number or Const(None)) != 1:
                self._starts.add(call.node)
        elif _chooses(name):
            given = call.argument(0, "device")
            if not isinstance(given, Const) or isinstance(given, Default):
                run.emit(GpuChosen, call.node, function=name)
        elif not libraries.heard_of(name):
            self._may_choose(run, name, call)

    def _may_choose(self, run: Run, name: str, call: Call) -> None:
        """Nobody knows what is called: the first such call on a path is enough."""
        if not any(event.guards <= run.guards for event in run.trace.of(GpuChosen)):
            run.emit(GpuChosen, call.node, function=name, surely=False)

    def _begun(self, run: Run, call: Call) -> None:
        units = [run.main, *(each.unit for each in run.units.values())]
        given = call.argument(0, "backend")
        unseen = (
            isinstance(given, Unknown) or elsewhere.chosen(given) or not {"device_id", "**"}.isdisjoint(call.keywords)
        )
        if unseen or _mentions(units, _VISIBLE):
            run.emit(GpuChosen, call.node, function=BEGINS, surely=False)
        number = call.argument(3, "world_size")
        size = 1 if elsewhere.chosen(number) else constant(number or Unknown())
        run.emit(
            GroupBegun,
            call.node,
            backend=_backend(given),
            size=size if type(size) is int and size > 0 else 0,
            rank=run.text_of_argument(call.node, 4, "rank"),
            beside=bool(self._starts) or _mentions(units, _LOCAL),
            exchanges=frozenset(unit.site(node.at) for unit in units for node in _sending(unit)),
        )


def _numbers(call: Call) -> int:
    """How many numbers are sent; 0 where that is not known, or they may be gradients."""
    given = call.args[0] if call.args else call.keywords.get("tensor")
    if not isinstance(given, Tensor):
        return 0
    shape = measured(given).shape
    return 1 if given.scalar is True or given.kind is Kind.LOSS or shape == () else 0


@lru_cache(maxsize=64)
def _sending(unit: Unit) -> tuple[p.Node, ...]:
    """The calls in a file of what is called like a function that sends, and where else such a function is named."""
    nodes = unit.nodes
    calls = {id(each.func): each for each in nodes if isinstance(each, p.Call)}
    named = (each for each in nodes if isinstance(each, p.Attribute) and each.name in _SENDS)
    by_itself = (each for each in nodes if isinstance(each, p.Name) and each.id in _SENDS)
    return tuple(calls.get(id(each), each) for each in (*named, *by_itself))


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
    texts = (each.value for each in unit.nodes if isinstance(each, p.Const))
    return frozenset(text for text in texts if isinstance(text, str) and text in known)
