"""One run of the witness tells nothing of another: crashes, budgets and switches end with the run that they belong to."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan
from torch_doctor.static import budget as budgets
from torch_doctor.static import entry_points
from torch_doctor.static.lowering import lower
from torch_doctor_rules.update.missing_zero_grad import MissingZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUG = """
import torch
from torch import nn


def train(loader):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


@pytest.fixture
def scanned(folder: Path) -> Callable[..., Report]:
    def run(*names: str) -> Report:
        paths = tuple(folder / name for name in names) or (folder,)
        return scan(Options(paths=paths, rules=tuple(all_rules())))

    return run


def told(report: Report, code: str) -> list[str]:
    return [finding.site.path for finding in report.findings if finding.code == code]


def test_a_crash_ends_the_run_of_one_function_and_is_blamed_on_its_file(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        write(name, BUG + ("\n\ndef explode(model):\n    model.step()\n" if name == "b.py" else ""))
    inner = entry_points.enter

    def enter(executor: Any, function: Any) -> None:
        if function.node.name == "explode":
            raise ZeroDivisionError
        inner(executor, function)

    monkeypatch.setattr(entry_points, "enter", enter)
    report = scanned()
    assert [error.partition(":")[0] for error in report.errors] == ["internal error while scanning b.py"]
    assert told(report, "TDR101") == ["a.py", "b.py", "c.py"]


def test_a_file_that_cannot_be_lowered_takes_no_other_along(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", BUG + "a = 1\n")
    write("b.py", "import a\n" + BUG)

    def lowered(tree: Any, text: str, package: str) -> Any:
        if text == BUG + "a = 1\n":
            raise ZeroDivisionError
        return lower(tree, text, package)

    monkeypatch.setattr("torch_doctor.static.imports.lower", lowered)
    report = scanned()
    assert [error.partition(":")[0] for error in report.errors] == ["internal error while scanning a.py"]
    assert told(report, "TDR101") == ["b.py"]


def test_a_run_that_ends_early_leaves_no_switch_behind(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    """The budget of the first function ends while it evaluates what `._private` is asked of."""
    deep = "\n".join(f"def f{n}(x):\n    return f{n - 1}(x) + f{n - 1}(x)\n\n" for n in range(1, 20))
    write(
        "a.py",
        f"import torch\n\n\ndef f0(x):\n    return torch.relu(x)\n\n\n{deep}\n"
        "def first(x):\n    return f19(x)._private\n\n\n"
        "def second(x):\n    with torch.cuda.amp.autocast():\n        x.backward()\n",
    )
    report = scanned()
    assert any("step limit" in note for note in report.notes)
    assert told(report, "TDR807") == ["a.py"]


def test_a_function_in_which_a_run_was_given_up_is_run_on_its_own(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    """The model takes all the steps of the script, and the loop that trains it is not to blame."""
    deep = "\n".join(f"def f{n}(x):\n    return f{n - 1}(x) + f{n - 1}(x)\n\n" for n in range(1, 20))
    write(
        "a.py",
        f"import torch\nfrom torch import nn\n\n\ndef f0(x):\n    return torch.relu(x)\n\n\n{deep}\n"
        "class Net(nn.Linear):\n    def forward(self, x):\n        return f19(super().forward(x))\n\n\n"
        "def fit(model, loader, optimizer):\n    for x, y in loader:\n"
        "        loss = nn.functional.cross_entropy(model(x), y)\n        loss.backward()\n        optimizer.step()\n\n\n"
        "net = Net(4, 3)\nfit(net, load(), torch.optim.SGD(net.parameters(), lr=0.1))\n",
    )
    report = scanned()
    assert any("step limit" in note for note in report.notes)
    assert told(report, "TDR101") == ["a.py"]


HEAVY = {
    "numbers": "t = len(loader)" + "\nt = t + t" * 40 + "\nif t > 3:\n    print(t)",
    "lists": "t = [model]" + "\nt = [t, t]" * 40 + "\nuse(t)\nprint(t)\nt[0] = 1",
    "tuples": "t = (torch.randn(3), model)" + "\nt = (t, t)" * 40 + "\nuse(t)\nlog.append(t)",
    "dicts": "t = {'a': model}" + "\nt = {'a': t, 'b': t}" * 40 + "\nuse(t)",
    "parameters": "t = torch.zeros(4, requires_grad=True)" + "\nt = [t, t]" * 40 + "\ntorch.optim.SGD(t, lr=0.1)",
    "generators of parameters": "t = torch.zeros(4, requires_grad=True)"
    + "\nt = [iter(t), iter(t)]" * 30
    + "\ntorch.optim.SGD(t, lr=0.1)",
    "layers": "t = model" + "\nt = nn.Sequential(t, t)" * 30 + "\nt(torch.randn(4))\nt.eval()\nuse(t)",
    "strings": "t = 'a'" + "\nt = t + t" * 40 + "\nprint(t)",
    "choices of containers": "t = [model]" + "\nt = [t, model] if flag() else [t]" * 40 + "\nuse(t)",
    "choices of devices": "t = torch.randn(4, 4)"
    + "".join(f"\nt = model(t) if flag{n} else t + t.cuda()" for n in range(40))
    + "\nmodel(t)",
    "negations": "c = flag > 3" + "\nc = c == c" * 40 + "\nif c:\n    print(1)",
    "tests": "if " + " and ".join(f"(f{n}(x) or g{n}(x))" for n in range(60)) + ":\n    pass",
    "a list of itself": "t = []\nt.append(t)\nuse(t)\nlog.append(t)",
}


@pytest.mark.parametrize("kind", HEAVY)
def test_nothing_doubles_with_every_line(kind: str, write: Callable[..., Path], scanned: Callable[..., Report]) -> None:
    body = "import torch\nfrom torch import nn\n\nmodel = nn.Linear(4, 4)\nloader = load()\n" + HEAVY[kind]
    write("heavy.py", body + "\n")
    write("light.py", BUG)
    start = time.process_time()
    report = scanned()
    assert time.process_time() - start < budgets.SECONDS
    assert not any("seconds" in note for note in report.notes)
    assert told(report, "TDR101") == ["light.py"]


BLOCKS = """
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, keeps):
        super().__init__()
        self.keeps = keeps
        self.conv = nn.Sequential(nn.Conv2d(width, width, 1), nn.BatchNorm2d(width))

    def forward(self, x):
        if self.keeps:
            return x + self.conv(x)
        return self.conv(x)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = nn.Sequential(BLOCKS)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(x).mean([2, 3]))


cuda = len(sys.argv) > 2
width = int(sys.argv[1])
model = Net(width)
if cuda:
    model = model.cuda()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for images, labels in torch.utils.data.DataLoader(data):
    if cuda:
        images, labels = images.cuda(), labels.cuda()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
"""


def test_blocks_whose_shortcut_cannot_be_decided_are_followed_one_by_one(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("net.py", BLOCKS.replace("BLOCKS", ", ".join(f"Block(width, width == {n})" for n in range(24))))
    start = time.process_time()
    report = scanned()
    assert time.process_time() - start < budgets.SECONDS
    assert report.notes == []
    assert told(report, "TDR101") == ["net.py"]


def test_a_file_that_takes_too_long_is_ended_and_what_was_found_is_told(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that never ends stands for whatever has been overlooked."""
    write("a.py", BUG + "\n\ndef endless(model):\n    model.step()\n")
    write("b.py", BUG)
    inner = entry_points.enter

    def enter(executor: Any, function: Any) -> None:
        while function.node.name == "endless":
            pass
        inner(executor, function)

    monkeypatch.setattr(entry_points, "enter", enter)
    monkeypatch.setattr(budgets, "SECONDS", 0.5)
    report = scanned()
    assert report.errors == []
    assert report.notes == ["a.py:1:1: analysis stopped: the file exceeds the time limit"]
    assert report.warnings == ["a.py:1: the analysis takes more than 0.5 seconds: findings may be incomplete"]
    assert told(report, "TDR101") == ["a.py", "b.py"]


@pytest.mark.parametrize("stage", ["lower", "check"])
def test_whatever_takes_too_long_costs_its_own_file_alone(
    stage: str, write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", BUG + "\nslow = 1\n")
    write("b.py", BUG)
    check = MissingZeroGrad.check

    def slow_lower(tree: Any, text: str, package: str) -> Any:
        while "slow" in text:
            pass
        return lower(tree, text, package)

    def slow_check(rule: Any, trace: Any) -> Any:
        found = list(check(rule, trace))
        yield from found
        while found and trace.path == "a.py":
            pass

    if stage == "lower":
        monkeypatch.setattr("torch_doctor.static.imports.lower", slow_lower)
    else:
        monkeypatch.setattr(MissingZeroGrad, "check", slow_check)
    monkeypatch.setattr(budgets, "SECONDS", 0.5)
    report = scanned()
    assert report.errors == []
    assert report.warnings == ["a.py:1: the analysis takes more than 0.5 seconds: findings may be incomplete"]
    assert told(report, "TDR101") == (["a.py", "b.py"] if stage == "check" else ["b.py"])


def test_a_script_that_is_run_to_learn_how_it_calls_is_not_reported_itself(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("pyproject.toml", "")
    caller = textwrap.dedent(
        """
        import torch
        from torch import nn
        from engine import epoch

        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in torch.utils.data.DataLoader(data):
            epoch(model, optimizer, x, y)
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            torch.save(model, "model.pt")
        """
    )
    engine = textwrap.dedent(
        """
        from torch import nn


        def epoch(model, optimizer, x, y):
            loss = nn.functional.cross_entropy(model(x).softmax(1), y)
            loss.backward()
            optimizer.step()
        """
    )
    write("main.py", caller)
    write("engine.py", engine)
    assert set(told(scanned("engine.py"), "TDR201")) == {"engine.py"}
    assert told(scanned("engine.py"), "TDR601") == []
    assert told(scanned("main.py"), "TDR201") == ["engine.py"]
    assert told(scanned("main.py"), "TDR601") == ["main.py"]


def forever(watchdog: budgets.Watchdog) -> None:
    with watchdog.watching(0.01):
        while True:
            pass


def test_endings_that_were_sent_and_are_late_do_not_arrive() -> None:
    watchdog = budgets.Watchdog()
    for _ in range(20):
        with pytest.raises(budgets.OutOfTime):
            forever(watchdog)
    with watchdog.watching(0.3):
        time.sleep(0.5)  # it takes no time of the processor
    with pytest.raises(budgets.OutOfTime), watchdog.watching(0):
        forever(watchdog)
    watchdog.close()


PROFILED = """
import cProfile

from torch_doctor.static import budget


def forever(watchdog):
    with watchdog.watching(0.01):
        while True:
            pass


def run():
    watchdog = budget.Watchdog()
    try:
        forever(watchdog)
    except budget.OutOfTime:
        watchdog.close()
        print(sum(int() for _ in range(1000)))


cProfile.Profile().runcall(run)
"""


def test_a_run_that_was_ended_goes_on_under_a_profiler() -> None:
    ended = subprocess.run([sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "0\n"


def test_a_watchdog_that_has_nothing_to_watch_ends_and_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "_TICK", 0.01)
    watchdog = budgets.Watchdog()
    for _ in range(2):
        before = threading.enumerate()
        with watchdog.watching(100):
            (begun,) = [thread for thread in threading.enumerate() if thread not in before]
        begun.join(20)
        assert not begun.is_alive()
