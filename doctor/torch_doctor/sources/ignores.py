"""Which files and folders are left out: exclude patterns and gitignore files."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pathspec import GitIgnoreSpec

DEFAULT_EXCLUDE = frozenset({
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
})  # fmt: skip

FOLDER = "ps_d"  # the group in pathspec's expressions that stands where a folder ends


class Patterns(Struct, frozen=True):
    """Patterns as in a .gitignore file: without a slash, a name at any depth; with one, a path relative to `base`."""

    base: Path
    globs: tuple[str, ...]

    def match(self, path: Path) -> bool:
        """Return whether a pattern matches a file or a folder above it; outside `base`, only the file's name is compared."""
        name = path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else path.name
        return bool(_compiled(self.globs).match_file(name))


class Ignores(Struct):
    """Answers whether a path is left out.

    `excludes` of None means the usual folders, `include` of None all files. Above `roots`, and above a repository, no
    gitignore file is read.
    """

    roots: frozenset[Path]
    excludes: Sequence[Patterns] | None = None
    extra_excludes: Sequence[Patterns] = ()
    respect_gitignore: bool = True
    include: Patterns | None = None
    _specs: list[tuple[str, GitIgnoreSpec]] | None = None
    _chains: dict[str, tuple[tuple[str, GitIgnoreSpec], ...]] = field(default_factory=dict)

    def skips(self, directory: str, name: str, *, folder: bool) -> bool:
        """Whether the entry `name` of `directory` is left out."""
        path = os.path.join(directory, name)  # noqa: PTH118 - called for every entry of a tree
        if self.excludes_entry(path, name, folder=folder):
            return True
        if not (folder or self.includes(Path(path))):
            return True
        if not self.respect_gitignore:
            return False
        for base, spec in reversed(self._chain(directory)):
            if (verdict := _matches(spec, base, path, folder=folder)) is not None:
                return verdict
        return False

    def excludes_entry(self, path: str, name: str, *, folder: bool) -> bool:
        """Whether an exclude pattern, and not git, leaves the entry out."""
        if self.excludes is None and name in DEFAULT_EXCLUDE:
            return True
        if folder and os.path.isfile(os.path.join(path, "pyvenv.cfg")):  # noqa: PTH113, PTH118
            return True
        return any(_matches(spec, base, path, folder=folder) for base, spec in self._exclude_specs())

    def includes(self, path: Path) -> bool:
        """Return whether an include pattern matches a file; without patterns, all are included."""
        return self.include is None or self.include.match(path)

    def excludes_path(self, path: Path, root: Path) -> bool:
        """Whether an exclude pattern leaves out the file, or a folder above it and below `root`, or none includes it."""
        above = [folder for folder in path.parents if root in folder.parents]
        return (
            not self.includes(path)
            or self.excludes_entry(str(path), path.name, folder=False)
            or any(self.excludes_entry(str(folder), folder.name, folder=True) for folder in above)
        )

    def skips_path(self, path: Path, root: Path) -> bool:
        """Whether a walk that starts at `root` would not come to the file."""
        if not path.is_relative_to(root):
            return True
        parts = path.relative_to(root).parts
        directory = str(root)
        for part in parts[:-1]:
            if self.skips(directory, part, folder=True):
                return True
            directory = os.path.join(directory, part)  # noqa: PTH118
        return self.skips(directory, parts[-1], folder=False)

    def _exclude_specs(self) -> list[tuple[str, GitIgnoreSpec]]:
        if self._specs is None:
            groups = [*(self.excludes or ()), *self.extra_excludes]
            self._specs = [(str(group.base), _compile(group.globs)) for group in groups if group.globs]
        return self._specs

    def _chain(self, directory: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        """The gitignore files that speak for the entries of a directory, the outermost first."""
        chain = self._chains.get(directory)
        if chain is None:
            is_git = os.path.exists(os.path.join(directory, ".git"))  # noqa: PTH110, PTH118
            parent = os.path.dirname(directory)  # noqa: PTH120
            top = is_git or parent == directory or any(str(root) == directory for root in self.roots)
            chain = () if top else self._chain(parent)
            names = [".git/info/exclude", ".gitignore"] if is_git else [".gitignore"]
            for name in names:
                lines = _lines(os.path.join(directory, name))  # noqa: PTH118
                if lines:
                    chain = (*chain, (directory, _compile(lines)))
            self._chains[directory] = chain
        return chain


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:  # noqa: PTH123 - one call less per folder
            return [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]
    except OSError:
        return []


@functools.cache
def _compiled(globs: tuple[str, ...]) -> GitIgnoreSpec:
    return _compile(globs)


def _compile(lines: Sequence[str]) -> GitIgnoreSpec:
    try:
        return _spec(lines)
    except (ValueError, re.error):
        return _spec([line for line in lines if is_pattern(line)])


def is_pattern(text: str) -> bool:
    """Whether the text can be a line of a gitignore file."""
    try:
        _spec([text])
    except (ValueError, re.error):  # old versions of pathspec let both through
        return False
    return True


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    import warnings  # noqa: PLC0415 - only where there are patterns

    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `[[a]` is odd, and not ours
        return GitIgnoreSpec.from_lines(lines)


def _matches(spec: GitIgnoreSpec, base: str, path: str, *, folder: bool) -> bool | None:
    """What the last pattern says that matches the entry itself, as git does it.

    The library's own answer is about files and speaks for the folders above them too; here these were asked before.
    """
    prefix = base if base.endswith(os.sep) else base + os.sep
    if not path.startswith(prefix):
        return None
    relative = path[len(prefix) :].replace(os.sep, "/") + "/" * folder
    for pattern in reversed(spec.patterns):
        include, regex = pattern.include, getattr(pattern, "regex", None)
        if include is None or regex is None:
            continue
        for found in regex.finditer(relative):
            if found.groupdict().get(FOLDER) is None or found.end(FOLDER) == len(relative):
                return include
    return None
