"""Scripts that work against the probe: its verdicts stay right or are not there, and nothing of it is left behind."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.probe.test_bad_scripts import BUG, misbehaves
from torch_doctor.probe.agent.guard import fence

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
        "bytes to the probe's file descriptor; they were ignored",
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
TRIES = """
import os, torch
HERE = os.path.dirname(os.path.abspath(__file__))
OUT, DATA = os.path.dirname(HERE), os.path.join(HERE, "data.txt")
def attempt(name, does):
    try:
        exec(does, {"torch": torch, "os": os, "HERE": HERE, "OUT": OUT, "DATA": DATA})
    except BaseException as error:
        print("not done:", name, repr(error))
    else:
        print("done:", name)
"""
IN_THE_OVERLAY = {
    "commands": """
import subprocess
subprocess.run(['cp', DATA, OUT + '/copy'], check=True)
subprocess.run(f'rm {OUT}/copy && mkdir -p {OUT}/p/q; echo x > {OUT}/p/q/r 2>&1', shell=True, check=True)
assert open(OUT + '/p/q/r').read() == 'x\\n' and not os.path.exists(OUT + '/copy')
assert subprocess.check_output(f'cat {OUT}/p/q/r | grep -c x', shell=True, text=True) == '1\\n'
assert subprocess.call(['grep', 'y', OUT + '/p/q/r']) == 1 == subprocess.call(['rm', OUT + '/none'])
assert os.system(f'mv {OUT}/p {OUT}/z && ls {OUT}/z') == 0 and os.popen(f'ls {OUT}/z').read() == 'q\\n'
""",
    "a mode by descriptor": "os.fchmod(os.open(DATA, os.O_RDONLY), 0o600); assert os.stat(DATA).st_mode & 0o777 == 0o600",
    "a date by descriptor": "os.utime(os.open(DATA, os.O_RDONLY), (1, 1)); assert os.stat(DATA).st_mtime == 1",
    "a descriptor opened again": "open(f'/proc/self/fd/{os.open(DATA, os.O_RDONLY)}', 'w').write('gone')",
    "a name in a folder": "os.rename('data.txt', 'b', src_dir_fd=(d := os.open(HERE, os.O_RDONLY)), dst_dir_fd=d)",
    "a link in a folder": "os.link('train.py', 'c', src_dir_fd=(d := os.open(HERE, os.O_RDONLY)), dst_dir_fd=d)",
    "a relative path": "os.chdir(OUT); open('relative.txt', 'w').write('x'); os.chdir(HERE)",
    "shared memory by path": "open('/dev/shm/torch-doctor-attack', 'w').write('x')",
    "a pipe": "os.mkfifo(OUT + '/pipe')",
    "a moved folder": "import shutil; os.makedirs(OUT + '/new/in'); shutil.move(OUT + '/new', OUT + '/moved'); shutil.rmtree(OUT)",
    "a mapped file": "import mmap; f = open(OUT + '/m', 'w+b'); f.truncate(9); mmap.mmap(f.fileno(), 9)[:1] = b'x'",
    "a database by URI": "import sqlite3; sqlite3.connect(f'file:{OUT}/a?mode=rwc', uri=True).execute('create table x(y)')",
    "a shelf": "import shelve; shelve.open(OUT + '/shelf', 'c')['x'] = 'y'",
    "a shared tensor": "torch.from_file(OUT + '/tensor', shared=True, size=10).fill_(3)",
    "a profile": "with torch.autograd.profiler.profile() as p: torch.zeros(3)\np.export_chrome_trace(OUT + '/trace.json')",
    "a checkpoint": "torch.save({'a': 1}, OUT + '/s.pt'); assert torch.load(OUT + '/s.pt') == {'a': 1}",
    "a writer of torch": "torch._C.PyTorchFileWriter(OUT + '/w.pt').write_end_of_file()",
    "a temporary file": """
