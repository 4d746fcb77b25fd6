"""The server that keeps torch imported: what it forks says what a plain run says, and it ends by itself."""

from __future__ import annotations

import os
import select
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.probe.farm import farm
from torch_doctor.probe import server
from torch_doctor.probe.agent.server import ServedRun, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Run = Any  # arguments to outcome

FIXTURES = Path(__file__).parents[2] / "fixtures"
SCRIPTS = ("TDR101/bad_cleared_once_per_epoch.py", "TDR501/bad_running_loss.py", "TDR801/bad_positions.py")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is none")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where servers of this test listen: the path of a socket has to be short."""
    with tempfile.TemporaryDirectory(prefix="td-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder, "torch-doctor")


def test_what_it_forks_says_what_a_plain_run_says(
    run: Run, folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "IDLE", 5.0)
    names = []
    for each in SCRIPTS:
        names.append(Path(each).name)
        shutil.copy(FIXTURES / each, folder)
    command = ["scan", *names, "--probe", "--isolated", "--output-format", "json"]
    plain = run(*command)
    warm = [run(*command, "--probe-server") for _ in range(2)]
    assert [outcome.json for outcome in warm] == [plain.json] * 2
    assert sum(record["verdict"] == "confirmed" for record in plain.json) >= len(SCRIPTS)
    assert not any("no probe server" in outcome.err for outcome in warm)
    (path,) = runtime.glob("*.socket")  # the second scan asked the server of the first
    limit = time.monotonic() + 30
    while path.exists() and time.monotonic() < limit:
        time.sleep(0.1)
    assert not path.exists()


@pytest.mark.usefixtures("farm")
def test_where_there_can_be_none_the_script_is_started_by_itself(
    run: Run, write: Callable[..., Path], runtime: Path
) -> None:
    runtime.mkdir(mode=0o755)
    write("train.py", "import torch\n")
    outcome = run("scan", "train.py", "--probe", "--probe-server", "--isolated")
    word = f"probe: no probe server: {runtime} is accessible to other users; the script was started without it"
    assert word in outcome.err.splitlines()
    assert "train.py ran for " in outcome.err


@pytest.mark.usefixtures("farm")
def test_a_folder_with_a_long_path_has_none(
    run: Run, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("a" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    write("train.py", "import torch\n")
    outcome = run("scan", "train.py", "--probe", "--probe-server", "--isolated")
    assert f"probe: no probe server: the path of {long / 'torch-doctor'} is too long for a socket" in outcome.err
    assert "train.py ran for " in outcome.err


def test_one_that_ends_while_it_is_asked_has_forked_nothing(runtime: Path) -> None:
    def hang_up(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            while b"/" not in connection.recv(64):
                pass

    path = runtime.with_name("ending.socket")
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as waiting:
        listener.bind(str(path))
        listener.listen()
        waiting.submit(hang_up, listener)
        with pytest.raises(OSError, match="before it forked"), Path(os.devnull).open("wb") as nothing:
            server.Forked(path, ([], {}, "/"), nothing.fileno(), nothing.fileno())


def test_a_process_that_ends_at_the_moment_when_its_client_hangs_up_ends_nothing_else(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        serving: Any = Server(listener, lambda _: 0, 0.1)
        serving._end_orphans = lambda: None  # noqa: SLF001 - other children of this process are no runs of its own
        process = subprocess.Popen(["sleep", "60"])
        ours, theirs = socket.socketpair()
        child = ServedRun(process.pid, os.pidfd_open(process.pid), ours)
        serving._children.add(process.pid)  # noqa: SLF001 - as a client asks for it
        for key in (ours, child.ended):
            serving._selector.register(key, selectors.EVENT_READ, child)  # noqa: SLF001 - as above
        theirs.close()
        process.kill()
        select.select([child.ended], [], [])
        serving.serve()
    assert process.wait() == 0  # somebody else has heard of its end


def test_it_is_one_for_each_torch_and_each_environment(
    runtime: Path,  # noqa: ARG001 - where they listen
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def address(torch: str = "2.13.0") -> Path:
        return server.address(Path(sys.executable), torch)

    first = address()
    assert address() == first
    assert address("2.12.0") != first
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert address() != first


def test_one_command_imports_torch_once_for_all_its_runs(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "scratch"))
    started = []
    start = server._started  # noqa: SLF001 - counted

    def counted(*arguments: Any) -> Any:
        started.append(start(*arguments))
        return started[-1]

    monkeypatch.setattr(server, "_started", counted)
    shutil.copy(FIXTURES / "TDR801/bad_positions.py", folder / "gpu.py")
    plain = (folder / "gpu.py").read_text(encoding="utf-8") + "import os\nos.environ['SEEN'] = 'yes'\n"
    (folder / "sets.py").write_text(plain, encoding="utf-8")
    command = ["scan", "--probe", "--isolated", "--output-format", "json"]
    forked, alone = (
        [(each["code"], each["location"], each["message"], each["verdict"]) for each in run(*command, name).json]
        for name in ("gpu.py", "sets.py")
    )
    assert len(started) == 1  # for both runs of the first script; the second sets a variable, perhaps for torch
    assert started[0].returncode is not None
    assert forked == alone
    assert {verdict for *_, verdict in forked} == {"confirmed"}
    assert list((folder / "scratch").iterdir()) == []


FINALIZING = """
import pathlib, sys, weakref

class Model: ...

assert not any(each.atexit for each in list(weakref.finalize._registry))
model = Model()
weakref.finalize(model, pathlib.Path({path!r}).write_text, "finalized")
"""


def test_a_fork_finalizes_at_its_end_what_its_script_made_and_nothing_that_was_there_before(
    farm_address: str, tmp_path: Path
) -> None:
    told = tmp_path / "told.txt"
    script = tmp_path / "train.py"
    script.write_text(FINALIZING.format(path=str(told)), encoding="utf-8")
    farm.ran(farm_address, script)
    assert told.read_text(encoding="utf-8") == "finalized"


GUARDING = """
import os, pathlib, signal, sys
from importlib import import_module

guard = import_module("_torch_doctor_agent.guard")
captured, known = guard.captured, {}
replace = captured.replace

def noted(pairs, keep):
    known.update((id(original), original) for original, _ in pairs)
    replace(pairs, keep)

captured.replace = noted
guard.install({"scratch": sys.argv[0] + ".scratch", "cwd": os.getcwd()}, print)
left = [
    f"{name}.{attribute}"
    for name, module in list(sys.modules.items())
    if name not in captured.UNTOUCHED and not name.startswith("_torch_doctor_agent") and name != "__main__"
    for attribute, value in list(vars(module).items())
    if id(value) in known
]
assert len(known) > 50
assert left == [], left
"""


def test_a_fork_guards_every_name_of_what_it_guards(farm_address: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(GUARDING, encoding="utf-8")
    farm.ran(farm_address, script)
