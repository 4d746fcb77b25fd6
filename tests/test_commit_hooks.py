"""What the hooks say of a commit: real pre-commit and real git, with the entries of the hooks that are shipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from pre_commit.clientlib import load_manifest

from tests.repositories import IDENTITY, clean_environment, commit, git, init

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
NETS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return torch.softmax(self.fc(x), dim=1)
"""
"""Its softmax is right, unless somebody gives its output to cross-entropy."""
TRAIN = """\
import torch
from torch import nn

from helper import score
from nets import Net

model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(8, 4), torch.rand(8)), shuffle=True)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y.long())
    loss.backward()
    optimizer.step()
score(model)
"""
HELPER = "import torch\n\ndef score(model):\n    model.eval\n    return model(torch.rand(1, 4))\n"
"""It has one finding, TDR111, that concerns nobody else."""
GOOD = HELPER.replace("model.eval\n", "model.eval()\n")


class Hooked(NamedTuple):
    """A repository in which commits go through a hook."""

    path: Path
    environment: dict[str, str]

    def commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Try to commit what is staged."""
        command = ["git", *IDENTITY, "commit", "--message", "change", *arguments]
        return subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False, env=self.environment)

    def write(self, name: str, text: str, *, staged: bool = True) -> None:
        """Write a file, and stage it."""
        (self.path / name).write_text(text, encoding="utf-8")
        if staged:
            git(self.path, "add", name)

    def read(self, name: str) -> str:
        """What a file holds."""
        return (self.path / name).read_text(encoding="utf-8")

    @property
    def staged(self) -> list[str]:
        """What `git status` says of the files that have changed."""
        return git(self.path, "status", "--porcelain", "--untracked-files=no").splitlines()


@pytest.fixture
def hooked(tmp_path: Path) -> Callable[[str], Hooked]:
    """Makes a repository whose commits go through one of our hooks, with the environment that runs these tests."""

    def make(hook: str) -> Hooked:
        (shipped,) = (each for each in load_manifest(ROOT / ".pre-commit-hooks.yaml") if each["id"] == hook)
        entry = shipped["entry"].replace("torch-doctor", f"{sys.executable} -m torch_doctor", 1)
        kept = {key: shipped[key] for key in ("id", "name", "types_or", "require_serial")}
        config = {"repos": [{"repo": "local", "hooks": [{**kept, "entry": entry, "language": "system"}]}]}
        init(tmp_path / "project")
        commit(tmp_path / "project", {".pre-commit-config.yaml": json.dumps(config)})
        paths = os.pathsep.join(str(ROOT / name) for name in ("doctor", "rules"))
        environment = clean_environment(
            PRE_COMMIT_HOME=str(tmp_path / "home"), PRE_COMMIT_COLOR="never", PYTHONPATH=paths, PYTHONWARNINGS=""
        )
        install = [sys.executable, "-m", "pre_commit", "install"]
        subprocess.run(install, cwd=tmp_path / "project", check=True, capture_output=True, env=environment)
        return Hooked(tmp_path / "project", environment)

    return make


@pytest.fixture
def checked(hooked: Callable[[str], Hooked]) -> Hooked:
    """A repository whose commits are looked at."""
    return hooked("torch-doctor")


@pytest.fixture
def mended(hooked: Callable[[str], Hooked]) -> Hooked:
    """A repository whose commits are mended."""
    return hooked("torch-doctor-fix")


def accepted(done: subprocess.CompletedProcess[str]) -> bool:
    assert "Traceback" not in done.stderr
    return done.returncode == 0


def test_a_finding_elsewhere_that_the_commit_causes_stops_it(checked: Hooked) -> None:
    checked.write("nets.py", NETS)
    assert accepted(checked.commit())
    checked.write("helper.py", GOOD)
    checked.write("train.py", TRAIN)
    done = checked.commit()
    assert not accepted(done)
    assert "nets.py:11:16: error[TDR201] " in done.stderr


def test_a_finding_in_a_file_that_is_only_imported_does_not_stop_it(checked: Hooked) -> None:
    checked.write("nets.py", NETS.replace("torch.softmax(self.fc(x), dim=1)", "self.fc(x)"))
    checked.write("helper.py", HELPER)
    assert accepted(checked.commit("--no-verify"))
    checked.write("train.py", TRAIN)
    done = checked.commit()
    assert accepted(done), done.stderr
    checked.write("helper.py", HELPER + "\n")
    assert "helper.py:4:5" in checked.commit().stderr


def test_imports_are_followed_in_files_that_are_not_committed(checked: Hooked) -> None:
    checked.write("nets.py", NETS, staged=False)
    checked.write("train.py", TRAIN)
    assert "nets.py:11:16" in checked.commit().stderr


def test_of_a_partly_staged_file_the_staged_part_counts(checked: Hooked) -> None:
    checked.write("helper.py", GOOD)
    checked.write("helper.py", HELPER, staged=False)
    assert accepted(checked.commit())
    assert checked.read("helper.py") == HELPER
    checked.write("helper.py", HELPER)
    checked.write("helper.py", GOOD, staged=False)
    assert "helper.py:4:5" in checked.commit().stderr
    assert checked.read("helper.py") == GOOD


def test_a_partly_staged_file_is_mended_and_keeps_what_is_not_staged(mended: Hooked) -> None:
    rest = "\n".join(f"value_{number} = {number}" for number in range(12))
    mended.write("helper.py", f"{HELPER}\n{rest}\n")
    mended.write("helper.py", f"{HELPER}\n{rest}\nmore = 1\n", staged=False)
    done = mended.commit()
    assert not accepted(done)
    assert "files were modified by this hook" in done.stderr
    assert mended.read("helper.py") == f"{GOOD}\n{rest}\nmore = 1\n"
    git(mended.path, "add", "helper.py")
    assert accepted(mended.commit())


def test_where_what_is_not_staged_is_in_the_way_of_a_fix_it_stays_and_the_fix_goes(mended: Hooked) -> None:
    mended.write("helper.py", HELPER)
    mended.write("helper.py", HELPER.replace("model.eval\n", "model.eval  # soon\n"), staged=False)
    done = mended.commit()
    assert not accepted(done)
    assert "Rolling back fixes" in done.stderr
    assert "model.eval  # soon\n" in mended.read("helper.py")


def test_only_files_of_the_commit_are_mended(mended: Hooked) -> None:
    mended.write("nets.py", NETS.replace("torch.softmax(self.fc(x), dim=1)", "self.fc(x)"))
    mended.write("helper.py", HELPER)
    assert accepted(mended.commit("--no-verify"))
    mended.write("train.py", TRAIN)
    done = mended.commit()
    assert accepted(done), done.stderr
    assert mended.read("helper.py") == HELPER


def test_a_renamed_file_is_looked_at_under_its_new_name(checked: Hooked) -> None:
    checked.write("helper.py", HELPER)
    assert accepted(checked.commit("--no-verify"))
    git(checked.path, "mv", "helper.py", "an older helper.py")
    done = checked.commit()
    assert not accepted(done)
    assert "an older helper.py:4:5" in done.stderr


def test_a_commit_that_only_deletes_files_passes(checked: Hooked) -> None:
    checked.write("helper.py", HELPER)
    checked.write("nets.py", NETS)
    assert accepted(checked.commit("--no-verify"))
    git(checked.path, "rm", "--quiet", "helper.py")
    done = checked.commit()
    assert accepted(done), done.stderr
    assert "no files to check" in done.stderr


def test_a_module_that_is_deleted_beside_a_change_breaks_nothing(checked: Hooked) -> None:
    for name, text in (("helper.py", GOOD), ("nets.py", NETS), ("train.py", TRAIN)):
        checked.write(name, text)
    assert accepted(checked.commit("--no-verify"))
    git(checked.path, "rm", "--quiet", "nets.py")
    checked.write("train.py", TRAIN + "\n")
    done = checked.commit()
    assert accepted(done), done.stderr


def test_a_notebook_is_looked_at_and_mended_cell_by_cell(mended: Hooked, notebook: Callable[[list[str]], str]) -> None:
    cells = ["import torch\nmodel = torch.nn.Linear(2, 2)\n", "model.eval\nprint(model(torch.rand(1, 2)))"]
    mended.write("train.ipynb", notebook(cells))
    done = mended.commit()
    assert not accepted(done)
    assert mended.read("train.ipynb") == notebook([cells[0], cells[1].replace("model.eval\n", "model.eval()\n")])
    mended.write("train.ipynb", notebook([*cells, "for x in []:\n    print 'loss'\n"]))
    assert "train.ipynb:cell 3:2:5" in mended.commit().stderr


def test_what_the_configuration_excludes_is_left_out(checked: Hooked) -> None:
    checked.write("torch-doctor.toml", 'extend-exclude = ["helper.py"]\n')
    checked.write("helper.py", HELPER)
    done = checked.commit()
    assert accepted(done), done.stderr


def test_the_working_tree_is_left_as_it_is(checked: Hooked) -> None:
    checked.write("helper.py", GOOD)
    assert accepted(checked.commit())
    checked.write("nets.py", NETS)
    checked.write("helper.py", HELPER, staged=False)
    assert accepted(checked.commit())
    assert checked.staged == ["M helper.py"]
    assert git(checked.path, "status", "--porcelain", "--ignored") == "M helper.py\n!! .torch_doctor_cache/"
