"""Calls of functions in other workers, by `torch.distributed.rpc`: this process answers them all."""

from __future__ import annotations

import functools
import sys
import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .remote_values import ContextGradients, RemoteReference
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

RPC, AUTOGRAD, OPTIMIZER = "torch.distributed.rpc", "torch.distributed.autograd", "torch.distributed.optim.optimizer"
ASYNC = "_wrapped_async_rpc_function"  # what torch marks functions with whose result is a future
PATIENCE = 3.0  # seconds for a future that another thread may complete
WAITS = (
    "waits for calls of several workers at once, and the probe runs one after another: "
    "run the function that trains by itself, or wait for one worker"
)


class RemoteCalls(StandIn):
    """Answers remote calls in this process.

    What would be copied on its way to another process is shared here, so that no rule may conclude anything.
    """

    replaces = "no other workers"
    voids = (told.PROCESSES, told.CHOICES)

    def prepare(self) -> None:
        """Knows no worker yet."""
        self._name, self._rank, self._size = "", 0, 1
        self._ids: dict[str, int] = {}
        self._where: list[str] = []
        self._calls = 0

    def with_torch(self, torch: Any) -> None:
        """Patches what torch has imported itself, and the rest when the script does."""
        self._torch = torch
        self._gradients = ContextGradients(torch)
        if torch.distributed.is_available():
            after(RPC, self._patch)
            after(AUTOGRAD, self._patch_autograd)
            after(OPTIMIZER, self._patch_optimizer)

    def at_end(self, error: BaseException | None) -> bool:
        """Tells of a worker that only answers calls, which nobody makes."""
        if error is None and self._name and not self._calls and self._size > 1:
            text = f"`{self._name}` only answers the calls of other workers: start the probe with the arguments of one that trains"
            self.teller.missing(f"the other {self._size - 1} workers", text)
        return False

    # --- workers ---

    def _begin(
        self, name: str, _: Any = None, rank: int = -1, world_size: int | None = None, *__: Any, **___: Any
    ) -> None:
        self._name, self._rank, self._size = name, max(rank, 0), world_size or 1
        self._ids[name] = self._rank
        self._where = [name]
        self.tell("torch.distributed.rpc", "calls in this process", why=f"{self._size} workers")
        self.ranks.answers = True

    def _wait(self, *_: Any, **__: Any) -> None:
        """What `shutdown` does until all are done: the ranks that were not started run now."""
        self.ranks.run_others()

    def _worker(self, to: Any = None) -> Any:
        """The worker with a name or a number; the one that is asked, for none."""
        if not self._name:
            message = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."  # as torch says it
            raise RuntimeError(message)
        known: Any = self._torch._C._distributed_rpc.WorkerInfo
        if isinstance(to, known):
            return to
        if isinstance(to, int):
            to = next((name for name, number in self._ids.items() if number == to), f"worker{to}")
        name = str(to) if to is not None else self._where[-1] if self._where else self._name
        if name not in self._ids:
            self._ids[name] = next(each for each in range(len(self._ids) + 1) if each not in self._ids.values())
        return known(name, self._ids[name])

    # --- calls ---

    def _call(self, to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None, *_: Any, **__: Any) -> Any:
        """The result of a call, which is a future where the function says so."""
        self._calls += 1
        self._where.append(str(self._worker(to).name))
        try:
            return func(*(args or ()), **(kwargs or {}))
        finally:
            self._where.pop()

    def _sync(self, to: Any, func: Callable[..., Any], *rest: Any, **keywords: Any) -> Any:
        found = self._call(to, func, *rest, **keywords)
        return found.wait() if hasattr(func, ASYNC) else found

    def _async(self, to: Any, func: Callable[..., Any], *rest: Any, **keywords: Any) -> Any:
        found = self._call(to, func, *rest, **keywords)
        if hasattr(func, ASYNC):
            return found
        future = self._torch.futures.Future()
        future.set_result(found)
        return future

    def _remote(self, to: Any, func: Callable[..., Any], *rest: Any, **keywords: Any) -> Any:
        found = self._sync(to, func, *rest, **keywords)
        return self._reference(found, owner=self._worker(to))

    # --- patches ---

    def _patch(self, module: ModuleType) -> None:
        rpc: Any = module
        if not rpc.is_available():
            return
        calls = {"rpc_sync": self._sync, "rpc_async": self._async, "remote": self._remote}
        inner: dict[str, Any] = {
            "calls": {**calls, "backward": self._gradients.backward},
            "here": staticmethod(self._worker),
            "real": rpc.RRef,
        }
        self._reference: Any = type("RRef", (RemoteReference,), inner)
        for name, function in calls.items():
            setattr(rpc, name, function)
        rpc.init_rpc, rpc.shutdown, rpc.get_worker_info = self._begin, self._wait, self._worker
        rpc.RRef = rpc.api.RRef = self._reference
        rpc.api.rpc_sync, rpc.api.rpc_async, rpc.api.remote = rpc.rpc_sync, rpc.rpc_async, rpc.remote
        rpc._is_current_rpc_agent_set = lambda: bool(self._name)
        _limit_waiting(self, self._torch.futures)

    def _patch_autograd(self, module: ModuleType) -> None:
        autograd: Any = module
        autograd.context = self._gradients.context
        autograd.backward, autograd.get_gradients = self._gradients.backward, self._gradients.of

    def _patch_optimizer(self, module: ModuleType) -> None:
        space: Any = module

        class DistributedOptimizer:
            """An optimizer of this process, for the parameters of all workers."""

            def __init__(self, optimizer_class: Any, params_rref: Any, *args: Any, **kwargs: Any) -> None:
                self.optimizer = optimizer_class([each.local_value() for each in params_rref], *args, **kwargs)

            def step(self, context_id: int) -> None:
                """Steps by the gradients of the context, which are those of the parameters here."""
                del context_id
                self.optimizer.step()

        around: Any = sys.modules.get(OPTIMIZER.rpartition(".")[0])
        for each in (space, around):
            if hasattr(each, "DistributedOptimizer"):
                each.DistributedOptimizer = DistributedOptimizer


def _limit_waiting(stand_in: RemoteCalls, futures: Any) -> None:
    """A future that nobody completes ends the script: the workers that would are not there."""
    kind, wait_all = futures.Future, futures.wait_all
    wait = kind.wait

    @functools.wraps(wait)
    def waited(self: Any) -> Any:
        limit = monotonic() + PATIENCE
        while not self.done() and stand_in._name and threading.current_thread() is threading.main_thread():
            if monotonic() > limit:
                stand_in.teller.missing("torch.distributed.rpc", f"`{stand_in._where[-1]}` {WAITS}")
                raise SystemExit(2)
            sleep(PATIENCE / 100)
        return wait(self)

    @functools.wraps(wait_all)
    def all_waited(futures: Any) -> Any:
        return [each.wait() for each in futures]

    kind.wait, futures.wait_all = waited, all_waited
