"""Scripts that stop before their training loop for a reason that no lesson mends: the loop is run alone.

`# confirmed TDR101` and `# undecided TDR101` at the end of a line are findings with their verdicts; `ok_` scripts have none.
`right_` scripts have findings only because something that the source does not show may be put in place before the loop, or
because another file of theirs does: such a fixture is a folder with a `train.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torch_doctor.probe.alone import limited, words
from torch_doctor.rule import Evidence, Finding, Verdict, all_rules
from torch_doctor.trace import Run, Scope, ScopeKind, Site, Stepped, Trace

SCRIPTS = sorted(Path(__file__).with_name("fixtures").iterdir())
MARK = re.compile(r"#((?: (?:confirmed|undecided) TDR\d+)+)$")
SITE = Site("train.py", 9, 1, 9, 20)
LOOP = Site("train.py", 8, 1, 8, 20)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_loop_is_run_alone(script: Path, tmp_path: Path) -> None:
    for each in script.glob("*.py") if script.is_dir() else ():
        shutil.copy(each, tmp_path)
    if script.is_file():
        shutil.copy(script, tmp_path / "train.py")
    text = (tmp_path / "train.py").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "torch_doctor", "scan", "--isolated", "--no-cache", "--probe", "train.py"]
    done = subprocess.run(
        [*command, "--output-format", "json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    told = re.sub(r"\s+", " ", done.stderr)
    assert re.search(r"did not reach its training loop( \(\w+.*, train.py:\d+\))?; `", told), told
    assert "incomplete run: train.py did not reach its training loop" in told
    wanted = [
        (row, code, verdict)
        for row, line in enumerate(text.splitlines(), 1)
        if (mark := MARK.search(line))
        for verdict, code in re.findall(r"(\w+) (TDR\d+)", mark[1])
    ]
    findings = json.loads(done.stdout)
    assert [(each["location"]["row"], each["code"], each["verdict"]) for each in findings] == wanted, told
    for each in findings:
        assert re.search("did not reach its training loop|the probe used", json.dumps(each)), each


EVALUATING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def train(model, loader, folder):
    open(folder)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

model, losses = nn.Linear(4, 2), []
for x, y in DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,))), batch_size=8):
    losses.append(nn.functional.cross_entropy(model(x), y))
print(sum(losses) / len(losses))
"""


def test_what_a_script_without_training_shows_counts_as_well(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(EVALUATING, encoding="utf-8")
    command = [sys.executable, "-m", "torch_doctor", "scan", "--isolated", "--no-cache", "--probe", "train.py"]
    done = subprocess.run(
        [*command, "--output-format", "json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    found = {(each["code"], each["verdict"]) for each in json.loads(done.stdout)}
    assert found == {("TDR101", "confirmed"), ("TDR502", "confirmed")}, done.stderr
    assert "did not reach its training loop; `train` was run alone" in re.sub(r"\s+", " ", done.stderr)


LIBRARY = """
import torch

def activate():
    torch.optim.Optimizer.step = eval({what})
"""
USER = """
import library
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
library.activate()
for x, y in DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,))), batch_size=8):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("what", ["open('/srv/licence').read()", "1 / 0"], ids=["reads", "computes"])
def test_a_library_that_fails_might_have_changed_torch(tmp_path: Path, what: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "library.py").write_text(LIBRARY.format(what=what), encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    (project / "train.py").write_text(USER, encoding="utf-8")
    paths = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH", ""), str(tmp_path / "site"))))
    command = [sys.executable, "-m", "torch_doctor", "scan", "--isolated", "--no-cache", "--probe", "train.py"]
    done = subprocess.run(
        [*command, "--output-format", "json"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "reached 0 optimizer steps" not in done.stderr, done.stderr
    assert [(each["code"], each["verdict"]) for each in json.loads(done.stdout)] == [("TDR101", "undecided")]


def _judged(
    verdict: Verdict, *, broken: bool = False, put: bool = False, code: str = "TDR101", condition: str = ""
) -> Finding:
    rule = next(rule for rule in all_rules() if rule.code == code)
    finding = Finding(code, rule.name, rule.level, "something is wrong", SITE, condition=condition)
    trace = Trace("train.py", run=Run(alone=True, broken={LOOP} if broken else set(), interposed=[LOOP] * put))
    call = Scope(ScopeKind.CALL, SITE, Scope(ScopeKind.ROOT, SITE), name="train")
    scope = Scope(ScopeKind.ITERATION, LOOP, call, loop=1, number=1)
    trace.add(Stepped(site=SITE, scope=scope, optimizer=1, name="optimizer.step()", modules=frozenset({1}), whole=True))
    assert words(trace) == "`train` was run alone"
    found = finding.with_verdict(verdict, (Evidence("seen"),))
    return limited((found,), trace, all_rules())[0]


def test_what_happens_within_a_loop_is_confirmed() -> None:
    judged = _judged(Verdict.CONFIRMED)
    assert judged.verdict is Verdict.CONFIRMED
    assert judged.evidence[-1].claim.endswith("`train` was run alone")


@pytest.mark.parametrize(
    "judged",
    [
        _judged(Verdict.REFUTED),
        _judged(Verdict.CONFIRMED, broken=True),
        _judged(Verdict.CONFIRMED, put=True),
        _judged(Verdict.CONFIRMED, code="TDR401"),
        _judged(Verdict.CONFIRMED, condition="with `--amp`"),
    ],
    ids=["refuted", "broken-loop", "hooks", "caller", "condition"],
)
def test_the_rest_is_undecided(judged: Finding) -> None:
    assert judged.verdict is Verdict.UNDECIDED


def test_a_line_that_did_not_run_stays_not_reached() -> None:
    assert _judged(Verdict.NOT_REACHED).verdict is Verdict.NOT_REACHED
