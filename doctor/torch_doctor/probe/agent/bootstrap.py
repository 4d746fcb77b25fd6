"""Runs the user's script as `__main__`, watched."""

from __future__ import annotations

import argparse
import builtins
import functools
import importlib
import importlib.machinery
import json
import linecache
import os
import signal
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import compiler, environment, hooks
from .caps import Caps, StopProbe
from .channel import Channel
from .ending import STOPPED, Ending
from .failure import described
from .imports import after, instead
from .launcher import launch
from .loops import Loops
from .nodes import Index
from .packages import package_of
from .packets import key_of
from .ranks import Ranks
from .recorder import Recorder
from .rehearsal import PART, rehearsals
from .rewriting import compiled
from .rewriting.futures import without_futures
from .rewriting.places import StatementMarks
from .rewriting.trainers import TRAINERS, compiled_trainer
from .sites import Sites

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .loop import Loop


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", required=True)
    heard = parser.add_mutually_exclusive_group(required=True)
    heard.add_argument("--fd", type=int, help="the descriptor to write to")
    heard.add_argument("--channels", help="the folder whose pipe to write to is called like the rank of this process")
    return parser


ARGUMENTS = _parser()  # a server has it before it forks: the first one looks for the words of the user's language


def main(arguments: Sequence[str]) -> int:
    """Runs what the plan says; returns the script's exit status."""
    options = ARGUMENTS.parse_args(arguments)
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    secret = plan.pop("secret", "")
    if options.channels:
        ranks = Ranks(plan, launched=True)
        ranks.speak_in_lines()
        pipe = os.open(os.path.join(options.channels, str(ranks.rank)), os.O_WRONLY)
        status = Run(plan, Channel(pipe, key_of(secret, ranks.rank)), ranks).script()
        return 0 if status == STOPPED else status  # the launcher would end the others before they have had their say
    channel = Channel(options.fd, key_of(secret))
    if sys.platform == "linux" and not channel.is_heard():  # who started us has ended before we could end with them
        return STOPPED
    if plan.get("processes", 1) > 1:
        return launch(plan, options.plan, channel)
    os.unlink(options.plan)  # the script need not know what is in it
    return Run(plan, channel, Ranks(plan, launched=False)).script()


