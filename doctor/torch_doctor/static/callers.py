"""Which other files of a project may call what a file defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from torch_doctor.sources.project import Project
    from torch_doctor.static.unit import Unit

MOST = 3
"""Files outside the given ones that are executed because they may call a function of these."""
NAMES = 20
"""Names that are looked for."""


def of(project: Project, unit: Unit, names: Sequence[str], ran: Collection[Path]) -> list[Path]:
    """The scripts of the project, apart from those that ran, that mention a file and one of these names of it."""
    path = unit.source.path
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    if path.suffix != ".py":
        return []
    waiting = [other for other in project.python_files() if other not in ran and other.suffix == ".py"]
    return project.mentions(names[:NAMES], project.mentions((stem,), waiting))[:MOST]