import tempfile
with tempfile.TemporaryFile(dir=OUT) as nameless, tempfile.NamedTemporaryFile(dir=OUT, delete=False) as file:
    assert nameless.write(b"x") == file.write(b"x")
os.replace(file.name, OUT + '/kept')
assert open(OUT + '/kept').read() == 'x'
""",
    "a script of the project": """
import subprocess, sys
open(HERE + '/other.py', 'w').write("import sys; open(sys.argv[1], 'w').write('x'); print(__name__); sys.exit(3)")
done = subprocess.run([sys.executable, HERE + '/other.py', OUT + '/by-other'], capture_output=True, text=True)
assert (done.returncode, done.stdout, open(OUT + '/by-other').read()) == (3, '__main__\\n', 'x')
""",
    "a service": "import socket; s = socket.create_server(('127.0.0.1', 0)); assert s.getsockname()[1]",
    "a vocabulary": """
from tokenizers.models import Model
folder = OUT + '/vocabulary'
os.mkdir(folder)
assert Model().save(folder) == [folder + '/vocab.json']
assert open(folder + '/vocab.json').read() == '{}'
""",
}
TOKENIZERS = """
import _io
class Model:
    def save(self, folder, prefix=None):
        with _io.FileIO(f"{folder}/vocab.json", "w") as file:
            file.write(b"{}")
        return [f"{folder}/vocab.json"]
"""
REFUSED = {
    "a mode past the overlay": "import posix; posix.fchmod(os.open(DATA, os.O_RDONLY), 0o611)",
    "a link past the overlay": "import posix; posix.symlink(DATA, OUT + '/link')",
    "an opener past the overlay": "import posix; open(DATA, 'w', opener=posix.open)",
    "a device": "open('/dev/mem', 'r+b')",
    "the C library": "import ctypes; ctypes.CDLL(None).unlink(DATA.encode())",
    "a fork of the C library": "import ctypes; ctypes.CDLL(None).fork()",
    "a fork": "os.fork()",
    "a pool": "import multiprocessing as m; m.get_context('forkserver').Process(target=print).start(); os.forkpty()",
    "a command": "import subprocess; subprocess.run(['shred', DATA])",
    "a command in a session": "import subprocess; subprocess.Popen(['yes'], start_new_session=True, env={})",
    "a command line": "import subprocess; subprocess.run(f'mkdir -p {OUT}/line && shred {DATA}', shell=True, check=True)",
    "a command in a command": "import subprocess; subprocess.run('echo $(touch ../touched)', shell=True, check=True)",
    "a command called as another": "import subprocess; subprocess.run([HERE + '/mkdir', 'x'], check=True)",
    "a command of the project": "import subprocess; subprocess.run([HERE + '/ps'])",
    "a setting of the GPU": "import subprocess; subprocess.run(['nvidia-smi', '-pm', '1'])",
    "another root": "os.chroot(HERE)",
    "the end of its parent": "os.kill(os.getppid(), 15)",
    "the end of its parent, past us": "import posix; posix.kill(os.getppid(), 15)",
    "the end of all": "os.kill(-1, 15)",
    "the end of its group": "os.killpg(os.getpgrp(), 15)",
    "the end by descriptor": "import signal; signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 15)",
    "a connection": "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
    "a connection of http": "import http.client; http.client.HTTPConnection('192.0.2.1').request('GET', '/')",
    "a name": "import socket; socket.getaddrinfo('example.org', 80)",
    "a packet": "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
    "a raw socket": "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a service of this machine": "import socket; socket.create_connection(('127.0.0.1', 22))",
    "a local service": "import socket; socket.socket(socket.AF_UNIX).bind(OUT + '/socket')",
    "a local connection": "import socket; socket.socket(socket.AF_UNIX).connect('/run/docker.sock')",
}
BY_THE_KERNEL = {
    "a database attached": """
