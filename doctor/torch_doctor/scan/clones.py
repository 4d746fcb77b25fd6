"""Bare clones among the paths of a scan: what their newest commit holds is looked at, under the names that they have there."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.sources.discovery import SUFFIXES, display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.scan.options import Options


def is_bare(path: Path) -> bool:
    """Whether a folder is a bare clone of git."""
    names = (os.path.join(path, name) for name in ("objects", "refs"))  # noqa: PTH118 - what follows never raises
    return os.path.isfile(os.path.join(path, "HEAD")) and all(map(os.path.isdir, names))  # noqa: PTH113, PTH118


@contextmanager
def checked_out(options: Options, errors: list[str]) -> Iterator[Options]:
    """The options with folders instead of bare clones; one that cannot be checked out is an error."""
    if not any(map(is_bare, options.paths)):
        yield options
        return
    import subprocess  # noqa: PLC0415 - where there is a clone
    import tempfile  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="torch-doctor-") as scratch:
        paths: list[Path] = []
        names: dict[Path, str] = dict(options.names)
        for number, path in enumerate(options.paths):
            if not is_bare(path):
                paths.append(path)
                continue
            folder = Path(scratch).resolve() / str(number)
            command = ["git", "clone", "--quiet", "--shared", str(path), str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - git
            if done.returncode:
                errors.append(f"{display(path)} cannot be checked out: {_last(done.stderr)}")
                continue
            paths.append(folder)
            files = (file for file in folder.rglob("*") if file.suffix in SUFFIXES)
            names |= {file: f"{display(path)}/{file.relative_to(folder).as_posix()}" for file in files}
        yield replace(options, paths=tuple(paths), names=names, cache=None)


def _last(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "no output from git").removeprefix("fatal: ")
