"""The project's files to each other: imports, their globals, and the names of libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.language import deferring, targets
from torch_doctor.static.language.imported_files import imported, namespace_at
from torch_doctor.static.tables import frameworks, torch_functions
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.training import optimizer_of, scheduler_of
from torch_doctor.static.values import (
    Deferred,
    Either,
    Fact,
    Lib,
    Namespace,
    NamespacePackage,
    Unknown,
    Value,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit


def namespace_of(run: Run, value: Namespace, name: str) -> Any:
    """A name of a project file: its global, or the file of that name in its package."""
    found = value.fields.get(name)
    if isinstance(found, (Deferred, Either)):
        return global_of(run, value, name)
    if found is not None:
        return run.resolve(found) if isinstance(found, Value) else found
    gives, may_give = deferring.sources(run, value, name)
    return _of_first(run, gives, name) or _part(run, value, name) or _of_first(run, may_give, name)


def global_of(run: Run, namespace: Namespace, name: str) -> Value:
    """A file's global that is there, or was on another path; a deferred one is imported now."""
    value: Value = run.resolve(namespace.fields.get(name, Unknown()))
    if isinstance(value, Either) and any(isinstance(option, Deferred) for _, option in value.options):
        return either([(facts, _used(run, namespace, option)) for facts, option in value.options])
    return _used(run, namespace, value)


def _used(run: Run, namespace: Namespace, value: Value) -> Value:
    """What a global stands for that the file at `namespace` may have imported and not used yet."""
    if not isinstance(value, Deferred):
        return value
    if not value.name:
        return imported(run, value.path)
    if value.path == namespace.unit.source.path:  # `from . import part`
        found = _part(run, namespace, value.name)
    else:
        package = imported(run, value.path)
        found = namespace_of(run, package, value.name) if isinstance(package, Namespace) else None
    return found if isinstance(found, Value) else Unknown()


def from_stars(run: Run, namespace: Namespace, name: str) -> Value | None:
    """A global that only a deferred `from part import *` can have brought."""
    gives, may_give = deferring.sources(run, namespace, name)
    return _of_first(run, [*gives, *may_give], name)


def _of_first(run: Run, paths: list[Path], name: str) -> Value | None:
    """What the first of these files that has the name gives."""
    under_way = run.of(deferring.Searches).under_way
    for path in paths:
        namespace = namespace_at(run, path) if (path, name) not in under_way else None
        if namespace is None:
            continue
        under_way.add((path, name))
        found = namespace_of(run, namespace, name)
        under_way.discard((path, name))
        if isinstance(found, Value):
            return found
    return None


def _part(run: Run, namespace: Namespace, name: str) -> Value | None:
    """The file of a name in a package."""
    path = namespace.unit.source.path
    inner = run.imports.find(path, name, level=1) if path.name == "__init__.py" else None
    return None if inner is None else imported(run, inner)


def import_in_another_cell(run: Run, name: str) -> p.Import | p.ImportFrom | None:
    """The import that gives a name to a notebook whose cells stand in another order than they were run in."""
    unit = run.frame.unit
    if unit.source.cells is None:
        return None
    for statement in unit.program.body:
        if isinstance(statement, p.Import) and name == (statement.alias or statement.module.partition(".")[0]):
            return statement
        if isinstance(statement, p.ImportFrom) and any(name == (alias or given) for given, alias in statement.names):
            return statement
    return None


def from_all_of_library(run: Run, name: str) -> Value | None:
    """A name that only `from torch.optim import *` can have brought, in this file or in one of which it takes all."""
    if name.startswith("_") or not run.frame.unit.takes_whole:
        return None
    found = list(_taken_whole(run, run.frame.unit))
    if len(found) > 1:
        found = [module for module in found if optimizer_of(f"{module}.{name}") or scheduler_of(f"{module}.{name}")]
    return Lib(f"{found[0]}.{name}") if len(found) == 1 and found[0] else None


def _taken_whole(run: Run, unit: Unit, depth: int = 3) -> Iterator[str]:
    """The libraries of which a file takes all; "" for a file of the project that is not there."""
    for node in unit.takes_whole:
        path = run.imports.find(unit.source.path, node.module, node.level)
        if path is None:
            yield "" if node.level else node.module
        elif depth and path.suffix == ".py" and (inner := run.imports.unit(path)) is not None:
            yield from _taken_whole(run, inner, depth - 1)


