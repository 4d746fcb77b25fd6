"""`torch.cuda.*` without a GPU: questions get an answer, commands do nothing, autocast and GradScaler keep their protocol."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
import types
from typing import TYPE_CHECKING, Any

from .. import demands

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ..source import Sources

NAME = "CPU (substitute for CUDA)"
GIB = 1024**3
NOTHING = (
    "synchronize empty_cache ipc_collect init set_device reset_peak_memory_stats reset_max_memory_allocated set_stream "
    "reset_max_memory_cached reset_accumulated_memory_stats set_per_process_memory_fraction set_sync_debug_mode "
    "set_rng_state set_rng_state_all manual_seed manual_seed_all seed seed_all"
).split()
ZERO = (
    "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached "
    "current_device utilization memory_usage temperature power_draw clock_rate initial_seed"
).split()


class StreamContext(contextlib.nullcontext[None]):
    """`torch.cuda.StreamContext(stream)`, which stays a class: torch asks whether things are one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()


class Queries:
    """The replacements in `torch.cuda`; libraries are told the truth, the script what lets it go on."""

    def __init__(
        self,
        torch: ModuleType,
        sources: Sources,
        tell: Callable[[], None],
        *,
        insists: bool = False,
        processes: int = 1,
    ) -> None:
        self._torch: Any = torch
        self._sources = sources
        self._tell = tell
        self._insists = insists
        self._processes = processes

    def patch(self) -> None:
        """Replaces them all."""
        cuda = self._torch.cuda
        cuda.is_available = self.is_available
        cuda.device_count = self.device_count
        for name in NOTHING:
            self._replace(name, lambda *_, **__: None)
        for name in ZERO:
            self._replace(name, lambda *_, **__: 0)
        self._replace("get_device_name", lambda *_, **__: NAME)
        self._replace("get_device_capability", lambda *_, **__: (8, 0))
        self._replace("get_device_properties", lambda *_, **__: _properties())
        self._replace("mem_get_info", lambda *_, **__: (16 * GIB, 16 * GIB))
        self._replace("memory_summary", lambda *_, **__: "")
        self._replace("memory_stats", lambda *_, **__: {})
        self._replace("get_rng_state", lambda *_, **__: self._torch.get_rng_state())
        self._replace("get_rng_state_all", lambda *_, **__: [self._torch.get_rng_state()])
        self._replace("is_bf16_supported", lambda *_, **__: True)
        self._replace("get_arch_list", lambda *_, **__: [])
        self._replace("is_initialized", lambda *_, **__: self._insists)
        for name in ("current_stream", "default_stream"):
            self._replace(name, lambda *_, **__: Stream())
        cuda.Stream, cuda.Event, cuda.ExternalStream = Stream, Event, Stream
        bases = sys.modules.get("torch._streambase")
        if bases is not None and hasattr(bases._StreamBase, "register"):
            bases._StreamBase.register(Stream)  # torch 2.4 asserts that all of them derive from these
            bases._EventBase.register(Event)
        cuda.stream = lambda *_, **__: contextlib.nullcontext()
        cuda.StreamContext = StreamContext
        cuda.device = Device
        cuda.device_of = Device
        for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
            if hasattr(cuda.nvtx, name):
                setattr(cuda.nvtx, name, lambda *_, **__: None)
        if hasattr(cuda.nvtx, "range"):
            cuda.nvtx.range = lambda *_, **__: contextlib.nullcontext()
        cuda.amp.common.amp_definitely_not_available = self._amp_not_available
        # On CPU tensors, autocast for CUDA is on by name and changes no computation.
        setattr(sys.modules["torch.cuda.amp.common"], "amp_definitely_not_available", self._amp_not_available)  # noqa: B010
        self._seed_nothing_else()

    def _seed_nothing_else(self) -> None:
        """`torch.manual_seed` has no accelerator seeded that is not there.

        Torch would keep each seed until there is one, with the stack of the call in words, which takes as long as a step.
        """
        for name in ("xpu", "mtia"):
            accelerator: Any = getattr(self._torch, name, None)
            if hasattr(accelerator, "manual_seed_all") and not accelerator.is_available():
                accelerator.manual_seed_all = lambda *_, **__: None

    def is_available(self) -> bool:
        """False, unless the script does not go on without a yes."""
        if self._insists:
            return self._sources.called_by_user()
        frame = sys._getframe(1)
        if self._sources.is_users(frame.f_code.co_filename) and demands.demanded(self._sources, frame, "is_available"):
            self._insists = True
            self._tell()
        return self._insists

    def device_count(self) -> int:
        """0 where the script decides by it, else one for each process of the probe, or what it asserts.

        Scripts divide by the count, or start one process each.
        """
        frame = sys._getframe(1)
        if not self._sources.is_users(frame.f_code.co_filename):
            return 0
        if demands.demanded(self._sources, frame, "device_count"):
            self._tell()
        elif demands.is_tested(self._sources, frame, "device_count") and not self._insists:
            return 0
        return max(self._processes, demands.least(self._sources, frame, "device_count"))

    def _amp_not_available(self) -> bool:
        self._tell()
        return False

    def _replace(self, name: str, answer: Callable[..., Any]) -> None:
        original = getattr(self._torch.cuda, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def replaced(*arguments: Any, **keywords: Any) -> Any:
            return answer(*arguments, **keywords)

        for space in (self._torch.cuda, self._torch.cuda.memory, self._torch.cuda.random):
            if getattr(space, name, None) is original:
                setattr(space, name, replaced)


class Stream:
    """A `torch.cuda.Stream` on which everything is done at once."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_stream = 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...

    def synchronize(self) -> None:
        """Nothing: all is done."""

    def query(self) -> bool:
        """True: all is done."""
        return True

    wait_stream = wait_event = lambda *_: None

    def record_event(self, event: Event | None = None) -> Event:
        """An event that happened now."""
        event = event or Event()
        event.record()
        return event


class Event:
    """A `torch.cuda.Event` by the clock."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._at = time.perf_counter()

    def record(self, *_: Any) -> None:
        """Notes the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`."""
        return (end._at - self._at) * 1000

    def query(self) -> bool:
        """True: it happened."""
        return True

    synchronize = wait = lambda *_: None


class Device(contextlib.nullcontext):  # type: ignore[type-arg]
    """`torch.cuda.device(0)`: a context that changes nothing."""

    def __init__(self, device: Any = 0, *_: Any) -> None:
        super().__init__()
        self.idx = device


def _properties() -> types.SimpleNamespace:
    return types.SimpleNamespace(
        name=NAME,
        major=8,
        minor=0,
        total_memory=16 * GIB,
        multi_processor_count=1,
        is_integrated=False,
        is_multi_gpu_board=False,
    )
