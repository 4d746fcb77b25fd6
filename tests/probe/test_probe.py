"""From a script to what came of its run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.probe.test_launch import AGENT
from torch_doctor.probe import Names, Outcome, Request, launch, probe
from torch_doctor.trace import Stepped

if TYPE_CHECKING:
    from collections.abc import Callable

HELLO = '{"t":"hello","python":"3.12.1","torch":"2.9.0","device":"cpu"}'
PLACE = '{"t":"site","id":1,"at":["/p/train.py",1,1,1,5]}\n{"t":"scope","id":0,"parent":null,"kind":"root","site":1}'
STEP = '{"t":"event","e":"Stepped","at":1,"in":0,"optimizer":1,"name":"o","modules":[],"whole":true}'
END = '{"t":"ended","how":"end","status":0}'


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """What comes of a run in which the agent says these lines, and does something at last."""

    def run(*lines: str, does: str = "", **request: str) -> Outcome:
        agent = tmp_path / "agent"
        agent.mkdir()
        said = "".join(f"{line}\n" for line in lines)
        (agent / "__main__.py").write_text(f"{AGENT}say({said!r})\n{does}\n", encoding="utf-8")
        monkeypatch.setattr(launch, "AGENT", agent)
        asked = Request(script=tmp_path / "train.py", root=tmp_path, cwd=tmp_path, python=sys.executable, **request)  # type: ignore[arg-type]
        return probe(asked, [], [], Names(lambda path: path.name, tmp_path.joinpath, lambda site: site))

    return run


def test_a_run_is_a_trace_and_a_remark_on_who_ran_it(outcome: Callable[..., Outcome]) -> None:
    done = outcome(HELLO, PLACE, STEP, END, does="print('hello')")
    assert done.trace is not None
    assert len(done.trace.of(Stepped)) == 1
    assert done.ending == ""
    assert done.remarks[0].startswith("train.py ran for ")
    assert f"reached 1 optimizer step: Python 3.12.1 with torch 2.9.0, {sys.executable} (--python)" in done.remarks[0]
    assert done.output == "hello\n"


def test_a_script_without_torch_ran_and_showed_nothing(outcome: Callable[..., Outcome]) -> None:
    done = outcome(END)
    assert done.trace is not None
    assert done.trace.events == []
    assert done.remarks == ()


def test_what_was_seen_before_a_crash_is_kept(outcome: Callable[..., Outcome]) -> None:
    done = outcome(HELLO, PLACE, STEP, does="os.abort()")
    assert done.trace is not None
    assert done.trace.run is not None
    assert done.trace.run.end.how == "killed"
    assert done.ending == "train.py ended without an error message: signal SIGABRT"


def test_a_crash_before_anything_was_seen_is_a_run_that_could_not_be(outcome: Callable[..., Outcome]) -> None:
    done = outcome(does="print('cannot import name Foo'); sys.exit(1)")
    assert done.trace is None
    assert (
        done.ending == "train.py ended without an error message: status 1; last line of output: cannot import name Foo"
    )


def test_lines_that_cannot_be_read_are_told_of(outcome: Callable[..., Outcome]) -> None:
    done = outcome(HELLO, PLACE, "nonsense", STEP, '{"t":"event"', END)
    assert done.trace is not None
    assert len(done.trace.of(Stepped)) == 1
    assert done.remarks[1:] == ("train.py: 2 lines of the probe's recording could not be read; please report it",)


def test_a_gpu_that_was_asked_for_and_is_not_there(outcome: Callable[..., Outcome]) -> None:
    done = outcome(HELLO, PLACE, STEP, END, device="cuda")
    assert done.trace is None
    assert done.ending == f"torch of {sys.executable} finds no GPU: omit `--device`"


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    asked = Request(script=tmp_path / "train.py", root=tmp_path, cwd=tmp_path, python="/no/such/python")
    done = probe(asked, [], [], Names(lambda path: path.name, Path, lambda site: site))
    assert (done.trace, done.seconds) == (None, 0.0)
    assert done.ending == "/no/such/python does not exist: `--python` takes an interpreter or an environment"


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    asked = Request(script=tmp_path / "train.py", root=tmp_path, cwd=gone, python=sys.executable)
    done = probe(asked, [], [], Names(lambda path: path.name, Path, lambda site: site))
    assert done.trace is None
    assert done.ending == "train.py cannot be run: No such file or directory"


def test_cells_may_ask_for_the_shell_that_runs_a_notebook(tmp_path: Path) -> None:
    cells = "import torch\nget_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(torch.zeros(1))\n"
    (tmp_path / "n.ipynb").write_text("{}")
    request = Request(script=tmp_path / "n.ipynb", root=tmp_path, cwd=tmp_path, text=cells, python=sys.executable)
    done = probe(request, [], [], Names(lambda path: path.name, tmp_path.joinpath, lambda site: site))
    assert done.ending == ""
