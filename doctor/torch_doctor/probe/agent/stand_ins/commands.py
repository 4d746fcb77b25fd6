"""Commands that a script runs and that the probe answers: downloads, pip, git without a repository, a GPU's figures, Python."""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import io
import os
import shutil
import subprocess
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..guard import real
from ..guard.commands import HANDLERS
from ..guard.processes import only_reads
from ..guard.words import CommandOutput, operands
from . import told
from .downloads import FetchedFiles
from .stand_in import Setting, StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator

FETCHERS = {"wget": ("O", "output-document"), "curl": ("o", "output")}
"""The options that name the file that a program writes."""
VALUED = {"wget": "OPotTUae", "curl": "oHdXAuebx"}
SERVERS = ("tensorboard", "visdom", "xdg-open", "open", "eog", "display", "wandb", "mlflow", "notify-send")
PYTHONS = ("python", "python3", "python2", os.path.basename(sys.executable))
WAITING = frozenset({"run", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "popen"})
NO_REPOSITORY = 128  # the status of git outside one
NAMING = frozenset({"rev-parse", "describe", "rev-list", "log", "branch"})
"""Commands of git that name what is checked out."""
REVISION = "0" * 40
GPU = {"index": "0", "name": "CPU", "count": "1", "driver_version": "550.54", "uuid": "GPU-0", "pstate": "P0"}
"""What is told of a GPU that is not there; other figures are 0, and those of the memory that is there and free below."""
MEMORY = "16384"
REPORT = """Attached GPUs : 1
GPU 00000000:01:00.0
    FB Memory Usage
        Total : 16384 MiB
        Used : 0 MiB
        Free : 16384 MiB
"""


class AnsweredCommands(StandIn):
    """Answers what the guard does not run."""

    replaces = "the probe does not run it"
    voids = ()
    installed_after = ("FetchedFiles",)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._fetched = FetchedFiles(setting)
        self._running: list[str] = []

    def prepare(self) -> None:
        """Registers the handlers with the guard."""
        HANDLERS.update(dict.fromkeys(FETCHERS, self._fetch))
        HANDLERS.update(dict.fromkeys(SERVERS, self._served))
        HANDLERS.update(dict.fromkeys((*PYTHONS, "pip", "pip3"), self._python))
        HANDLERS.update({"git": self._git, "nvidia-smi": self._gpu})

    def _fetch(self, words: list[str], _: str) -> CommandOutput | None:
        """`wget` and `curl`: a synthetic file of the type that the address names."""
        program = os.path.basename(words[0])
        options, addresses = operands(words[1:], VALUED[program])
        addresses = [each for each in addresses if "://" in each or "." in each]
        if not addresses:
            return None
        chosen = next((options[name] for name in FETCHERS[program] if options.get(name)), "")
        for address in addresses:
            name = os.path.basename(urlsplit(address).path) or "index.html"
            if program == "curl" and not chosen and "O" not in options:
                return CommandOutput(text=self._fetched.content(address).decode("utf-8", "replace"))
            self._fetched.into(address, chosen or os.path.join(options.get("P") or ".", name))
        return CommandOutput()

    def _served(self, words: list[str], _: str) -> CommandOutput:
        """Programs that show something while the script goes on."""
        self.tell(" ".join(words), "nothing")
        return CommandOutput()

    def _git(self, words: list[str], _: str) -> CommandOutput | None:
        """Git as it is; where it is not installed or there is no repository, the first revision of one."""
        if not only_reads(words):
            return None
        answer = _ran(words)
        asked = set(words)
        if answer is not None and (answer.status != NO_REPOSITORY or not asked & NAMING):
            return answer
        length = 7 if "--short" in asked or "describe" in asked else len(REVISION)
        text = REVISION[:length]
        if "--show-toplevel" in asked:
            text = self.sources.project
        elif asked & {"--abbrev-ref", "branch"}:
            text = "main"
        elif not asked & NAMING:
            text = ""
        self.tell(" ".join(words[:3]), f"`{text}`", why="not a git repository")
        return CommandOutput(text=f"{text}\n")

    def _gpu(self, words: list[str], _: str) -> CommandOutput | None:
        """`nvidia-smi` as it is; where there is no GPU, the figures of one that is idle."""
        if not only_reads(words):
            return None
        answer = _ran(words)
        if answer is not None and not answer.status:
            return answer
        options, _plain = operands(words[1:], "idl")
        fields = next((options[name] for name in ("query-gpu", "query") if options.get(name)), "")
        form = options.get("format", "")
        self.tell("nvidia-smi", "the figures of an idle GPU", why="torch finds no GPU", voids=[told.DEVICE])
        if not fields:
            return CommandOutput(text="" if "query-compute-apps" in options else REPORT)
        names = [each.strip() for each in fields.split(",")]
        unit = "" if "nounits" in form else " MiB"
        rows = [[_figure(name, unit) for name in names]]
        return CommandOutput(
            text="".join(", ".join(row) + "\n" for row in ([names] if "noheader" not in form else []) + rows)
        )

    # --- Python ---

    def _python(self, words: list[str], _: str) -> CommandOutput | None:
        """Pip; and the project's own scripts, which run in this process."""
        name, *given = words
        if os.path.basename(name).startswith("pip"):
            return self._pip(given)
        while given and given[0].startswith("-") and given[0] not in ("-c", "-m"):
            given = given[2:] if given[0] in ("-W", "-X") else given[1:]
        if given[:2] == ["-m", "pip"]:
            return self._pip(given[2:])
        if given[:1] == ["-c"] and len(given) > 1:
            return self._run(functools.partial(_compiled, given[1]), "-c", given[2:], given[1])
        if given[:1] == ["-m"] and len(given) > 1:
            path = os.path.join(self.sources.project, *given[1].split(".")) + ".py"
            given = [path, *given[2:]]
        if not given or not given[0].endswith(".py") or not os.path.isfile(given[0]):
            return None
        path = os.path.realpath(given[0])
        if not self.sources.is_users(path) or path in self._running or not (_is_waited_for() or _trains(path)):
            return None
        self.tell(" ".join([os.path.basename(name), *given]), "a run in this process", voids=[told.PROCESSES])
        return self._run(lambda: _read(path), path, given[1:], path)

    def _pip(self, words: list[str]) -> CommandOutput | None:
        """What is installed, as `importlib.metadata` knows it; nothing is installed or removed."""
        from importlib import metadata

        asked, names = words[0] if words else "", operands(words[1:])[1]
        if asked in ("install", "uninstall", "download"):
            self.tell(" ".join(["pip", *words]), "nothing", why="the probe installs nothing")
            return CommandOutput()
        with real.inside():
            known = {str(each.metadata["Name"]): each.version for each in metadata.distributions()}
        if asked == "show":
            found = {name: version for name, version in known.items() if name.lower() in map(str.lower, names)}
            text = "---\n".join(f"Name: {name}\nVersion: {version}\n" for name, version in found.items())
            return CommandOutput(int(not found), text)
        if asked not in ("freeze", "list"):
            return None
        return CommandOutput(text="".join(f"{name}=={version}\n" for name, version in sorted(known.items())))

    def _run(self, read: Any, path: str, arguments: list[str], key: str) -> CommandOutput | None:
        """Run code as `__main__`, with what it prints as the answer."""
        module = types.ModuleType("__main__")
        if path != "-c":
            vars(module)["__file__"] = path
        printed = io.StringIO()
        status = 0
        self._running.append(key)
        try:
            with _as_main(module, [path, *arguments], os.path.dirname(path)), contextlib.redirect_stdout(printed):
                exec(read(), vars(module))  # noqa: S102 - a script of the user's
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else int(left.code is not None)
        except Exception:  # noqa: BLE001 - as the process would end
            traceback.print_exc()
            status = 1
        finally:
            self._running.remove(key)
        return CommandOutput(status, printed.getvalue())


