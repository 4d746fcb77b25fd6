"""Asks git what has changed since a revision, and checks out how files were; nothing in the repository is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.selection import did_you_mean
from torch_doctor.sources.discovery import SUFFIXES, display
from torch_doctor.sources.relevance import may_pin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUBMODULE = "160000"
NO_REPOSITORY = "not a git repository"
NOT_SHALLOW = "false"
OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git sets for its hooks: a repository is found by its folder."""


class GitError(Exception):
    """Git cannot tell what has changed; the message is one line that says why, and what to do."""


class Repository(Struct, frozen=True):
    """A working tree: `top` is its folder, `base` the commit that it is compared with, which `revision` names.

    `base` is the last commit that HEAD and the revision have in common, so that what was done to the other branch meanwhile
    counts for nothing. Files go by their names in the repository, with slashes.
    """

    top: Path
    base: str
    revision: str

    def name(self, path: Path) -> str | None:
        """The name of a file or a folder; None where it lies outside, or in another repository within this one."""
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self.top):
            return None
        above = real.parents[: len(real.relative_to(self.top).parts) - 1]
        return None if any((each / ".git").exists() for each in above) else real.relative_to(self.top).as_posix()

    def changes(self) -> Changes:
        """What has changed.

        Raises:
            GitError: git cannot tell.
        """
        untracked = self._words("ls-files", "--others", "--exclude-standard")
        changes = self._changes(self._words("diff-index", "--raw", "--find-renames", self.base, "--"))
        added = [name for name in untracked if name.endswith(SUFFIXES)]
        if added and any(name.endswith(SUFFIXES) for name in changes.gone):  # it was moved, and nobody told git yet
            changes = self._with_untracked(added)
        changes.names.update(added)
        return changes

    def check_out(self, folder: Path, names: Iterable[str] | None = None) -> None:
        """Write into a folder how files were: those with these names, else all that a scan reads.

        Raises:
            GitError: it cannot be done.
        """
        with tempfile.TemporaryDirectory(prefix="torch-doctor-") as scratch:
            index = Path(scratch, "index")
            self._git("-c", "core.sparseCheckout=false", "read-tree", self.base, index=index)
            entries = [entry.split("\t", 1) for entry in self._words("ls-files", "--stage", index=index)]
            there = {name: about.split()[0] for about, name in entries}
            wanted = (
                [name for name in there if _is_read(name)]
                if names is None
                else [each for each in names if each in there]
            )
            files = [name for name in wanted if there[name] != SUBMODULE]
            self._git(
                "checkout-index", "--quiet", "--force", "-z", "--stdin", f"--prefix={folder}/", index=index, given=files
            )
        if names is None:
            self._link(folder, [name for name, mode in there.items() if mode == SUBMODULE])

    def _link(self, folder: Path, submodules: Sequence[str]) -> None:
        """Let what git does not keep be there as well: other repositories within this one, and environments."""
        from torch_doctor.environments import FOLDERS  # noqa: PLC0415 - only where a tree is checked out

        (folder / ".git").mkdir(parents=True, exist_ok=True)
        for name in (*submodules, *FOLDERS):
            if (self.top / name).is_dir() and not (folder / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(OSError):  # not every system lets one make links
                    (folder / name).symlink_to(self.top / name, target_is_directory=True)

    def _with_untracked(self, names: Sequence[str]) -> Changes:
        """What has changed, as if somebody had told git of these files."""
        with tempfile.TemporaryDirectory(prefix="torch-doctor-") as scratch:
            index = Path(scratch, "index")
            real = self.top / self._git("rev-parse", "--git-path", "index").strip()
            if real.is_file():
                shutil.copy(real, index)
            self._git(
                "--literal-pathspecs", "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul",
                index=index, given=names,
            )  # fmt: skip
            return self._changes(self._words("diff-index", "--raw", "--find-renames", self.base, "--", index=index))

    @staticmethod
    def _changes(words: Sequence[str]) -> Changes:
        changes, left = Changes(), iter(words)
        for about in left:
            status = about.split()[-1][:1]
            name = next(left)
            changes.names.add(name)
            if status == "D":
                changes.gone.add(name)
            if status == "R":
                renamed = next(left)
                changes.names.add(renamed)
                changes.before[renamed] = name
        return changes

    def _words(self, *arguments: str, index: Path | None = None) -> list[str]:
        command, *rest = arguments
        return [word for word in self._git(command, "-z", *rest, index=index).split("\0") if word]

    def _git(self, *arguments: str, index: Path | None = None, given: Iterable[str] = ()) -> str:
        return git(self.top, *arguments, index=index, given=given)


class Changes(Struct):
    """What has changed in a repository: the `names` of files, those that are `gone`, and what renamed ones were `before`."""

    names: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    before: dict[str, str] = field(default_factory=dict)

    def concern_scans(self) -> bool:
        """Whether a file has changed that a scan reads."""
        return any(map(_is_read, self.names))


def repository(paths: Sequence[Path], revision: str) -> Repository:
    """The repository that holds all the absolute paths, and since when it is looked at.

    Raises:
        GitError: they lie in none or in several, git is not there, or the revision means nothing.
    """
    tops = {path: _top(path if path.is_dir() else path.parent) for path in paths}
    top = next(iter(tops.values()))
    for path, other in tops.items():
        if other != top:
            message = f"{display(path)} is not in the repository {display(top)}: scan one repository at a time"
            raise GitError(message)
    commit = _commit(top, revision)
    base = git(top, "merge-base", commit, "HEAD", fails=True).strip()
    if not base:
        message = f"`{revision}` and HEAD have no common commit{_shallow(top)}"
        raise GitError(message)
    return Repository(top, base, revision)


def git(
    folder: Path, *arguments: str, index: Path | None = None, given: Iterable[str] = (), fails: bool = False
) -> str:
    """What git says in a folder; `given` are names on its stdin, `fails`: it may fail, and says nothing then.

    Raises:
        GitError: it is not there, or fails.
    """
    environment = {name: value for name, value in os.environ.items() if name not in OF_HOOKS}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    try:
        done = subprocess.run(  # noqa: S603 - git
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - as the shell finds it
            input="".join(f"{name}\0" for name in given).encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            env=environment,
        )
    except OSError as error:
        message = f"git cannot be started ({error.strerror}): install git, or omit the option"
        raise GitError(message) from None
    if done.returncode and not fails:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        said = next(
            (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "nothing"
        )
        raise GitError(said.partition(": ")[2] or said)
    return "" if done.returncode else os.fsdecode(done.stdout)


def _top(folder: Path) -> Path:
    there = next((each for each in (folder, *folder.parents) if each.is_dir()), folder)
    try:
        told = git(there, "rev-parse", "--show-toplevel")
    except GitError as error:
        if NO_REPOSITORY in str(error):
            message = f"{display(folder)} is not in a git repository"
            raise GitError(message) from None
        raise
    return Path(os.path.realpath(told.rstrip("\n")))


def _commit(top: Path, revision: str) -> str:
    if revision and not revision.startswith("-"):
        commit = git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fails=True).strip()
        if commit:
            return commit
    known = git(top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags", fails=True)
    message = f"unknown git revision `{revision}`{_shallow(top) or did_you_mean(revision, known.split())}"
    raise GitError(message)


def _shallow(top: Path) -> str:
    """What to do in a clone that does not have all commits."""
    if git(top, "rev-parse", "--is-shallow-repository", fails=True).strip() in ("", NOT_SHALLOW):
        return ""
    return "; the clone is shallow: fetch the complete history (on GitHub: `fetch-depth: 0` for actions/checkout)"


def _is_read(name: str) -> bool:
    """Whether a scan reads a file of this name: source, what pins versions, what git ignores."""
    folder, _, last = name.rpartition("/")
    return last.endswith(SUFFIXES) or last == ".gitignore" or may_pin(folder.rpartition("/")[2], last)
