"""Scripts that misbehave: one clear line, the static result stands, nothing is written outside, nobody is left behind."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.processes import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome

pytestmark = pytest.mark.usefixtures("farm")

BUG = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(6):
    loss = nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
    loss.backward()
    optimizer.step()
"""
"""TDR101 at row 11."""
SCRIPTS = {
    "raises at once": ("raise ValueError('no')\n", "ValueError: no"),
    "leaves with a status": (BUG + "import sys\nsys.exit(3)\n", "status 3"),
    "leaves with a message": (BUG + "raise SystemExit('that is all')\n", "that is all"),
    "leaves at once": (BUG + "import os\nos._exit(4)\n", "status 4"),
    "forks": (BUG + "import os\nos.fork()\n", "fork"),
    "starts a program": (BUG + "import subprocess\nsubprocess.run(['make', 'made'])\n", "make"),
    "makes a file by a command": (BUG + "import subprocess\nsubprocess.run(['touch', 'made'], check=True)\n", ""),
    "swallows everything": (
        BUG.replace(
            "    loss.backward()", "    try:\n        raise KeyError\n    except:\n        pass\n    loss.backward()"
        ),
        "",
    ),
    "opens a connection": (BUG + "import socket\nsocket.create_connection(('192.0.2.1', 80))\n", "192.0.2.1"),
    "deletes its project": (BUG + "import shutil, os\nshutil.rmtree(os.path.dirname(__file__))\n", ""),
    "deletes itself": (BUG + "import os\nos.remove(__file__)\n", ""),
    "writes beside its project": (BUG + "open('../written.txt', 'w').write('x')\n", ""),
    "goes elsewhere": (BUG + "import os\nos.chdir('/')\nopen('here.txt', 'w').write('x')\n", ""),
    "prints binary": (BUG + "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 9)\n", ""),
    "closes all files": (BUG + "import os\nos.closerange(3, 256)\n", ""),
    "replaces open": (BUG + "import builtins\nbuiltins.open = None\n", ""),
    "replaces stdout": (BUG + "import sys\nsys.stdout = sys.stderr = None\n", ""),
    "handles signals": (BUG + "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n", ""),
    "recurses without end": (BUG + "def again():\n    again()\nagain()\n", "RecursionError"),
    "kills itself": (BUG + "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "SIGSEGV"),
}
ENDLESS = {
    "loops.py": "while True:\n    pass\n",
    "sleeps.py": "import threading\nthreading.Event().wait()\n",
    "catches_all.py": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n",
}


def tree(folder: Path) -> dict[str, str]:
    """What lies below a folder, with its contents, its rights and when it was written."""
    found = {}
    for path in sorted(folder.rglob("*")):
        entry = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(entry.st_mode) else ""
        if not stat.S_ISDIR(entry.st_mode):
            found[str(path.relative_to(folder))] = f"{stat.filemode(entry.st_mode)} {entry.st_mtime_ns} {content}"
    return found


def left_behind(project: Path) -> list[str]:
    """The processes that a probe of this project started and that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
                place = (entry / "cwd").readlink()
                state = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
            except OSError:
                continue
            here = place in (project, Path("/"))
            if f"{TOKEN}=".encode() in environment and here and state != "Z":
                found.append(entry.name)
    return found


@pytest.fixture
def misbehaves(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Probes a script in a project of its own; all is as it was before, and the static result stands."""
    project = folder / "project"
    project.mkdir()
    (project / "data.txt").write_text("precious", encoding="utf-8")
    monkeypatch.chdir(project)

    def probed(script: str, *options: str) -> Any:
        (project / "train.py").write_text(script, encoding="utf-8")
        before, running = tree(folder), left_behind(project)
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        outcome = run("scan", "train.py", "--probe", "--isolated", "--no-cache", *options)
        assert tree(folder) == before
        assert set(left_behind(project)) <= set(running)
        assert list(scratch.iterdir()) == []
        assert "Traceback" not in outcome.out + outcome.err
        return outcome

    return probed


@pytest.mark.parametrize(("script", "said"), SCRIPTS.values(), ids=list(SCRIPTS))
def test_a_script_that_misbehaves_does_no_harm_and_loses_nothing(
    misbehaves: Callable[..., Any], script: str, said: str
) -> None:
    outcome = misbehaves(script)
    assert said in outcome.err
    if script.startswith(BUG[:20]):
        assert outcome.status == 1
        assert "TDR101" in outcome.out
        assert "confirmed" in outcome.out


def test_scripts_without_end_are_ended(misbehaves: Callable[..., Any]) -> None:
    for name, script in ENDLESS.items():
        Path(name).write_text(BUG + script, encoding="utf-8")
    outcome = misbehaves(BUG, *ENDLESS, "--probe-timeout", "4", "--jobs", "4")
    assert outcome.status == 1
    assert outcome.out.count("[TDR101] missing-zero-grad") == 1 + len(ENDLESS)
    for name in ENDLESS:
        assert f"{name} did not finish within 4 s and was stopped" in outcome.err
    assert "train.py did not" not in outcome.err


@pytest.mark.usefixtures("folder")
def test_a_script_that_is_not_there_is_one_line(run: Run) -> None:
    outcome = run("scan", "nowhere.py", "--probe")
    assert outcome.status == 2
    assert outcome.err.splitlines() == ["error: nowhere.py does not exist"]


@pytest.mark.parametrize("text", ["", "def broken(:\n"], ids=["empty", "no Python"])
def test_a_script_of_nothing_has_nothing_to_run(misbehaves: Callable[..., Any], text: str) -> None:
    outcome = misbehaves(text)
    assert outcome.status in (0, 1)
