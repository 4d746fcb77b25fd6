"""Finds the folders that hold an interpreter's libraries, by the layout of its environment where that tells them."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from functools import cache
from typing import TYPE_CHECKING

from torch_doctor.environments import candidates, named
from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 5.0  # seconds for an interpreter to tell its folders
_QUESTION = "import json, sysconfig; print(json.dumps([sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]))"
_VERSION = pattern(r"3\.\d+")
_SETTING = pattern(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def libraries_of(asked: str, project: Path) -> tuple[Path, ...]:
    """The folders of the interpreter that would run a project's scripts; none where no interpreter has torch.

    `asked` names the interpreter, or the folder of its environment; where it is empty, the first that has torch is taken.

    Raises:
        NoInterpreterError: the one that was asked for is not there.
    """
    if asked:
        return site_packages(named(asked))
    found = (site_packages(candidate.path) for candidate in candidates(project))
    return next((folders for folders in found if any((folder / "torch").is_dir() for folder in folders)), ())


@cache
def site_packages(python: Path) -> tuple[Path, ...]:
    """The folders of one interpreter, which is started only where they are not beside it."""
    if str(python) == sys.executable:
        return _existing([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")], python)
    prefix = python.parent.parent
    try:
        settings = dict(_SETTING.findall((prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")))
    except OSError:
        settings = {}
    version = _version(python, settings)
    own = _below(prefix, version)
    if not settings and not own:
        own = _below(python.resolve().parent.parent, _version(python.resolve(), {}))
    if settings.get("include-system-site-packages", "").lower() == "true":
        own += _below(python.resolve().parent.parent, version)
    return own or _told(python)


def _version(python: Path, settings: dict[str, str]) -> str:
    texts = (settings.get("version_info", ""), settings.get("version", ""), python.name, python.resolve().name)
    return next((match.group() for text in texts if (match := _VERSION.search(text))), "3.*")


def _below(prefix: Path, version: str) -> tuple[Path, ...]:
    patterns = (
        f"lib/python{version}/site-packages",
        f"lib64/python{version}/site-packages",
        f"local/lib/python{version}/dist-packages",
        "lib/python3/dist-packages",
        "Lib/site-packages",
    )
    found = [folder for pattern in patterns for folder in sorted(prefix.glob(pattern))]
    return tuple({folder.resolve(): folder for folder in reversed(found)}.values())[::-1]


def _told(python: Path) -> tuple[Path, ...]:
    import json  # noqa: PLC0415 - few interpreters have to be asked

    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of the project
            [str(python), "-I", "-c", _QUESTION],
            capture_output=True,
            text=True,
            check=True,
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        return _existing(json.loads(done.stdout.splitlines()[-1]), python)
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ()


def _existing(names: list[str], python: Path) -> tuple[Path, ...]:
    folders = (type(python)(name) for name in dict.fromkeys(names))
    return tuple(folder for folder in folders if folder.is_dir())
