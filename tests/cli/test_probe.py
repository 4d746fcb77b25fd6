"""`--probe`: what is run, what is not, and what comes of it for users and programs."""

from __future__ import annotations

import io
import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries
from tests.probe.farm import farm as farming
from torch_doctor.probe import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome

FIXTURES = Path(__file__).parents[2] / "fixtures"
HEAD = """\
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), batch_size=16)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = """\
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
BAD = HEAD + LOOP
HOOK = "nn.modules.module.register_module_forward_pre_hook(lambda *_: optimizer.zero_grad())\n"
LOOKS_BAD = HEAD + HOOK + LOOP
GOOD = HEAD + LOOP.replace("    loss =", "    optimizer.zero_grad()\n    loss =")

pytestmark = pytest.mark.usefixtures("farm")


@pytest.fixture
def no_torch(folder: Path) -> str:
    """A Python without torch."""
    program = folder / "python"
    program.write_text("#!/bin/sh\necho '[[3, 12], \"\"]'\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_a_finding_gets_its_verdict_in_its_frame(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", "--probe")
    assert outcome.status == 1
    assert "   = probe: confirmed: the gradient at step 2 is " in outcome.out
    assert outcome.err.splitlines()[0].startswith("probe: train.py ran for ")
    assert " in 1 file: 1 confirmed." in outcome.err
    assert "with --probe" not in outcome.err


