"""What a script starts in other processes runs in this one, where its training is seen; of ranks, each process runs its own."""

from __future__ import annotations

import functools
import sys
import traceback
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


HOW = "a call in this process"
OWN = "one call in each of the probe's {count} processes"


class Processes(StandIn):
    """Runs in this process what would run in others."""

    replaces = "subprocesses are not started"
    voids = (told.PROCESSES,)

    def prepare(self) -> None:
        """Patches `multiprocessing` and `concurrent.futures` when the script imports them."""
        after("multiprocessing.process", functools.partial(_processes, self))
        after("multiprocessing.context", functools.partial(_pools, self))
        after("concurrent.futures.process", functools.partial(_executors, self))

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.multiprocessing.spawn`: the function is called for the rank of this process, which may be the only one."""
        module: Any = torch.multiprocessing
        start = module.spawn

        @functools.wraps(start)
        def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, *_: Any, **__: Any) -> Done:
            self.ranks.count = max(1, min(self.ranks.count, nprocs))
            several = self.ranks.count > 1
            how = OWN.format(count=self.ranks.count) if several else f"rank 0 alone: {HOW}"
            voids = [] if several else [told.PROCESSES]
            self.tell("torch.multiprocessing.spawn", how, why=f"{nprocs} processes", voids=voids)
            if several and self.ranks.rank < self.ranks.count:
                fn(self.ranks.rank, *args)
            elif not several:
                self.ranks.one_after_another([functools.partial(fn, rank, *args) for rank in range(max(1, nprocs))])
            return Done(0)

        module.spawn = spawn
        if (inner := sys.modules.get("torch.multiprocessing.spawn")) is not None:
            inner.spawn = spawn  # type: ignore[attr-defined]


class Done:
    """A process that has ended."""

    def __init__(self, status: int) -> None:
        self.returncode = status
        self.pid = 0
        self.sentinel = -1

    def poll(self, *_: Any) -> int:
        """Its status."""
        return self.returncode

    def wait(self, *_: Any, **__: Any) -> int:
        """Its status, at once."""
        return self.returncode

    def join(self, *_: Any, **__: Any) -> bool:
        """True: all of them have ended."""
        return True

    def terminate(self) -> None:
        """Nothing: it has ended."""

    kill = close = terminate


class Alive(Done):
    """A process that is a thread: it talks to the script through pipes, and ends with it.

    Each side closes the ends that are not its own, which are the same here: they stay open until the thread ends.
    """

    def __init__(self, run: Callable[[], None], pipes: list[Any]) -> None:
        super().__init__(0)
        import threading

        closing = [each.close for each in pipes]
        for each in pipes:
            each.close = lambda: None

        def running() -> None:
            try:
                run()
            finally:
                for close in closing:
                    close()

        self._thread = threading.Thread(target=running, daemon=True)
        self._thread.start()

    def poll(self, *_: Any) -> int | None:  # type: ignore[override]
        """0 once the thread has ended."""
        return None if self._thread.is_alive() else 0

    def wait(self, timeout: float | None = None, **_: Any) -> int | None:  # type: ignore[override]
        """Waits for the thread, a second at most: nobody may talk to it any more."""
        self._thread.join(min(timeout or 1.0, 1.0))
        return 0


def _processes(stand_in: StandIn, module: ModuleType) -> None:
    process: Any = module.BaseProcess
    start = process.start
    before: Counter[Any] = Counter()

    @functools.wraps(start)
    def started(self: Any) -> None:
        if stand_in.sources.innermost() is None:
            start(self)
            return
        name = getattr(self._target, "__name__", type(self).__name__)
        number = before[self._target]
        before[self._target] += 1
        if stand_in.ranks.count > 1 and any(
            type(each) is int and each == number for each in (*self._args, *self._kwargs.values())
        ):
            stand_in.tell(
                f"multiprocessing.Process({name})",
                OWN.format(count=stand_in.ranks.count),
                why="one process per rank",
                voids=[],
            )
            if number != stand_in.ranks.rank:
                self._popen = Done(0)
                return
            self._popen = _run(self)
            return
        stand_in.tell(f"multiprocessing.Process({name})", HOW)
        if pipes := _pipes(self):
            self._popen = Alive(self.run, pipes)
            return
        self._popen = _run(self)

    process.start = started
    for name in ("join", "terminate", "kill"):
        setattr(process, name, _of_one_left_out(getattr(process, name), before))


def _of_one_left_out(method: Callable[..., Any], before: Counter[Any]) -> Callable[..., Any]:
    """The method, for which a process has ended that a loop would have started whose first passes were enough."""

    @functools.wraps(method)
    def called(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if self._popen is None and before[self._target]:
            self._popen = Done(0)
        return method(self, *arguments, **keywords)

    return called


def _pipes(process: Any) -> list[Any]:
    """The ends of pipes that a process is given, as arguments or attributes."""
    given = [*process._args, *process._kwargs.values(), *vars(process).values()]
    inner = [each for value in given if type(value) in (list, tuple) for each in value]
    found = {id(each): each for each in (*given, *inner) if type(each).__name__ == "Connection"}
    return list(found.values())


def _run(process: Any) -> Done:
    """Runs what a process would run, here and now."""
    try:
        process.run()
    except SystemExit as left:
        return Done(left.code if isinstance(left.code, int) else int(left.code is not None))
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        return Done(1)
    return Done(0)


def _pools(stand_in: StandIn, module: ModuleType) -> None:
    context: Any = module.BaseContext
    make_pool, make_manager = context.Pool, context.Manager

    @functools.wraps(make_pool)
    def pool(self: Any, processes: int | None = None, initializer: Any = None, initargs: Any = (), *rest: Any) -> Any:
        if stand_in.sources.innermost() is None:
            return make_pool(self, processes, initializer, initargs, *rest)
        from multiprocessing.pool import ThreadPool

        stand_in.tell("multiprocessing.Pool", "one thread", why=f"{processes or 'several'} processes")
        return ThreadPool(1, initializer, initargs)

    @functools.wraps(make_manager)
    def manager(self: Any) -> Any:
        if stand_in.sources.innermost() is None:
            return make_manager(self)
        stand_in.tell("multiprocessing.Manager", "plain objects", why="a server process")
        return Manager()

    context.Pool, context.Manager = pool, manager
    for named in (sys.modules.get("multiprocessing"), sys.modules.get("torch.multiprocessing")):
        for name in ("Pool", "Manager"):  # methods of the default context that a process which has torch bound before
            if (bound := vars(named or context).get(name)) is not None and hasattr(bound, "__self__"):
                setattr(named, name, getattr(bound.__self__, name))


class Manager:
    """A `multiprocessing.Manager` of plain objects."""

    def __getattr__(self, name: str) -> Any:
        import multiprocessing.dummy
        import types

        plain: dict[str, Any] = {
            "dict": dict,
            "list": list,
            "Namespace": types.SimpleNamespace,
            "shutdown": lambda: None,
        }
        return plain.get(name) or getattr(multiprocessing.dummy, name)

    def __enter__(self) -> Manager:
        return self

    def __exit__(self, *_: object) -> None: ...


def _executors(stand_in: StandIn, module: ModuleType) -> None:
    from concurrent.futures.thread import ThreadPoolExecutor

    build: Any = module.ProcessPoolExecutor

    class ProcessPoolExecutor(build):  # type: ignore[misc]
        """One thread for the script; libraries have their processes, and may inherit from it."""

        def __new__(
            cls,
            max_workers: int | None = None,
            mp_context: Any = None,  # noqa: ARG004 - threads have none
            initializer: Any = None,
            initargs: Any = (),
            **_: Any,
        ) -> Any:
            if cls is not ProcessPoolExecutor or stand_in.sources.innermost() is None:
                return build.__new__(cls)
            stand_in.tell("ProcessPoolExecutor", "one thread", why=f"{max_workers or 'several'} processes")
            return ThreadPoolExecutor(1, initializer=initializer, initargs=initargs)

    module.ProcessPoolExecutor = ProcessPoolExecutor  # type: ignore[attr-defined]
