"""Which other files of a project may call what a file defines."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.static.importing import bound, modules
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
_BY_TEXT = (b"import_module", b"__import__", b"runpy", b"spec_from_file_location")
"""How a file is imported of which only a text says the name."""


def of(imports: Imports, unit: Unit, names: Sequence[str]) -> list[Path]:
    """The scripts of the project, apart from the given files, that may import a file and mention one of these names of it."""
    path = unit.source.path
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    if path.suffix != ".py":
        return []
    return [Path(other) for other in imports.ask("callers", str(path), stem, *names[:NAMES])]


def may_import(source: bytes, importer: Path, path: Path) -> bool:
    """Whether a source at `importer` imports the file at `path`, takes it from a package, or imports what only a text names.

    An import means the file where the end of its path reads like the module: nobody knows where a search for it begins.
    `model.train()` is no import of the project's `train.py`, and `from vision.layer import Linear` none of `audio/layer.py`.
    """
    wanted = path.parent.parts if path.name == "__init__.py" else (*path.parent.parts, path.stem)
    here = importer.parent.parts

    def means(module: str, level: int) -> bool:
        parts = tuple(module.split(".")) if module else ()
        beginnings = [parts[:count] for count in range(0 if level else 1, len(parts) + 1)]
        if level:
            base = here[: len(here) - level + 1]
            return any((*base, *each) == wanted for each in beginnings)
        return any(wanted[-len(each) :] == each for each in beginnings)

    if any(each in source for each in _BY_TEXT) or any(means(*each) for each in modules(source)):
        return True
    paths = re.findall(
        rb"(?<![\w.])(\w+)((?:\s*\.\s*\w+)*\s*\.\s*" + re.escape(wanted[-1].encode()) + rb")\s*\.\s*\w", source
    )
    if not paths:
        return False
    names: dict[str, list[tuple[str, int]]] = {}
    for name, module, level in bound(source):
        names.setdefault(name, []).append((module, level))
    return any(
        means(module + b"".join(rest.split()).decode("utf-8", "replace"), level)
        for first, rest in paths
        for module, level in names.get(first.decode("utf-8", "replace"), ())
    )


def _callers(project: Project, path: str, stem: str, *names: str) -> list[str]:
    named = project.mentions(names, project.mentions((stem,), project.other_scripts()))
    others = (other for other in named if str(other) != path)
    found = (str(other) for other in others if may_import(project.code(other), other, Path(path)))
    return list(islice(found, MOST))


KINDS["callers"] = Kind(lambda _, *names: names, _callers)
