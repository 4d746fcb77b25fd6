"""A script in several files."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import IMPORT, statements
from tests.metamorphic.names import read_at_definition, uses
from tests.metamorphic.project import Project
from tests.metamorphic.transformation import FIRST_IN_A_FILE, Kind, Transformation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.metamorphic.names import Statement

DEFINITION = m.FunctionDef() | m.ClassDef()
LITERAL = m.Integer() | m.Float() | m.SimpleString() | m.Name("True") | m.Name("False")
BOUND_TO_ITS_FILE = m.Global() | m.Name("__file__") | m.Name("__name__") | m.Name("globals")


class IntoTwoModules(Transformation):
    """The functions and classes of a script go into a module beside it, which it imports.

    What reads variables of the script stays; constants that are needed there go along.
    """

    kind: ClassVar[Kind] = Kind.KEPT
    unless: ClassVar[Mapping[str, str]] = FIRST_IN_A_FILE
    files: ClassVar[tuple[str, ...]] = ("components",)

    def variants(self, project: Project) -> Iterator[Project]:
        ((path, module), *others) = project.modules.items()
        if others or "/" in path:
            return
        moved = _movable(module)
        groups = self.groups(moved)
        if groups is None:
            return
        constants = [entry for entry in moved if not m.matches(entry, DEFINITION)]
        imports = [entry for entry in module.body if m.matches(entry, IMPORT)]
        made: dict[str, cst.Module] = {}
        known: list[Statement] = []
        for name, group in zip(self.files, groups, strict=True):
            body = [*imports, *known, *(constants if not known else []), *group]
            made[str(PurePosixPath(path).with_name(f"{name}.py"))] = module.with_changes(header=[], body=body)
            bound = uses([*(constants if not known else []), *group]).bound
            known += statements(f"from {name} import {', '.join(bound)}")
        taken = {id(entry) for entry in moved}
        rest = [entry for entry in module.body if id(entry) not in taken]
        last = max((i for i, entry in enumerate(rest) if m.matches(entry, IMPORT)), default=-1)
        script = module.with_changes(body=[*rest[: last + 1], *known, *rest[last + 1 :]])
        yield Project({path: script, **made}, project.others)

    def groups(self, moved: Sequence[Statement]) -> list[list[Statement]] | None:
        """What goes into each of the files; nothing if that is not to be divided."""
        definitions = [entry for entry in moved if m.matches(entry, DEFINITION)]
        return [definitions] if definitions else None


class IntoThreeModules(IntoTwoModules):
    """The classes of a script go into one module beside it and the functions into another, which imports the classes.

    It does not apply where a class needs a function.
    """

    kind: ClassVar[Kind] = Kind.KEPT
    files = ("networks", "procedures")

    def groups(self, moved: Sequence[Statement]) -> list[list[Statement]] | None:
        classes = [entry for entry in moved if m.matches(entry, m.ClassDef())]
        functions = [entry for entry in moved if m.matches(entry, m.FunctionDef())]
        if not classes or not functions or _needs(classes) & set(uses(functions).bound):
            return None
        return [classes, functions]


def _needs(entries: Sequence[Statement]) -> set[str]:
    """Names from outside that definitions need, when they are made or when they run."""
    return uses(entries).late | read_at_definition(entries)


def _movable(module: cst.Module) -> list[Statement]:
    """Definitions that can stand in another file, and the constants that they need, in the order of the script."""
    entries: list[Statement] = [entry for entry in module.body if not m.matches(entry, IMPORT)]
    numbers = [entry for entry in entries if m.matches(entry, m.SimpleStatementLine([m.Assign(value=LITERAL)]))]
    assigned = [name for entry in entries for name in uses([entry]).bound]
    constant = {name: entry for entry in numbers for name in uses([entry]).bound if assigned.count(name) == 1}
    movable = [
        entry
        for entry in entries
        if m.matches(entry, DEFINITION)
        and not m.findall(entry, BOUND_TO_ITS_FILE)
        and assigned.count(next(iter(uses([entry]).bound))) == 1
    ]
    while True:
        here = {name for entry in movable for name in uses([entry]).bound} | set(constant)
        beyond = set(assigned) - here
        stay = [entry for entry in movable if _needs([entry]) & beyond]
        if not stay:
            break
        movable = [entry for entry in movable if entry not in stay]
    needed = {id(constant[name]) for name in _needs(movable) & set(constant)} if movable else set()
    chosen = needed | {id(entry) for entry in movable}
    return [entry for entry in entries if id(entry) in chosen]