class Run:
    """One run of one script."""

    def __init__(self, plan: dict[str, Any], channel: Channel, ranks: Ranks) -> None:
        plan["timeout"] = ranks.time_left(plan)
        for name in plan.get("unset", ()):
            os.environ.pop(name, None)
        self._plan = plan
        self._ranks = ranks
        self._channel = channel
        self._sites = Sites(plan["project"], plan["script"], channel)
        self._index = Index(self._sites, plan.get("sinks"))
        self._index.figures = bool(plan.get("figures"))
        self._index.shapes = bool(plan.get("shapes"))
        self._caps = Caps(plan)
        self.recorder = Recorder(channel, self._sites, self._index, self._caps, plan)
        self._index.note = functools.cache(self.recorder.note)
        self.recorder.scopes.loops = self.loops = Loops(self._index, self._caps)
        self._ending = Ending(self.recorder)
        self._stand_ins: Any = None

    def script(self) -> int:
        """Prepares the interpreter, runs the script, and tells how it ended."""
        plan = self._plan
        if plan.get("cwd"):
            os.chdir(plan["cwd"])
        module = self._main_module()
        self.recorder.scopes.begin(plan["script"])
        self._caps.between = self._channel.flush
        self._caps.ended = self._capped
        self._caps.agreed = self._ranks.agreed
        self._caps.late = self._late
        self._caps.left, self._caps.shown = self.recorder.wake, self._rest
        self.loops.begun = self._begun
        signal.signal(signal.SIGINT, self._interrupted)  # before it is kept out of the script's hands
        rehearsals.begun, rehearsals.left = self.recorder.fall_silent, PART * self._caps.seconds
        prepare_others = self._others()
        if plan.get("instrument", True):
            hooks.install(self.loops)
            self._index.judged = plan.get("places") or {}
            self._index.mark = StatementMarks(plan.get("places") or {}, self._channel).mark
            read_sources(self._index, trainers=bool(plan.get("checkup")))
        environment.install(self.recorder)
        instead("torch", self._importing_torch)
        after("torch", self._with_torch)
        for prepare in prepare_others:
            prepare()
        self._caps.start_clock()
        return self._ending.of(lambda: self._execute(module))

    def _rest(self, loop: Loop) -> None:
        """A loop has shown all: its next steps are not recorded."""
        self.recorder.resting = loop

    def _begun(self) -> None:
        """Another loop begins, in a module or beside the one that rests."""
        if not self.recorder.inside:
            self.recorder.wake()

    def _capped(self, loop: Loop) -> None:
        """A loop of the user's is ended early."""
        self._channel.write(t="capped", at=self._index.site(loop.node.key), passes=loop.number)

    def _late(self) -> None:
        """Time is over: this is where the script is, or waits."""
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None and not self._sites.is_users(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            self._channel.write(t="late", path=frame.f_code.co_filename, row=frame.f_lineno)

    def _interrupted(self, *_: Any) -> None:
        """Somebody does not want to wait any longer."""
        self._caps.stopping = True
        raise StopProbe

    def _importing_torch(self, _: str) -> None:
        """Torch is looked for, and will take some time."""
        self._channel.write(t="doing", what="importing torch")
        self._channel.flush()

    def _main_module(self) -> ModuleType:
        """`__main__` as `python script.py` makes it."""
        script = self._plan["script"]
        module = ModuleType("__main__")
        loader = importlib.machinery.SourceFileLoader("__main__", script)
        vars(module).update(
            __file__=script, __builtins__=builtins, __loader__=loader, __package__=None, __spec__=None, __cached__=None
        )
        if sys.version_info < (3, 14):  # made on demand from then on: https://peps.python.org/pep-0649
            module.__annotations__ = {}
        sys.modules["__main__"] = module
        sys.argv = [self._plan.get("argv0") or script, *self._plan.get("args", [])]
        self._package, folder = ("", "") if self._plan.get("text") is not None else package_of(script)
        sys.path[0] = folder or os.path.dirname(os.path.realpath(script))
        if self._package:
            module.__package__ = self._package
        return module

    def _execute(self, module: ModuleType) -> None:
        script = self._plan["script"]
        if self._package:
            name = os.path.splitext(os.path.basename(script))[0]
            whole = self._package if name == "__main__" else f"{self._package}.{name}"
            self.recorder.note(f"it is part of a package and was run as `python -m {whole}`")
            importlib.import_module(self._package)
        flags = 0
        if self._plan.get("text") is not None:
            source, flags = self._of_cells(script, self._plan["text"], module)
        else:
            with open(script, "rb") as file:
                source = file.read()
        if self._plan.get("instrument", True):
            code = compiled(source, script, self._index, flags)
        else:
            code = compile(source, script, "exec", flags, dont_inherit=True)
        try:
            exec(code, vars(module))  # noqa: S102 - the user's script
        except (Exception, SystemExit) as error:
            if not self._is_done(error):
                raise
        else:
            self._is_done(None)

    def _is_done(self, error: BaseException | None) -> bool:
        """Whether what stands in has done what a script that ended has not."""
        return self._stand_ins is not None and bool(self._stand_ins.at_end(error))

    def _of_cells(self, script: str, text: str, module: ModuleType) -> tuple[bytes, int]:
        """The source of a notebook, whose file is none, and its flags; what IPython would show is not shown."""
        self._sites.read(script, text)
        linecache.cache[script] = (len(text), None, text.splitlines(keepends=True), script)
        silent: Any = importlib.import_module(".stand_ins.silent", __package__)
        vars(module).update(display=lambda *_, **__: None, get_ipython=lambda: silent.Silent("get_ipython()"))
        source, flags = without_futures(text)
        return source.encode(), flags

    def _others(self) -> list[Callable[..., Any]]:
        """What guards the machine and stands in for what is not there."""
        found: list[Callable[..., Any]] = []
        guard: Any = self.recorder.safely(importlib.import_module, ".guard", __package__)
        if guard is not None:
            kept = (*self._channel.places, *self._ranks.places)
            found.append(functools.partial(self._guarded, guard.install, kept))
        package: Any = self.recorder.safely(importlib.import_module, ".stand_ins", __package__)
        if package is not None:
            self._stand_ins = package.StandIns(self._plan, self.recorder.tell, self._ranks)
            found.append(self._stand_ins.prepare)
            self._ending.describe = functools.partial(described, sources=self._stand_ins.sources)
        return found

    def _guarded(self, install: Callable[..., Any], kept: tuple[int, ...]) -> None:
        fence = install(self._plan, self.recorder.tell, kept)

        def blamed(error: BaseException | None) -> None:
            if fence.held_back(error):
                self.recorder.tell("refused", what="an operation outside Python: the system denied permission")

        self._ending.before.append(blamed)

    def _with_torch(self, torch: ModuleType) -> None:
        """Right after torch's own import: stand-ins first, so that the watchers see what the user asked for."""
        device = "cuda" if self._plan.get("device") != "cpu" and torch.cuda.is_available() else "cpu"
        self.recorder.safely(compiler.defer, torch)
        if self._stand_ins is not None:
            self.recorder.safely(self._stand_ins.with_torch, torch)
        version = ".".join(map(str, sys.version_info[:3]))
        self._channel.write(t="hello", python=version, torch=str(torch.__version__), device=device)
        watching = importlib.import_module(".watching", __package__)
        instruments = importlib.import_module(".instruments", __package__)
        watch = self.recorder.safely(watching.install, torch, self.recorder, self.loops)
        if watch is not None:
            self.recorder.safely(instruments.install, watch)
            if self._plan.get("checkup"):
                checkup = importlib.import_module(".checkup", __package__)
                self.recorder.safely(checkup.install, watch, self._stand_ins)
            if self._plan.get("figures"):
                figures = importlib.import_module(".figures", __package__)
                self.recorder.safely(figures.install, watch, self._plan["figures"])


def read_sources(index: Index, *, trainers: bool) -> None:
    """Has the import system instrument the user's modules, whose compiled files it then does not use; and `trainers`."""
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def instrumented(self: Any, fullname: str) -> Any:
        path = self.get_filename(fullname)
        own = index.sites.is_users(path)
        if not own and not (trainers and fullname in TRAINERS):
            return get_code(self, fullname)
        try:
            data = self.get_data(path)
            return compiled(data, path, index) if own else compiled_trainer(data, fullname, path, index)
        except (OSError, UnicodeDecodeError):
            return get_code(self, fullname)

    loader.get_code = instrumented


__all__ = ["Run", "main"]
