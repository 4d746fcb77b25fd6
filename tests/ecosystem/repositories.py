"""The public repositories of the list, and how their source is brought out of a clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST = Path(__file__).with_name("repositories.txt")
HALVES = ("mend", "judge")
KINDS = ("good", "zoo", "framework", "course", "beginner", "paper", "notebook")
WANTED = re.compile(
    r"(?:\.pyw?|\.ipynb|(?:^|/)(?:pyproject\.toml|setup\.cfg|\.gitignore|Pipfile|poetry\.lock|uv\.lock"
    r"|[^/]*requirements[^/]*\.txt|[^/]*environment[^/]*\.ya?ml))$"
)
"""What a scan reads: source, what git leaves out, and where versions are pinned."""


class UnscannedError(Exception):
    """What keeps a repository from being scanned, in one line."""


@dataclass(frozen=True, slots=True)
class Repository:
    """One line of the list: `owner/name`, the commit that is scanned, what kind it is, and which half it belongs to."""

    name: str
    commit: str
    kind: str
    half: str

    @property
    def folder(self) -> str:
        """What its clone, its checkout and its results are called."""
        return self.name.replace("/", "+")


def listed(text: str) -> list[Repository]:
    """The repositories that a list names: a line each, blank lines and comments left out."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [Repository(*fields) for fields in lines if fields]


def checkout(repository: Repository, clones: Path, into: Path) -> Path:
    """The folder with the source of the repository at its commit; made once.

    A folder `owner+name` that is no clone is taken as it is.

    Raises:
        UnscannedError: there is no clone, or it lacks the commit.
    """
    given = clones / repository.folder
    clone = next(filter(_is_clone, (given / "repo/.git", given / "repo", given / ".git", given)), None)
    if clone is None:
        if given.is_dir():
            return given
        message = f"{repository.name}: no folder {repository.folder} in {clones}"
        raise UnscannedError(message)
    made = into / f"{repository.folder}@{repository.commit[:10]}"
    if not made.is_dir():
        unfinished = made.with_name(f"{made.name}.{os.getpid()}")
        for path, content in _files(repository, clone):
            file = unfinished / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (unfinished / ".git").mkdir(parents=True)  # a project ends where its repository ends
        try:
            unfinished.rename(made)
        except OSError:  # somebody else was faster
            shutil.rmtree(unfinished)
    return made


def _is_clone(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir()


def _files(repository: Repository, clone: Path) -> Iterator[tuple[str, bytes]]:
    """The wanted files of the commit; what the clone lacks is left out."""
    listing = _git(clone, "ls-tree", "-r", "-z", repository.commit)
    if listing.returncode:
        message = f"{repository.name}: the clone has no commit {repository.commit}"
        raise UnscannedError(message)
    blobs: list[tuple[str, bytes]] = []
    for entry in listing.stdout.split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, kind, blob = about.split()
        if kind == b"blob" and mode != b"120000" and WANTED.search(os.fsdecode(path)):
            blobs.append((os.fsdecode(path), blob))
    contents = _git(clone, "cat-file", "--batch", given=b"".join(blob + b"\n" for _, blob in blobs)).stdout
    start = 0
    for name, _ in blobs:
        end = contents.index(b"\n", start)
        *_, size = contents[start:end].split()
        start = end + 1
        if size != b"missing":
            yield name, contents[start : start + int(size)]
            start += int(size) + 1


def _git(clone: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", f"--git-dir={clone}", *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, env=environment)