def _import(run: Run, node: p.Import) -> bool:
    path = run.frame.unit.source.path
    found = run.imports.find(path, node.module)
    if found is not None:
        _execute_loud(run, node, found)
    first = node.module.partition(".")[0]
    if node.alias is not None:
        targets.bind_name(run, node.alias, _module(run, found) if found is not None else Lib(node.module))
        return True
    top = run.imports.find(path, first)
    if top is None:
        targets.bind_name(run, first, Lib(first))
        return True
    targets.bind_name(run, first, _module(run, top))
    return True


def execute_named(run: Run, name: str) -> None:
    """Execute what an import of a file of the project by its dotted name does beside defining and binding names."""
    found = run.imports.find(run.frame.unit.source.path, name)
    for each in run.imports.loud(found) if found is not None and found.suffix == ".py" else ():
        namespace_at(run, each)


def _execute_loud(run: Run, node: p.Import | p.ImportFrom, found: Path) -> None:
    """Execute those of the files that an import reaches which do more than to define and bind names."""
    unit = run.frame.unit
    if found.suffix != ".py" or deferring.takes_of_large(run, node, found):
        return
    names = [name for name, _ in node.names] if isinstance(node, p.ImportFrom) else [""]
    if deferring.is_top(run) and not run.imports.happens(unit, node, names[0]):
        return  # for type checkers
    parts = [run.imports.find(found, name, 1) if found.name == "__init__.py" else None for name in names]
    for path in (found, *filter(None, parts)):
        for each in run.imports.loud(path):
            namespace_at(run, each)


def _module(run: Run, path: Path) -> Value:
    """What importing a file binds: its globals, or what stands for them until they are used."""
    waits = path.suffix == ".py" and deferring.is_top(run) and run.imports.is_quiet(path)
    return deferring.waiting(run, path, "") if waits else imported(run, path)


def _import_from(run: Run, node: p.ImportFrom) -> bool:
    path = run.frame.unit.source.path
    found = run.imports.find(path, node.module, node.level)
    if found is None:
        for name, alias in node.names:
            if name != "*":
                known = not node.level and node.module
                targets.bind_name(run, alias, Lib(f"{node.module}.{name}") if known else Unknown())
        if not node.level and any(name == "*" for name, _ in node.names):
            _all_of_library(run, node.module)
        return True
    _execute_loud(run, node, found)
    if deferring.binds_only(run, node, found):
        deferring.bind(run, node, found)
        return True
    package: Value | None = None
    for name, alias in node.names:
        if not node.level and canonical(f"{node.module}.{name}") in frameworks.DECLARED:
            targets.bind_name(run, alias, Lib(f"{node.module}.{name}"))
            continue
        package = package or imported(run, found)
        if name == "*":
            if isinstance(package, Namespace):
                for key, value in list(package.fields.items()):
                    if isinstance(key, str) and not key.startswith("_"):
                        targets.bind_name(run, key, value)
                if package.fact(Fact.STARS) and run.frame.fields is run.frame.globals.fields:
                    deferring.add_star(run, found)
            continue
        value = (
            run.attribute(package, name, node)
            if not isinstance(package, Namespace)
            else namespace_of(run, package, name)
        )
        if isinstance(package, NamespacePackage) and not node.level and isinstance(value, Unknown):
            value = Lib(f"{node.module}.{name}")  # a folder alone has nothing but modules: another package is meant
        targets.bind_name(run, alias, value if isinstance(value, Value) else Unknown())
    return True


def _all_of_library(run: Run, module: str) -> None:
    """`from torch.nn import *`: what the tables know of it."""
    from torch_doctor.static.tables import layers, losses  # noqa: PLC0415 - rarely needed

    prefix = f"{canonical(module)}."
    for table in (layers.LAYERS, losses.LOSSES, torch_functions.FUNCTIONS, layers.CONTAINERS, layers.MODULE_BASES):
        for name in table:
            if name.startswith(prefix) and "." not in name[len(prefix) :]:
                targets.bind_name(run, name[len(prefix) :], Lib(name))


def module_name(run: Run) -> str:
    """`__name__` of the current file."""
    is_script = run.frame.unit is run.main and not run.position.importing
    return "__main__" if is_script else run.frame.unit.source.path.stem


dispatch.VERBS["global_of"] = global_of
dispatch.STATEMENTS.update(
    {
        p.Import: _import,
        p.ImportFrom: _import_from,
    }
)