import sqlite3
sqlite3.connect(':memory:').execute('attach ? as b', (OUT + '/b',)).execute('create table b.x(y)')
""",
    "a pipe past the overlay": "import posix; posix.mkfifo(OUT + '/pipe')",
    "a system call": "import ctypes; assert ctypes.CDLL(None).syscall(83, (OUT + '/folder').encode(), 0o755) == 0",
    "the output of a command": """
import subprocess
assert subprocess.call(['git', 'diff', '--no-index', f'--output={OUT}/x', DATA, '/dev/null']) < 2
""",
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


def fenced() -> bool:
    """Whether the kernel can hold back what goes past Python."""
    kernel = ctypes.CDLL(None)
    return sys.platform == "linux" and bool(
        kernel.syscall(fence.CREATE, None, ctypes.c_size_t(0), fence.VERSION) >= fence.LEAST
    )


ENDS = {
    "by an alarm": ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.1)\nwhile True: pass\n", "signal SIGALRM"),
    "by a recursion in C": (
        """
import functools, sys
sys.setrecursionlimit(10**9)
def again(*_):
    return functools.reduce(again, [1, 2, 3])
again()
""",
        "signal SIGSEGV",
    ),
    "with words for a terminal": (
        "raise ValueError('a\\x1b[2J\\nerror: forged\\r\\x00')\n",
        "ValueError: a\\x1b[2J error: forged\\r\\x00\n",
    ),
    "with last words for a terminal": (
        "import sys\nprint('\\x1b]0;title\\x07last')\nsys.exit(3)\n",
        "last line of output: \\x1b]0;title\\x07last\n",
    ),
    "with a command for a terminal": (
        "import os\nos.system('a\\x1b[2J\\nerror: forged')\nos._exit(4)\n",
        "blocked: the command `a\\x1b[2J\\nerror: forged`\n",
    ),
    "with a failing hook": (
        """
import atexit, sys, threading
def hook(*_):
    raise SystemExit(7)
sys.excepthook = threading.excepthook = sys.unraisablehook = hook
atexit.register(hook)
threading.Thread(target=lambda: sys.exit(3)).start()
raise ValueError("mine")
""",
        "fails on its own: ValueError: mine\n",
    ),
}
HANGS = {
    "stops.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
    "busy.py": "sum(range(10**13))\n",
    "exits.py": """
import atexit, threading
atexit.register(threading.Event().wait)
threading.Thread(target=threading.Event().wait).start()
""",
    "waits.py": """
import threading
class Waits(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, number):
        threading.Event().wait()
for batch in torch.utils.data.DataLoader(Waits(), batch_size=2, num_workers=2):
    pass
""",
    "sends.py": """
import signal, threading
for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGUSR1):
    signal.signal(number, lambda *_: None)
    signal.raise_signal(number)
for _ in range(400):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
while True:
    try:
        threading.Event().wait()
    except BaseException:
        pass
