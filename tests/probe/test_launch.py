"""A process that runs a script: listened to, kept within its limits, and ended with all that it started."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe import launch
from torch_doctor.probe.following import Attention, Nobody, Stop
from torch_doctor.probe.inherited import environment
from torch_doctor.probe.launch import Launched, Limits, launched
from torch_doctor.probe.output import MOST_SHOWN
from torch_doctor.probe.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = f"""
import json, os, signal, subprocess, sys, time
sys.path.insert(0, {str(launch.AGENT)!r})
from packets import Packer, key_of
del sys.path[0]
plan = json.load(open(sys.argv[sys.argv.index("--plan") + 1]))
descriptor = int(sys.argv[sys.argv.index("--fd") + 1])
packer = Packer(key_of(plan["secret"]))
def say(text):
    for packet in packer.packets(text.encode()):
        os.write(descriptor, packet)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Launched]:
    """Launches an agent that does what it is told, in place of ours."""

    def run_agent(
        does: str, attention: Attention | None = None, *, seconds: float = 20.0, memory: int = 1024 << 20, **limits: int
    ) -> Launched:
        agent = tmp_path / "agent"
        agent.mkdir(exist_ok=True)
        (agent / "__main__.py").write_text(AGENT + does, encoding="utf-8")
        monkeypatch.setattr(launch, "AGENT", agent)
        with scratch_folder() as scratch:
            plan = {"scratch": str(scratch), "cwd": str(tmp_path)}
            return launched(Path(sys.executable), plan, Limits(seconds=seconds, memory=memory, **limits), attention)

    return run_agent


def gone(process: int) -> bool:
    """Whether a process has ended, a little after it was told to."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_lines_output_and_status_come_back(run: Callable[..., Launched]) -> None:
    done = run("say('one\\ntwo\\n'); print('hello'); print('oh', file=sys.stderr); sys.exit(3)")
    assert done.lines == [b"one", b"two"]
    assert sorted(done.output.text().split()) == ["hello", "oh"]
    assert (done.status, done.ended_for) == (3, "")
    assert 0 < done.seconds < 20


def test_a_line_that_was_not_finished_is_left_out(run: Callable[..., Launched]) -> None:
    assert run("say('one\\ntw'); os._exit(0)").lines == [b"one"]


def test_the_script_reads_nothing_and_writes_into_the_scratch_folder(run: Callable[..., Launched]) -> None:
    done = run(
        "import tempfile; say(repr(sys.stdin.read()) + ' ' + tempfile.gettempdir() + ' ' + plan['scratch'] + '\\n')"
    )
    stdin, temporary, scratch = done.lines[0].decode().split()
    assert stdin == "''"
    assert Path(temporary) == Path(scratch, "tmp")
    assert not Path(scratch).exists()


def test_one_that_never_ends_is_ended(run: Callable[..., Launched]) -> None:
    done = run("say(f'{os.getpid()}\\n')\nwhile True: time.sleep(1)", seconds=1.0)
    assert done.ended_for == "time"
    assert done.status < 0
    assert done.seconds < 10
    assert gone(int(done.lines[0]))


def test_one_that_will_not_be_asked_is_ended_all_the_same(run: Callable[..., Launched]) -> None:
    done = run("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)", seconds=1.0)
    assert done.ended_for == "time"
    assert done.status == -9


def test_one_that_takes_too_much_memory_is_ended(run: Callable[..., Launched]) -> None:
    done = run("held = []\nwhile True:\n    held.append(b'x' * (8 << 20)); time.sleep(0.01)", memory=200 << 20)
    assert done.ended_for == "memory"
    assert done.peak > 200 << 20


def test_one_that_starts_too_many_processes_is_ended(run: Callable[..., Launched]) -> None:
    done = run("for _ in range(20):\n    os.fork() or time.sleep(60)\ntime.sleep(60)", processes=12)
    assert done.ended_for == "processes"


def test_one_that_writes_too_much_is_ended(run: Callable[..., Launched]) -> None:
    does = "file = open(plan['scratch'] + '/big', 'wb')\nwhile True: file.write(bytes(1 << 22)); time.sleep(0.02)"
    done = run(does, written=40 << 20)
    assert done.ended_for == "written"


class Impatient(Nobody):
    """Ends a run as soon as it says what it is at, and again once it did."""

    listens = True

    def __init__(self, stop: Stop, *, twice: bool = False) -> None:
        self.stop, self.twice = stop, twice
        self.heard: list[str] = []

    def doing(self, script: str, activity: str, left: float) -> None:
        assert script == "train.py"
        assert 0 < left < 20
        self.heard.append(activity)
        if activity == "here":
            self.stop.ask()
            if self.twice:
                self.stop.ask()


HERE = """say('{"t":"doing","what":"here"}\\n')\n"""


def test_one_that_is_interrupted_still_tells_what_it_saw(run: Callable[..., Launched]) -> None:
    stop = Stop()
    follower = Impatient(stop)
    does = "signal.signal(signal.SIGINT, lambda *_: (say('seen\\n'), os._exit(75)))\n" + HERE + "time.sleep(60)"
    done = run(does, attention=Attention("train.py", follower, stop))
    assert (done.ended_for, done.status, done.lines[-1]) == ("interrupt", 75, b"seen")
    assert "here" in follower.heard


def test_who_is_asked_twice_does_not_wait_for_that(run: Callable[..., Launched]) -> None:
    stop = Stop()
    does = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + HERE + "time.sleep(60)"
    done = run(does, attention=Attention("train.py", Impatient(stop, twice=True), stop))
    assert (done.ended_for, done.status) == ("interrupt", -9)
    assert done.seconds < launch.TO_THE_POINT


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere its end is looked for now and then")
def test_the_end_of_one_that_says_no_more_is_noticed_at_once(
    run: Callable[..., Launched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "GLANCE", 15.0)
    assert run("os.close(1); os.close(2); os.close(descriptor); time.sleep(0.5)").seconds < 12


@pytest.mark.parametrize(
    "away",
    [
        "",
        "start_new_session=True",
        "preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "start_new_session=True, env={}",
    ],
    ids=["same group", "own session", "deaf", "unknown"],
)
def test_what_it_started_ends_with_it(run: Callable[..., Launched], away: str) -> None:
    done = run(f"child = subprocess.Popen(['sleep', '60'], {away}); say(f'{{child.pid}}\\n'); time.sleep(0.5)")
    assert (done.status, done.ended_for) == (0, "")
    assert gone(int(done.lines[0]))


def test_a_grandchild_whose_parent_ended_ends_too(run: Callable[..., Launched]) -> None:
    does = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        say(f"{os.getpid()}\\n")
        time.sleep(60)
    os._exit(0)
os.wait(); time.sleep(0.3)
"""
    (line,) = run(does).lines
    assert gone(int(line))


