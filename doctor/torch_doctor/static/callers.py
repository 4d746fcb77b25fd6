"""Which other files of a project may call what a file defines."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.static.questions import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.sources.project import Project
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.unit import Unit

MOST = 3
"""Files outside the given ones that are executed because they may call a function of these."""
NAMES = 20
"""Names that are looked for."""
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)\b(?:[^\n(\\#]|\\\r?\n)*(?:\([^)]*\))?", re.MULTILINE)
_BY_TEXT = (b"import_module", b"__import__", b"runpy", b"spec_from_file_location")
"""How a file is imported of which only a text says the name."""


def of(imports: Imports, unit: Unit, names: Sequence[str]) -> list[Path]:
    """The scripts of the project, apart from the given files, that may import a file and mention one of these names of it."""
    path = unit.source.path
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    if path.suffix != ".py":
        return []
    return [Path(other) for other in imports.ask("callers", str(path), stem, *names[:NAMES])]


def may_import(source: bytes, name: str) -> bool:
    """Whether a source imports something of this name, takes a name of it, or imports what only a text names.

    `model.train()` is no import of the project's `train.py`.
    """
    word = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    if any(word.search(found[0]) for found in _IMPORT.finditer(source)) or any(each in source for each in _BY_TEXT):
        return True
    return re.search(rb"\." + re.escape(name.encode()) + rb"\s*\.\s*\w", source) is not None


def _callers(project: Project, path: str, stem: str, *names: str) -> list[str]:
    named = project.mentions(names, project.mentions((stem,), project.other_scripts()))
    return list(
        islice((str(other) for other in named if str(other) != path and may_import(project.code(other), stem)), MOST)
    )


KINDS["callers"] = Kind(lambda _, *names: names, _callers)