""",
}
SHARED = """
import multiprocessing, os, signal
from multiprocessing import resource_tracker, shared_memory
memory = shared_memory.SharedMemory(create=True, size=99)
resource_tracker.unregister(memory._name, "shared_memory")
lock = multiprocessing.get_context("spawn").Lock()
print("named", memory.name, lock._semlock.name, *os.listdir("/dev/shm"))
os.kill(os.getpid(), signal.SIGKILL)
"""
SHADOWS = (
    "json",
    "random",
    "traceback",
    "inspect",
    "fcntl",
    "resource",
    "hmac",
    "select",
    "shlex",
    "glob",
    "linecache",
)


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
    assert "reached 6 optimizer steps" in outcome.err
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
    assert "reached 6 optimizer steps" in outcome.err


def test_much_that_is_printed_is_no_reason_to_wait(misbehaves: Callable[..., Any]) -> None:
    outcome = misbehaves(BUG + "import os\nfor _ in range(200):\n    os.write(1, bytes(1 << 20))\n")
    assert "reached 6 optimizer steps" in outcome.err
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
    assert "[TDR101] missing-zero-grad" in outcome.out
    assert "an instrument failed" not in outcome.err


def test_what_a_script_writes_stays_in_the_overlay(misbehaves: Callable[..., Any]) -> None:
    Path("tokenizers").mkdir()
    Path("tokenizers/models.py").write_text(
        TOKENIZERS, encoding="utf-8"
    )  # writes past Python, as what is written in Rust
    outcome = attempted(misbehaves, IN_THE_OVERLAY)
    assert "not done" not in outcome.err, [each for each in outcome.err.splitlines() if "not done" in each]
    assert outcome.err.count("done:") == len(IN_THE_OVERLAY)
    assert not Path("/dev/shm/torch-doctor-attack").exists()  # noqa: S108 - nobody made it


def test_what_leaves_the_script_is_refused(misbehaves: Callable[..., Any]) -> None:
    Path("ps").write_text("#!/bin/sh\ntouch ../touched\n", encoding="utf-8")
    Path("ps").chmod(0o755)
    Path("mkdir").write_text("#!/bin/sh\ntouch ../touched\n", encoding="utf-8")
    Path("mkdir").chmod(0o755)
    outcome = attempted(misbehaves, REFUSED)
    assert outcome.err.count("not done:") == len(REFUSED)
    assert outcome.err.count("blocked: ") >= len(REFUSED) - 4


@pytest.mark.skipif(not fenced(), reason="the system has no Landlock")
def test_what_goes_past_python_is_held_back_by_the_kernel(misbehaves: Callable[..., Any]) -> None:
    outcome = attempted(misbehaves, BY_THE_KERNEL)
    assert outcome.err.count("not done:") == len(BY_THE_KERNEL)


def attempted(misbehaves: Callable[..., Any], tries: dict[str, str]) -> Any:
    """What comes of a script that tries each of these."""
    calls = "".join(f"attempt({name!r}, {does!r})\n" for name, does in tries.items())
    return misbehaves(TRIES + calls, "--probe-output")


@pytest.mark.parametrize(("last", "said"), ENDS.values(), ids=list(ENDS))
def test_how_a_script_ends_is_told(misbehaves: Callable[..., Any], last: str, said: str) -> None:
    outcome = misbehaves(BUG + last)
    assert "confirmed" in outcome.out
    assert said in outcome.err
    assert outcome.err.isprintable() or set(outcome.err) - {"\n"} == {
        each for each in outcome.err if each.isprintable()
    }


def test_scripts_that_hear_nothing_are_ended(misbehaves: Callable[..., Any]) -> None:
    for name, script in HANGS.items():
        Path(name).write_text(BUG + script, encoding="utf-8")
    outcome = misbehaves(BUG, *HANGS, "--probe-timeout", "4", "--jobs", str(len(HANGS) + 1))
    assert outcome.out.count("confirmed") >= 1 + len(HANGS)
    for name in HANGS:
        assert f"{name} did not finish within 4 s and was stopped" in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere shared memory is not to be seen")
def test_no_shared_memory_is_left_of_one_that_is_killed(misbehaves: Callable[..., Any]) -> None:
    outcome = misbehaves(BUG + SHARED, "--probe-output")
    memory, lock, *there = next(line for line in outcome.err.splitlines() if line.startswith("named ")).split()[1:]
    assert memory in there
    left = os.listdir("/dev/shm")  # noqa: S108, PTH208 - where Linux has it
    assert memory not in left
    assert f"sem.{lock.strip('/')}" not in left
    assert "signal SIGKILL" in outcome.err


def test_modules_of_the_project_are_not_those_of_the_agent(misbehaves: Callable[..., Any]) -> None:
    for name in SHADOWS:
        Path(f"{name}.py").write_text("raise RuntimeError('not for you')\n", encoding="utf-8")
    outcome = misbehaves(BUG)
    assert "confirmed" in outcome.out
    assert "not for you" not in outcome.err