def test_much_output_is_cut_in_its_middle(run: Callable[..., Launched]) -> None:
    text = run(
        "print('first'); print('x' * 80, end='\\n' * 1) or [print('y' * 99) for _ in range(30_000)]; print('last')"
    )
    shown = text.output.text()
    assert shown.startswith("first\n")
    assert shown.endswith("last\n")
    assert "bytes left out]" in shown
    assert len(shown) < 3 * MOST_SHOWN


def test_output_that_is_no_text_is_shown_as_far_as_it_can_be(run: Callable[..., Launched]) -> None:
    assert run("sys.stdout.buffer.write(b'\\xff\\x00ok\\n')").output.text() == "\ufffd\x00ok\n"


def test_a_dead_agent_is_no_error(run: Callable[..., Launched]) -> None:
    done = run("os.kill(os.getpid(), signal.SIGKILL)")
    assert (done.status, done.lines) == (-9, [])


def test_an_interpreter_that_cannot_be_started_is_an_os_error(tmp_path: Path) -> None:
    with scratch_folder() as scratch, pytest.raises(OSError, match="nothing"):
        launched(tmp_path / "nothing", {"scratch": str(scratch), "cwd": str(tmp_path)}, Limits())


def test_nothing_of_ours_stays_open(run: Callable[..., Launched]) -> None:
    run("pass")
    before = set(Path("/proc/self/fd").iterdir())
    run("pass")
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_the_scratch_folder_goes_away_whatever_was_made_of_it() -> None:
    with scratch_folder() as scratch:
        locked = scratch / "a" / "b"
        locked.mkdir(parents=True)
        (locked / "file").write_text("", encoding="ascii")
        (scratch / "link").symlink_to(Path.home())
        locked.chmod(0)
        (scratch / "a").chmod(0)
    assert not scratch.exists()
    assert Path.home().exists()


def test_threads_that_wait_give_their_core_to_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("KMP_BLOCKTIME", "9")
    given = environment(tmp_path, "token", 0)
    assert (given["OMP_WAIT_POLICY"], given["KMP_BLOCKTIME"]) == ("PASSIVE", "9")
