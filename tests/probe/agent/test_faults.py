"""What the agent does wrong is not what the script does wrong: it goes on, nothing is judged, and it is told whose fault it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.agent.faults import is_ours
from torch_doctor.probe.agent.watching.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any
Write = Any

AGENT = Path(is_ours.__code__.co_filename).parent
SABOTAGE = """
import sys
import torch

def broken(*arguments, **keywords):
    raise KeyError("sabotaged")

broken.__code__ = broken.__code__.replace(co_filename=sys.modules["_torch_doctor_agent.recorder"].__file__, co_firstlineno=1)
for module, owner, name in {what}:
    setattr(getattr(sys.modules["_torch_doctor_agent." + module], owner), name, broken)
"""
SCRIPT = """
import threading
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rows = torch.randn(16, 4)
data = TensorDataset(rows, rows.sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    for inputs, targets in DataLoader(data, batch_size=8, num_workers=1):
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
    print("the loss:", loss.item())
    torch.autograd.grad(model(rows).sum(), list(model.parameters()))


train()
thread = threading.Thread(target=train)
thread.start()
thread.join()
print("done")
"""
PARTS = [
    ("instruments.update.parameters", "Instrument", "_runs"),  # a hook of every forward
    ("instruments.update.parameters", "Instrument", "on_backward"),
    ("watching.update.optimizers", "Watcher", "_about_to_step"),
    ("watching.update.gradients", "Watcher", "look"),  # before each backward pass
    ("watching.module.modules", "Watcher", "family"),  # in a replaced function
    ("watching.marks", "Marks", "tensors"),
    ("recorder", "Recorder", "event"),
    ("recorder", "Recorder", "here"),
]


@pytest.fixture
def sabotaged(run: Run, write: Write) -> Callable[..., Any]:
    """Probes the script while parts of the agent raise what they never should."""

    def outcome(*what: tuple[str, str, str]) -> Any:
        write("train.py", SABOTAGE.replace("{what}", repr(what)) + SCRIPT)
        return run("scan", "train.py", "--probe", "--isolated", "--probe-output")

    return outcome


def test_a_script_goes_on_where_instruments_fail(sabotaged: Callable[..., Any]) -> None:
    whole = [line for line in sabotaged().err.splitlines() if line.startswith("the loss:")]
    outcome = sabotaged(*PARTS)
    assert [line for line in outcome.err.splitlines() if line.startswith("the loss:")] == whole
    assert len(whole) == 2
    assert "\ndone\n" in outcome.err
    assert "an instrument failed: KeyError: 'sabotaged'" in outcome.err
    assert "fails" not in outcome.err
    assert "confirmed" not in outcome.out
    assert "refuted" not in outcome.out
    assert "TDR101" in outcome.out


def test_a_failure_that_ends_the_run_is_not_called_the_scripts(sabotaged: Callable[..., Any]) -> None:
    outcome = sabotaged(("recorder", "Recorder", "rests"))
    assert "train.py was stopped by an internal error of the probe, not by the script; please report it" in outcome.err
    assert "an instrument failed: KeyError: 'sabotaged'" in outcome.err
    assert "fails" not in outcome.err
    assert "confirmed" not in outcome.out
    assert "TDR101" in outcome.out


CLEARED_ELSEWHERE = SCRIPT.replace(
    "        optimizer.step()\n",
    "        optimizer.step()\n        other = threading.Thread(target=clear)\n        other.start()\n        other.join()\n",
).replace("def train", "def clear():\n    for p in model.parameters():\n        p.grad = None\n\n\ndef train")


def test_gradients_that_several_threads_change_leave_all_undecided(run: Run, write: Write) -> None:
    write("train.py", CLEARED_ELSEWHERE)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "train.py: several threads change gradients, so steps cannot be attributed to them" in outcome.err
    assert "confirmed" not in outcome.out
    assert "refuted" not in outcome.out


class Sites:
    """The user's files are those of no package."""

    def is_users(self, path: str) -> bool:
        """Whether a file is the user's."""
        return path == "train.py"


def raised(source: str, *files: str) -> BaseException:
    """What a chain of functions raises, each in one of the files, and the last of which does `source`."""
    namespace: dict[str, Any] = {"last": lambda: None}
    for number, file in enumerate(reversed(files)):
        body = "last()" if number else source
        text = "\n" * 10_000 + f"def last(last=last):\n    {body}\n"  # behind the lines that the file has
        exec(compile(text, file, "exec"), namespace)  # noqa: S102 - ours
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - any
        namespace["last"]()
    return caught.value


WATCHER = str(AGENT / "watching" / "watch.py")
STAND_IN = str(AGENT / "stand_ins" / "files.py")
TORCH = "torch/functional.py"


@pytest.mark.parametrize("chain", [("train.py", TORCH), ("train.py", STAND_IN), ("train.py", WATCHER, "train.py")])
def test_an_exception_is_the_scripts_own(chain: tuple[str, ...]) -> None:
    assert not is_ours(raised("raise ValueError('mine')", *chain), Sites())  # type: ignore[arg-type]


def lines(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Has every line of every file read so."""
    monkeypatch.setattr("linecache.getline", lambda *_: text)


@pytest.mark.parametrize("call", ["result = original(*arguments, **keywords)", "build(this, *arguments, **keywords)"])
def test_what_a_replaced_function_raises_is_the_scripts(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    lines(monkeypatch, f"    {call}\n")
    assert not is_ours(raised("raise ValueError('torch')", "train.py", WATCHER, TORCH), Sites())  # type: ignore[arg-type]


def test_what_a_watcher_raises_or_asks_torch_in_vain_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    lines(monkeypatch, "    largest = float(numbers.max())\n")
    assert is_ours(raised("raise ValueError('ours')", "train.py", WATCHER, TORCH), Sites())  # type: ignore[arg-type]
    assert is_ours(raised("raise ValueError('ours')", "train.py", TORCH, WATCHER), Sites())  # type: ignore[arg-type]


def test_a_compiler_that_names_the_agent_did_not_fail_on_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    lines(monkeypatch, "    return original(*arguments, **keywords)\n")
    error = raised(f"raise ValueError('cannot read {WATCHER}, line 3')", "train.py", WATCHER, TORCH)
    assert is_ours(error, Sites())  # type: ignore[arg-type]


def test_hooks_tell_of_what_they_raise_and_rest_while_code_is_read() -> None:
    failed: list[Exception] = []
    registered: list[Any] = []

    class Handle:
        def remove(self) -> None:
            registered.clear()

    def register(function: Any) -> Handle:
        registered.append(function)
        return Handle()

    def look(thing: str) -> None:
        raise ValueError(thing)

    patches = Patches(failed.append)
    hook = patches.hook(register, look)
    registered[0]("a layer")
    assert [str(error) for error in failed] == ["a layer"]
    with patches.suspended():
        assert registered == []
    assert len(registered) == 1
    hook.remove()
    with patches.suspended():
        assert registered == []
    assert registered == []
