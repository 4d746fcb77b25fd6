"""Real repositories of git, for tests."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what git sets for its hooks."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | more


def git(where: Path, *arguments: str) -> str:
    """What git says in a folder."""
    command = ["git", *IDENTITY, *arguments]
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=True, env=clean_environment())
    return done.stdout.strip()


def init(where: Path) -> None:
    """A new repository, whose branch is `main`."""
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "--quiet", "--initial-branch=main")


def commit(where: Path, files: Mapping[str, str] | None = None, message: str = "change") -> str:
    """Write files, and commit all that has changed."""
    for name, text in (files or {}).items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text, encoding="utf-8")
    git(where, "add", "--all")
    git(where, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(where, "rev-parse", "HEAD")