@contextlib.contextmanager
def _as_main(module: types.ModuleType, arguments: list[str], folder: str) -> Iterator[None]:
    """Let a module be `__main__`, with these arguments, and its folder be the first that is imported from."""
    before = sys.modules["__main__"], sys.argv, list(sys.path), dict(os.environ)
    sys.modules["__main__"], sys.argv = module, arguments
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before[:3]
        os.environ.clear()
        os.environ.update(before[3])


def _is_waited_for() -> bool:
    """Whether the script goes on only when the command has ended."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_name in WAITING and frame.f_globals.get("__name__") in ("subprocess", "os"):
            return True
        frame = frame.f_back
    return False


def _trains(path: str) -> bool:
    with open(path, encoding="utf-8", errors="replace") as file:
        return "backward" in file.read()


def _read(path: str) -> Any:
    """The code of a script, watched as that of any module of the user's."""
    if real.lexists(path):
        return importlib.machinery.SourceFileLoader("__main__", path).get_code("__main__")
    with open(path, "rb") as file:  # written by the script: the import system reads what is on the disk
        return compile(file.read(), path, "exec", dont_inherit=True)


def _compiled(text: str) -> Any:
    return compile(text, "<string>", "exec", dont_inherit=True)


def _ran(words: list[str]) -> CommandOutput | None:
    """What a command gives that only reads; None where it is not installed."""
    with real.inside():
        if shutil.which(words[0]) is None:
            return None
        done = subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - it only reads
    return CommandOutput(done.returncode, done.stdout.decode("utf-8", "replace"))


def _figure(name: str, unit: str) -> str:
    """One figure of the GPU, by the name under which it is asked for."""
    if name.startswith("memory"):
        return ("0" if name == "memory.used" else MEMORY) + unit
    return GPU.get(name.removeprefix("gpu_"), "0")
