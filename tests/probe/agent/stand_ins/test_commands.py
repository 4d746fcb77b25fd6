"""Commands that scripts run, and connections that they open: the probe answers what it knows, and refuses the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1)).backward()
    optimizer.step()
"""
ANSWERED = {
    "git without a repository": (
        """
revision = subprocess.check_output(['git', 'rev-parse', 'HEAD']).decode().strip()
assert len(revision) == 40
assert subprocess.getoutput('git rev-parse --abbrev-ref HEAD | cat') == 'main'
""",
        "not a git repository",
    ),
    "free memory": (
        """
out = subprocess.check_output('nvidia-smi --query-gpu=index,memory.free --format=csv,nounits,noheader', shell=True)
assert [int(each) for each in out.decode().split(',')] == [0, 16384]
os.system('nvidia-smi -q -d Memory |grep -A4 GPU|grep Free >tmp')
assert [int(line.split()[2]) for line in open('tmp')] == [16384]
""",
        "the figures of an idle GPU instead of `nvidia-smi`",
    ),
    "downloads": (
        """
os.system('wget -q https://example.org/a/words.txt -P data; curl https://example.org/x.zip -o x.zip && unzip -q x.zip')
assert len(open('data/words.txt').readlines()) > 9 and os.path.exists('README.txt')
""",
        "instead of `https://example.org/a/words.txt`",
    ),
    "pip": (
        """
subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'einops'])
assert b'Version: ' in subprocess.check_output(['pip', 'show', 'torch'])
""",
        "nothing instead of `pip install einops`",
    ),
    "a long text": (
        """
open("long.txt", "w").write("words\\n" * 40_000)
assert len(subprocess.check_output(["cat", "long.txt"])) == 240_000
assert subprocess.run("cat long.txt | wc -l", shell=True, capture_output=True, text=True).stdout.strip() == "40000"
with subprocess.Popen(["cat", "long.txt"], stdout=subprocess.PIPE) as other:
    assert other.stdout.readline() == b"words\\n"
""",
        "",
    ),
    "a board": (
        """
board = subprocess.Popen(['tensorboard', '--logdir', 'runs'])
board.terminate()
assert board.wait() == 0
""",
        "nothing instead of `tensorboard --logdir runs`",
    ),
    "a port": (
        """
import socket
with socket.socket() as free:
    free.bind(('', 0)); free.listen(1); port = free.getsockname()[1]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    own.connect(('192.0.2.1', 80)); own.getsockname()
try:
    socket.create_connection(('localhost', port), timeout=1)
except ConnectionRefusedError:
    pass
""",
        "blocked: listening at",
    ),
    "what is refused and not needed": (
        """
subprocess.run(['make', 'all'])
os.system('./compile.sh')
""",
        "blocked: the command `make all`",
    ),
}


@pytest.mark.parametrize(("commands", "said"), ANSWERED.values(), ids=list(ANSWERED))
def test_a_command_is_answered_and_says_nothing_of_the_data(
    run: Any, write: Callable[..., Any], folder: Any, monkeypatch: pytest.MonkeyPatch, commands: str, said: str
) -> None:
    if "nvidia" in commands:
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    write("train.py", f"import os, subprocess, sys\n{commands}{TRAIN}")
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert said in err
    assert "fails" not in err
    assert "placeholder" not in err
    assert entries(folder) == ["train.py"]


def test_a_launcher_trains_in_this_process(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", TRAIN + "\nimport sys\nassert sys.argv[1:] == ['--lr', '0.1'] and __name__ == '__main__'\n")
    write(
        "sweep.py",
        """
import subprocess, sys
for rate in ("0.1",):
    subprocess.run([sys.executable, "-u", "train.py", "--lr", rate], check=True)
assert sys.argv[1:] == []
""",
    )
    err = run("scan", "sweep.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert "a run in this process instead of" in err
    assert "fails" not in err
