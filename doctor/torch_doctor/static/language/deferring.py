"""Imports that bind names only: the file that has one is executed when it is used, and not before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import targets
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import frameworks
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.graph import emptying
from torch_doctor.static.values import Deferred, Fact, Mapping, Sequence, reachable

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Namespace

_ALL = pattern(r"^__all__\s*=\s*[\[(]", re.MULTILINE)
_STAR = pattern(r"^from\s+\S+\s+import\s+\*", re.MULTILINE)


class Searches(Knowledge):
    """The names that are being looked for: files may take all of each other."""

    under_way: set[tuple[Path, str]] = per_run(set)


def binds_only(run: Run, node: p.ImportFrom, found: Path) -> bool:
    """Whether an import of names need not be executed now.

    That is so where it is one of many of a large package, or takes names of one, and where it has no effect but to bind them.
    """
    if found.suffix != ".py":
        return False
    if takes_of_large(run, node, found):
        return not _is_declared(node)
    if not is_top(run) or _is_declared(node) or any(name == "*" for name, _ in node.names):
        return False
    return run.imports.is_quiet(found)


def takes_of_large(run: Run, node: p.Import | p.ImportFrom, found: Path) -> bool:
    """Whether an import at the top of a file is one of the many of a large package, or takes names of such a package."""
    unit = run.frame.unit
    if node in unit.parts and run.imports.is_large(unit):
        return True
    if found.name != "__init__.py" or not is_top(run) or not (isinstance(node, p.Import) or node in unit.names):
        return False
    package = run.imports.unit(found)
    return package is not None and run.imports.is_large(package)


def is_top(run: Run) -> bool:
    """Whether what is executed is the top level of a file, or a branch of it."""
    return run.frame.fields is run.frame.globals.fields


def _is_declared(node: p.ImportFrom) -> bool:
    """Whether an import takes what the tables know of a framework, whatever the project has under this name."""
    return not node.level and any(canonical(f"{node.module}.{name}") in frameworks.DECLARED for name, _ in node.names)


def bind(run: Run, node: p.ImportFrom, found: Path) -> None:
    """Bind the names of such an import; a star binds whatever is looked for and not there."""
    for name, alias in node.names:
        if name == "*":
            add_star(run, found)
        else:
            targets.bind_name(run, alias, waiting(run, found, name))


def waiting(run: Run, path: Path, name: str) -> Deferred:
    """Return what stands for a name of a file, or for the file itself, until it is used."""
    run.imports.taken.add((path, name))
    return Deferred(path, name)


def add_star(run: Run, found: Path) -> None:
    """Look for names of the current file in that one, too."""
    facts = run.frame.globals.facts
    stars = run.frame.globals.fact(Fact.STARS)
    if found not in stars:
        run.heap.set(facts, Fact.STARS, (*stars, found))


def sources(run: Run, namespace: Namespace, name: str) -> tuple[list[Path], list[Path]]:
    """The files of which all was imported that define a name, and those that may have imported it; the last one first."""
    stars: tuple[Path, ...] = () if name.startswith("_") else namespace.fact(Fact.STARS)
    if not stars:
        return [], []
    known = run.imports.sources
    if (stars, name) not in known:
        texts = [(path, run.imports.text(path)) for path in reversed(stars)]
        gives = [path for path, text in texts if _defines(text, name)]
        known[stars, name] = gives, [path for path, text in texts if path not in gives and _may_give(text, name)]
    return known[stars, name]


def _defines(text: str, name: str) -> bool:
    if name not in text:
        return False  # most files do not have it, and a search for it costs a hundred times as much
    defined = re.search(rf"^(?:(?:async\s+)?def\s+|class\s+)?{re.escape(name)}\b\s*[:=(]", text, re.MULTILINE)
    return defined is not None and _is_public(text, name)


def _may_give(text: str, name: str) -> bool:
    """Whether a file's text mentions the name; where it imports all of others, they may give it."""
    mentioned = name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    return (mentioned and _is_public(text, name)) or _STAR.search(text) is not None


def _is_public(text: str, name: str) -> bool:
    """Whether a file that lists what it gives lists this name."""
    return _ALL.search(text) is None or f'"{name}"' in text or f"'{name}'" in text


def open_tables(run: Run, unit: Unit, namespace: Namespace) -> None:
    """Within a large package, empty tables of a file are filled by files that are not executed: they hold anything."""
    folders = unit.source.path.parents
    units = (run.units.get(folder / "__init__.py") for folder in folders)
    if any(package is not None and run.imports.is_large(package.unit) for package in units):
        values = [value for value in namespace.fields.values() if not isinstance(value, Deferred)]
        for value in reachable(values):
            if isinstance(value, (Mapping, Sequence)):
                emptying.open_table(run, value, empty=True)
