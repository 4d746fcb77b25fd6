"""The hook, with the real pre-commit in a real repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repositories import clean_environment, git

pytestmark = pytest.mark.tools
ROOT = Path(__file__).parents[1]
SHIPPED = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "doctor", "rules")
BROKEN = "import torch\nfor x in y:\n    )print 'loss'\n"


@pytest.fixture
def hook(tmp_path: Path) -> tuple[Path, str]:
    """A repository with the working tree of this project as its only commit."""
    repository = tmp_path / "torch-doctor"
    repository.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, repository / name)
    git(repository, "init", "--quiet")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "snapshot")
    return repository, git(repository, "rev-parse", "HEAD")


def test_the_hook_stops_a_commit_with_findings(tmp_path: Path, hook: tuple[Path, str]) -> None:
    repository, revision = hook
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet")
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": BROKEN,
    }
    (project / "train.py").write_text(BROKEN, encoding="utf-8")
    (project / "good.py").write_text("import torch\n", encoding="utf-8")
    (project / "notes.txt").write_text("torch", encoding="utf-8")
    (project / "third_party").mkdir()
    (project / "third_party" / "theirs.py").write_text(BROKEN, encoding="utf-8")
    (project / "scratch.py").write_text(BROKEN, encoding="utf-8")
    settings = "include = ['train.*', 'good.py']\nextend-exclude = ['third_party']\n"
    (project / "torch-doctor.toml").write_text(settings, encoding="utf-8")
    (project / "train.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}), encoding="utf-8"
    )
    hooks = {"repo": str(repository), "rev": revision, "hooks": [{"id": "torch-doctor"}]}
    (project / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [hooks]}), encoding="utf-8")
    git(project, "add", ".")

    environment = clean_environment(PRE_COMMIT_HOME=str(tmp_path / "cache"), PRE_COMMIT_COLOR="never")
    run = [sys.executable, "-m", "pre_commit", "run", "--verbose"]
    stopped = subprocess.run(run, cwd=project, capture_output=True, text=True, check=False, env=environment)
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    assert "- exit code: 1" in stopped.stdout
    assert "train.py:3:5: " in stopped.stdout
    assert "train.ipynb:cell 1:3:5: " in stopped.stdout
    assert "in 2 of 3 files" in stopped.stdout

    (project / "train.py").write_text("import torch\n", encoding="utf-8")
    git(project, "rm", "--quiet", "--force", "train.ipynb")
    git(project, "add", ".")
    passed = subprocess.run(run, cwd=project, capture_output=True, text=True, check=False, env=environment)
    assert passed.returncode == 0, passed.stdout + passed.stderr

    bug = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\nprint(model(torch.rand(1, 2)))\n"
    (project / "train.py").write_text(bug, encoding="utf-8")
    hooks["hooks"] = [{"id": "torch-doctor-fix"}]
    (project / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [hooks]}), encoding="utf-8")
    (project / "torch-doctor.toml").write_text(settings + "unfixable = ['ALL']\n", encoding="utf-8")
    git(project, "add", ".")
    left = subprocess.run(run, cwd=project, capture_output=True, text=True, check=False, env=environment)
    assert left.returncode == 1, left.stdout + left.stderr
    assert (project / "train.py").read_text(encoding="utf-8") == bug
    (project / "torch-doctor.toml").write_text(settings, encoding="utf-8")
    git(project, "add", ".")
    mended = subprocess.run(run, cwd=project, capture_output=True, text=True, check=False, env=environment)
    assert mended.returncode == 1, mended.stdout + mended.stderr
    assert "- files were modified by this hook" in mended.stdout
    assert (project / "train.py").read_text(encoding="utf-8") == bug.replace("model.eval\n", "model.eval()\n")
    git(project, "add", ".")
    passed = subprocess.run(run, cwd=project, capture_output=True, text=True, check=False, env=environment)
    assert passed.returncode == 0, passed.stdout + passed.stderr
