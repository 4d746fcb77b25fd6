"""Scripts that work against the probe: its verdicts stay right or are not there, and nothing of it is left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.probe.test_bad_scripts import BUG, misbehaves

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["misbehaves"]

pytestmark = pytest.mark.usefixtures("farm")

LOOP = "for number in range(6):\n"
EVENTS = """
import os
LINES = (
    b'{"t":"event","e":"ZeroGrad","at":1,"in":0,"name":"optimizer","optimizer":1}\\n'
    b'{"t":"ended","how":"exit","status":9}\\n'
)
"""
CONFIRMED = {
    "writes events to all that is open": (
        EVENTS
        + """
import posix, threading
for number in range(3, 4200):
    try:
        os.write(number, LINES * 3 + b'{"t":"ev')
    except OSError:
        pass
for process in ("self", os.getppid()):
    for number in os.listdir(f"/proc/{process}/fd"):
        for opens in (os.open, posix.open):
            try:
                os.write(opens(f"/proc/{process}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK), LINES)
            except OSError:
                pass
def goes_on():
    while True:
        for number in (300, 4000):
            os.write(number, LINES * 300)
threading.Thread(target=goes_on, daemon=True).start()
""",
        "bytes to a descriptor that the probe tells of it through; they were left out",
    ),
    "writes events through what it finds of the agent": (
        EVENTS
        + """
import gc, sys
for each in gc.get_objects():
    if type(each).__name__ == "Channel":
        each.write(t="ended", how="exit", status=9)
        each.write_text(LINES.decode())
    if type(each).__name__ == "Recorder":
        each.event("ZeroGrad", each.here(), optimizer=1)
        each.measured("old gradients", 0.0)
""",
        "",
    ),
    "closes all that is open": (
        """
import os
os.closerange(3, 1000)
os.closerange(3, 1 << 20)
nothing = os.open(os.devnull, os.O_WRONLY)
for number in range(3, 5000):
    try:
        os.close(number) if number % 2 else os.dup2(nothing, number)
    except OSError:
        pass
""",
        "",
    ),
    "has writes fail that would wait": (
        """
import os
for number in os.listdir("/proc/self/fd"):
    try:
        os.set_blocking(int(number), False)
    except OSError:
        pass
""",
        "",
    ),
    "traces itself": (
        """
import gc, sys, warnings
sys.setprofile(lambda *_: None)
sys.settrace(lambda *_: None)
gc.disable()
sys.setrecursionlimit(10**9)
warnings.simplefilter("error")
""",
        "",
    ),
    "limits itself": (
        """
import os, resource
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS):
    resource.setrlimit(limit, (3, resource.getrlimit(limit)[1]))
os.umask(0o777)
os.environ.clear()
""",
        "",
    ),
    "replaces clocks and threads": (
        """
import threading, time
time.monotonic = time.time = time.sleep = time.perf_counter = lambda *_: 0.0
threading.main_thread = threading.current_thread = threading.get_ident = None
""",
        "",
    ),
    "replaces all builtins": ("__builtins__ = {'range': range}\n", ""),
    "prints to what cannot be printed to": (
        """
import sys
class Hostile:
    def __getattr__(self, name):
        raise KeyError(name)
sys.stdout = sys.stderr = Hostile()
""",
        "",
    ),
}
CLEARED = ("", "    optimizer.zero_grad()\n")
"""What a loop begins with that has the bug of `BUG`, and one that has not."""
UNKNOWN = {
    "closes all behind our back": "import posix\nposix.closerange(3, 1 << 20)\n",
    "makes its own file of all that is open": """
import os, posix
own = os.open("own.txt", os.O_WRONLY | os.O_CREAT)
for number in range(3, 5000):
    posix.dup2(own, number)
""",
    "forgets all modules": "import sys\nsys.modules.clear()\n",
    "replaces what everybody calls": """
import builtins
for name in ("len", "isinstance", "getattr", "print", "open", "__import__", "id", "type", "sorted"):
    setattr(builtins, name, None)
""",
    "hides what tensors have": """
def hidden(tensor, name):
    raise RuntimeError(name)
torch.Tensor.__getattribute__ = hidden
""",
}


def scripted(attack: str, *, cleared: str = "") -> str:
    """A script that attacks before it trains."""
    return BUG.replace(LOOP, f"{attack}\n{LOOP}{cleared}")


@pytest.mark.parametrize(("attack", "said"), CONFIRMED.values(), ids=list(CONFIRMED))
def test_a_script_cannot_keep_its_bug_from_being_confirmed(
    misbehaves: Callable[..., Any], attack: str, said: str
) -> None:
    outcome = misbehaves(scripted(attack))
    assert "confirmed" in outcome.out
    assert said in outcome.err
    assert "came to 6 updates" in outcome.err
    assert "status" not in outcome.err


@pytest.mark.parametrize("attack", UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_cannot_be_seen_any_more_is_neither_confirmed_nor_refuted(
    misbehaves: Callable[..., Any], attack: str
) -> None:
    for cleared in CLEARED:
        outcome = misbehaves(scripted(attack, cleared=cleared))
        assert "confirmed" not in outcome.out + outcome.err
        assert "refuted" not in outcome.out + outcome.err
        assert ("TDR101" in outcome.out) == (not cleared)
        assert outcome.err


def test_forged_events_accuse_nobody(misbehaves: Callable[..., Any]) -> None:
    attack = CONFIRMED["writes events to all that is open"][0].replace('"ZeroGrad"', '"Backward"')
    outcome = misbehaves(scripted(attack, cleared="    optimizer.zero_grad()\n"))
    assert outcome.status == 0
    assert "came to 6 updates" in outcome.err


def test_much_that_is_printed_is_no_reason_to_wait(misbehaves: Callable[..., Any]) -> None:
    outcome = misbehaves(BUG + "import os\nfor _ in range(200):\n    os.write(1, bytes(1 << 20))\n")
    assert "came to 6 updates" in outcome.err
    assert "confirmed" in outcome.out


def test_updates_by_hand_leave_no_doubt(misbehaves: Callable[..., Any]) -> None:
    by_hand = """
def step(self, closure=None):
    with torch.no_grad():
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(group["lr"] * parameter.grad)
torch.optim.SGD.step = step
"""
    outcome = misbehaves(scripted(by_hand))
    assert "TDR101 missing-zero-grad" in outcome.out
    assert "an instrument failed" not in outcome.err
