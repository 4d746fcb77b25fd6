"""Keeps answers on the disk, one file for each version of a package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from torch_doctor.static.installed.answers import VERSION, Answer

if TYPE_CHECKING:
    from collections.abc import Callable

_Kept = dict[str, Answer]


class KeptAnswers:
    """The answers about packages that somebody has asked for before.

    They hold for the version of the package, and for those of the other packages that were read (`version` tells them).
    A file that cannot be read is as good as none, and one that cannot be written is not.
    """

    def __init__(self, folder: Path | None, version: Callable[[str], str]) -> None:
        self._folder = folder
        self._version = version
        self._read: dict[str, _Kept] = {}

    def get(self, name: str) -> Answer | None:
        """The answer about a dotted name, if there is one that holds."""
        found = self._package(name.partition(".")[0]).get(name)
        if found is None or any(self._version(package) != version for package, version in found.asked.items()):
            return None
        return found

    def put(self, name: str, answer: Answer) -> None:
        """Keep an answer, unless some package that was read may change without its version."""
        package = name.partition(".")[0]
        path = self._path(package)
        if path is None or not all(answer.asked.values()):
            return
        kept = self._package(package) | {name: answer}
        self._read[package] = kept
        import tempfile  # noqa: PLC0415 - only for what is new

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
                file.write(msgspec.json.encode(kept))
            Path(file.name).replace(path)
        except OSError:
            self._folder = None  # nothing is kept there

    def _path(self, package: str) -> Path | None:
        version = self._version(package)
        if self._folder is None or not version:
            return None
        return self._folder / "libraries" / f"{package}-{version}.{VERSION}.json"

    def _package(self, package: str) -> _Kept:
        if package not in self._read:
            path = self._path(package)
            try:
                self._read[package] = msgspec.json.decode(path.read_bytes(), type=_Kept) if path is not None else {}
            except (OSError, msgspec.MsgspecError, ValueError):
                self._read[package] = {}
        return self._read[package]