def test_refuted_findings_are_shown_and_do_not_count(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", LOOKS_BAD)
    assert run("scan", "train.py").status == 1
    outcome = run("scan", "train.py", "--probe")
    assert outcome.status == 0
    assert "   = probe: refuted: 3 backward passes found no old gradient\n" in outcome.out


def test_nothing_found_is_nothing_found(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", GOOD)
    outcome = run("scan", "train.py", "--probe")
    assert (outcome.status, outcome.out) == (0, "")


def test_programs_get_verdict_and_evidence(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    (record,) = run("scan", "train.py", "--probe", "--output-format", "json").json
    assert record["verdict"] == "confirmed"
    evidence = record["evidence"][0]
    assert set(evidence) == {"claim", "value", "unit", "site"}
    assert evidence["value"] > 1
    assert evidence["unit"] == "×"
    column = 5 if sys.version_info >= (3, 11) else 1  # Python 3.10 does not know columns
    assert evidence["site"]["location"] == {"row": 12, "column": column}


def test_every_format_carries_the_verdict(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write("train.py", LOOKS_BAD)
    formats = ("sarif:out.sarif", "github:out.txt", "concise:out.concise", "json-lines:out.jsonl")
    run("scan", "train.py", "--probe", *(part for name in formats for part in ("--output-format", name)))
    (result,) = json.loads((folder / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["kind"] == "pass"
    assert result["properties"]["verdict"] == "refuted"
    assert result["properties"]["evidence"][0]["value"] == 3
    assert (folder / "out.txt").read_text(encoding="utf-8").startswith("::notice ")
    assert "probe: refuted: 3 backward passes" in (folder / "out.txt").read_text(encoding="utf-8")
    assert (folder / "out.concise").read_text(encoding="utf-8").endswith("[refuted]\n")
    assert json.loads((folder / "out.jsonl").read_text(encoding="utf-8"))["verdict"] == "refuted"


def test_several_scripts_are_told_one_after_the_other(run: Run, write: Callable[..., Path]) -> None:
    write("first.py", BAD)
    write("second.py", LOOKS_BAD)
    outcome = run("scan", "first.py", "second.py", "--probe", "--output-format", "concise")
    assert outcome.status == 1
    assert [line.rpartition(" ")[2] for line in outcome.out.splitlines()] == ["[confirmed]", "[refuted]"]
    assert [line.split()[1] for line in outcome.err.splitlines() if " ran for " in line] == ["first.py", "second.py"]


def test_what_follows_two_dashes_is_the_scripts(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", HEAD + "print('given', sys.argv)\n" + LOOP)
    outcome = run("scan", "train.py", "--probe", "--probe-output", "--", "--probe", "--lr", "0.1", "x y", "--")
    assert "given ['" in outcome.err
    assert "train.py', '--probe', '--lr', '0.1', 'x y', '--']" in outcome.err
    assert "--- output of train.py" in outcome.err


def test_what_the_script_prints_is_shown_only_when_asked_for(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", GOOD + "print('hello there')\n")
    outcome = run("scan", "train.py", "--probe")
    assert "hello there" not in outcome.out + outcome.err


def test_a_script_that_fails_by_itself_shows_where_and_keeps_its_verdicts(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", f"{BAD}def end():\n    raise KeyError('metrics')\nend()\n")
    outcome = run("scan", "train.py", "--probe")
    assert outcome.status == 1
    assert "= probe: confirmed" in outcome.out
    assert (
        "warning: train.py fails on its own: KeyError: 'metrics'\n"
        "    train.py:16 in <module>: end()\n"
        "    train.py:15 in end: raise KeyError('metrics')\n"
    ) in outcome.err


def test_where_it_cannot_run_the_source_speaks_alone(run: Run, write: Callable[..., Path], no_torch: str) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", "--probe", "--python", no_torch)
    assert outcome.status == 1
    assert "probe:" not in outcome.out
    assert (
        "warning: the probe could not run train.py, so findings are from static analysis alone: "
        f"{no_torch} (--python) has no torch: pass the script's interpreter with `--python`\n"
    ) in outcome.err


def test_where_it_is_required_that_is_an_error(run: Run, write: Callable[..., Path], no_torch: str) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", "--probe=require", "--python", no_torch)
    assert outcome.status == 2
    assert "TDR101" in outcome.out
    assert "error: the probe could not run train.py: " in outcome.err


def test_a_script_that_does_not_compile_could_not_be_run(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "x = = 1\n" + BAD)
    outcome = run("scan", "train.py", "--probe=require", "--exit-zero")
    assert outcome.status == 2
    assert "error: the probe could not run train.py: train.py fails on its own: SyntaxError: " in outcome.err


def test_a_script_that_does_not_come_to_torch_fails_although_its_loop_was_run_alone(
    run: Run, write: Callable[..., Path]
) -> None:
    write("train.py", "print({}['rate'])\n" + BAD)
    outcome = run("scan", "train.py", "--probe=require", "--exit-zero")
    assert outcome.status == 2
    assert "error: train.py fails on its own: KeyError: 'rate'\n    train.py:1 in <module>" in outcome.err


REFUSED = """import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy(model(torch.randn(32, 4)), torch.ones(32, 1))
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("option", "status", "word"), [("--probe", 1, "warning"), ("--probe=require", 2, "error")])
def test_a_script_that_fails_at_a_confirmed_line_is_told_with_its_finding(
    run: Run, write: Callable[..., Path], option: str, status: int, word: str
) -> None:
    write("train.py", REFUSED)
    outcome = run("scan", "train.py", option, "--output-format", "concise")
    assert outcome.status == status
    assert (
        f"{word}: train.py fails on its own: RuntimeError: all elements of input should be between 0 and 1"
        in outcome.err
    )
    assert outcome.err.count("TDR205 bce-on-logits is confirmed at this line") == 1


def test_a_gpu_that_is_not_there_is_one_clear_line(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", "--probe=require", "--device", "cuda")
    assert outcome.status == 2
    assert f"error: the probe could not run train.py: torch of {Path(sys.executable).parent}" in outcome.err
    assert "finds no GPU" in outcome.err


def test_a_script_that_never_ends_is_stopped_and_keeps_its_verdicts(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD + "import time\nwhile True:\n    time.sleep(0.01)\n")
    outcome = run("scan", "train.py", "--probe", "--probe-timeout", "4")
    assert "= probe: confirmed" in outcome.out
    assert "train.py did not finish within 4 s and was stopped (see `--probe-timeout`)" in outcome.err


def test_a_script_that_takes_too_much_memory_is_stopped(run: Run, write: Callable[..., Path]) -> None:
    farming.use("")  # the memory of what is started is weighed, and the farm is started by nobody
    write(
        "train.py", BAD + "import time\nheld = []\nwhile True:\n    held.append(torch.ones(2**20)); time.sleep(0.01)\n"
    )
    outcome = run("scan", "train.py", "--probe", "--probe-memory", "700")
    assert "= probe: confirmed" in outcome.out
    assert "train.py used more than 700 MiB of memory and was stopped (see `--probe-memory`)" in outcome.err


def test_nothing_is_written(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write(
        "train.py",
        GOOD + "torch.save(model.state_dict(), 'model.pt')\nassert torch.load('model.pt', weights_only=True)\n",
    )
    assert run("scan", "train.py", "--probe").err.count("fails on its own") == 0
    assert entries(folder) == ["train.py"]


GUARDED = HEAD + "def train():\n" + textwrap.indent(LOOP, "    ") + "\nif __name__ == '__main__':\n    train()\n"
PROJECT = {  # file: its text, and whether it is run
    "train.py": (GUARDED, True),  # though another file imports it
    "flat.py": (BAD, True),  # which only a test imports
    "tests/test_flat.py": ("import torch\nfrom flat import model\n\ndef test_it():\n    assert model\n", False),
    "evaluate.py": ("import torch\nfrom train import model\nprint(model(torch.ones(1, 4)))\n", False),
    "engine.py": (GUARDED.partition("\nif")[0], False),
    "main.py": ("import torch\nimport engine\nengine.train()\n", True),
    "shared.py": (BAD, False),
    "lit.py": ("import lightning as L\nfrom shared import model\nL.Trainer().fit(model)\n", True),
    "model.py": (HEAD + "if __name__ == '__main__':\n    print(model(torch.ones(1, 4)))\n", False),
    "setup.py": ("from setuptools import setup\nsetup(name='torch-things')\n", False),
    "broken.py": ("import torch\nloss.backward(\n", False),
    "deep/er/run.py": (GUARDED, True),
    "notes.ipynb": (["import torch", BAD], True),
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that would be run."""
    names: list[str] = []

    def probed(script: Path, *_: object) -> Outcome:
        names.append(script.name)
        return Outcome(ending="it was only to be chosen")

    monkeypatch.setattr("torch_doctor.scan.running.probed", probed)
    return names


def test_of_a_folder_the_scripts_are_run_that_one_would_start_to_train(
    run: Run, write: Callable[..., Path], started: list[str]
) -> None:
    for name, (text, _) in PROJECT.items():
        write(f"project/{name}", text)
    err = run("scan", "project", "--probe", "-v").err
    assert sorted(started) == sorted(Path(name).name for name, (_, runs) in PROJECT.items() if runs)
    assert "note: project/shared.py is not run: it is imported by project/lit.py\n" in err
    assert "probe: running 6 training scripts under project: project/flat.py, project/lit.py, project/main.py, " in err
    for name in started:
        assert err.count(f"{name}, so findings are from static analysis alone: it was only to be chosen\n") == 1


def test_which_scripts_of_a_folder_are_run_does_not_depend_on_the_rules(
    run: Run, write: Callable[..., Path], started: list[str]
) -> None:
    for name in ("main.py", "engine.py"):
        write(f"project/{name}", PROJECT[name][0])
    run("scan", "project", "--probe", "--select", "TDR601")
    assert started == ["main.py"]


def test_beside_scripts_that_are_named_a_folder_is_only_scanned(
    run: Run, write: Callable[..., Path], started: list[str]
) -> None:
    write("project/other.py", BAD)
    write("train.py", BAD)
    run("scan", "train.py", "project", "--probe")
    assert started == ["train.py"]


def test_a_folder_without_a_script_that_trains_is_said(run: Run, write: Callable[..., Path]) -> None:
    write("project/model.py", HEAD)
    why = "the probe found no training script under project: pass the script to run\n"
    warned, failed = (run("scan", "project", flag) for flag in ("--probe", "--probe=require"))
    assert (warned.status, failed.status) == (0, 2)
    assert f"warning: {why}" in warned.err
    assert f"error: {why}" in failed.err


def test_the_scripts_of_a_folder_have_verdicts_of_their_own(run: Run, write: Callable[..., Path]) -> None:
    write("project/bad.py", BAD)
    write("project/deep/looks.py", LOOKS_BAD)
    write("project/fails.py", HEAD + "assert torch.zeros(1).item()\n" + LOOP)
    outcome = run("scan", "project", "--probe", "--output-format", "json")
    verdicts = {Path(each["filename"]).name: each["verdict"] for each in outcome.json}
    assert verdicts == {"bad.py": "confirmed", "looks.py": "refuted", "fails.py": "confirmed"}
    assert "project/fails.py did not reach its training loop" in outcome.err
    for name in ("bad.py", "deep/looks.py", "fails.py"):
        assert outcome.err.count(f"project/{name} ran for ") == 1


def test_where_nothing_is_named_nothing_is_run(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "--probe")
    assert outcome.status == 2
    assert outcome.err == "error: --probe needs scripts or folders to run, as in `torch-doctor scan train.py --probe`\n"


def test_standard_input_is_never_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    outcome = run("scan", "-", "--probe")
    assert (outcome.status, outcome.err) == (
        2,
        "error: --probe cannot run stdin (`-`): name one or more scripts\n",
    )


def test_a_commit_hook_never_runs_what_is_committed(
    run: Run, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", BAD)
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert run("scan", "train.py").status == 1
    outcome = run("scan", "train.py", "--probe")
    assert outcome.status == 2
    assert "--probe is disabled in pre-commit hooks" in outcome.err


def test_it_never_runs_unless_asked(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write("train.py", f"open({str(folder / 'ran')!r}, 'w')\n{BAD}")
    assert "probe:" not in run("scan", "train.py").err
    assert not (folder / "ran").exists()


def test_a_script_that_is_not_there(run: Run) -> None:
    outcome = run("scan", "nowhere.py", "--probe")
    assert (outcome.status, outcome.err) == (2, "error: nowhere.py does not exist\n")


@pytest.mark.parametrize(
    "option",
    [
        ("--device", "cpu"),
        ("--probe-timeout", "5"),
        ("--probe-memory", "9"),
        ("--probe-processes", "2"),
        ("--probe-server",),
        ("--probe-output",),
    ],
)
def test_its_options_mean_nothing_without_it(run: Run, write: Callable[..., Path], option: tuple[str, ...]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", *option)
    assert outcome == (2, "", f"error: {option[0]} requires --probe\n")


@pytest.mark.parametrize(
    "option",
    [
        ("--probe=always",),
        ("--probe", "--probe-timeout", "0"),
        ("--probe", "--device", "tpu"),
        ("--probe", "--probe-processes", "0"),
        ("--probe", "--probe-processes", "two"),
        ("--probe", "--probe-processes", "2", "--device", "cuda"),
    ],
)
def test_a_value_that_is_none_is_a_usage_error(run: Run, write: Callable[..., Path], option: tuple[str, ...]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", *option)
    assert outcome.status == 2
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize("number", ["0", "two", "1.5", "99", ""])
def test_processes_are_a_number_or_one_line_that_says_so(run: Run, write: Callable[..., Path], number: str) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py", "--probe", "--probe-processes", number)
    said = f"error: --probe-processes takes a number from 1 to 16, as in `--probe-processes 2`, not `{number}`\n"
    assert outcome == (2, "", said)


def test_trace_shows_what_happened_beside_what_the_source_says(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", LOOKS_BAD)
    outcome = run("trace", "train.py", "--probe")
    assert outcome.status == 0
    said, seen = outcome.out.split("train.py (recorded at run time)\n")
    assert "clear" not in said.split("backward")[1]
    assert "step `optimizer`" in said
    assert "step `optimizer`" in seen
    assert "clear" in seen
    source, observed = run("trace", "train.py", "--probe", "--output-format", "json").json
    assert (source["observed"], observed["observed"]) == (False, True)
    assert [event["event"] for event in observed["events"]].count("Stepped") == 3


def test_a_notebook_is_run_cell_by_cell(run: Run, write: Callable[..., Path]) -> None:
    write("train.ipynb", ["%matplotlib inline\n!pip install torch", HEAD, "md:# Training", LOOP + "display(loss)"])
    outcome = run("scan", "train.ipynb", "--probe", "--output-format", "concise")
    assert outcome.status == 1
    assert outcome.out.startswith("train.ipynb:cell 4:3:5: TDR101")
    assert outcome.out.endswith("[confirmed]\n")


def test_silenced_findings_stay_silent(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD.replace("loss.backward()", "loss.backward()  # noqa: TDR101"))
    outcome = run("scan", "train.py", "--probe")
    assert (outcome.status, outcome.out) == (0, "")


def test_rules_that_are_ignored_stay_silent(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    assert run("scan", "train.py", "--probe", "--ignore", "TDR101").status == 0


NO_ROWS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(0, 4), torch.zeros(0, dtype=torch.long))):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
"""
EMPTY = "the loop at train.py:8 (`for x, y in DataLoader(TensorDataset(torch.randn(0, 4), torch.zeros(0, dtype=torch.long))):`)"
SLEEPING = """
import itertools
import torch

net = torch.nn.Linear(4, 3)
all(map(lambda number: number >= 0, itertools.count()))
"""
NO_TRAINING = """
import torch

net = torch.nn.Linear(4, 3)
x = torch.randn(2, 4, requires_grad=True)
net(x).sum().backward()
print(x.grad)
"""


@pytest.mark.parametrize(
    ("script", "unseen"),
    [
        (NO_ROWS, f"train.py reached no optimizer step: {EMPTY} had nothing to go over"),
        (SLEEPING, "train.py was stopped before it finished"),
        (NO_TRAINING, ""),
    ],
    ids=["no rows", "sleeping", "no training"],
)
def test_a_run_that_shows_no_training_says_so_at_the_end(
    script: str, unseen: str, run: Run, write: Callable[..., Path]
) -> None:
    write("train.py", script)
    options = ("scan", "train.py", "--isolated", "--probe-timeout", "8", "--select", "TDR101")
    before = ["", *run(*options, "--probe").err.splitlines()][-2]
    assert (before == f"probe: incomplete run: {unseen}") is bool(unseen)
    required = run(*options, "--probe=require")
    assert required.status == (2 if unseen else 0)
    assert ("error: " in required.err) is bool(unseen)
