"""Prepared copies that get a name which nothing reads, while the script goes on with what they were made from."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains import preparing
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.operation.timing import CLOCKS
from torch_doctor.static.program import reads
from torch_doctor.static.program.stores import stores_of
from torch_doctor.static.program.walking import walk
from torch_doctor.static.questions import KINDS, Kind, texts, yes
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import fitting
from torch_doctor.static.values import FunctionValue, Plain, Tool
from torch_doctor.trace import ResultLost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.sources.project import Project
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Value

_TRANSFORMS: Final = ("torchvision.transforms.", "albumentations.")
_ALL: Final = frozenset(words("locals vars globals exec eval dir"))
_SHOWS: Final = frozenset(
    words("print imshow plot scatter hist savefig save_image make_grid show info debug log write display pprint format")
) | frozenset(words("add_image add_images add_histogram add_scalar add_scalars add_figure set_postfix summary"))
"""Functions that only show what they are given."""
_SIZES: Final = frozenset(words("shape size dim ndim dtype device numel"))
_MEASURING: Final = frozenset((*(name.rpartition(".")[2] for name in CLOCKS), *words("elapsed_time timeit")))


class UnreadCopies(Observer, called=(Plain, Tool)):
    """Watches assignments of prepared copies to names that are never read."""

    writes = (ResultLost,)

    _asked: set[int] = per_run(set)
    _transformed: tuple[p.Node, Value] | None = per_run()

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Note the last call that transforms rows, and these."""
        if len(call.args) == 1 and not call.keywords and _transforms(run, func, call.node):
            self._transformed = call.node, call.args[0]

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """An assignment has its value: whether that is a copy of something that is read further, and the name is not."""
        if id(node) in self._asked or len(node.targets) != 1 or not isinstance(node.targets[0], p.Name):
            return
        frame = run.position.frame
        name, unit = node.targets[0].id, frame.unit
        body = unit.program.body if frame.what is None else frame.what.node.body
        if name.startswith("_") or name not in _unread(unit, body):
            return
        chain = preparing.prepared_from(value)
        if self._transformed is not None and self._transformed[0] is node.value:
            chain = [self._transformed[1]]
        if not chain or (value.flow.forwards and not run.modules_called) or not _is_pure(run, node.value):
            return
        self._asked.add(id(node))
        if frame.what is None and (unit.source.cells or run.imports.ask("imported name", name)):
            return
        for of in chain:
            for each in _names_of(run, node, of):
                read = _read_behind(body, node, each)
                if read is not None:
                    alone, call = frame.what is None, run.text(node.value)
                    run.emit(ResultLost, node, name=each, call=call, target=name, alone=alone, read_at=run.site(read))
                    return


def _transforms(run: Run, func: Value, node: p.Node) -> bool:
    """Whether a call transforms rows, and is not there to fit what others use."""
    if isinstance(func, Tool):
        return canonical(func.name).startswith(_TRANSFORMS)
    symbol = func.symbol if isinstance(func, Plain) else ()
    if symbol[:1] != (".",) or not isinstance(symbol[1], tuple) or symbol[1][0] != fitting.ESTIMATOR:
        return False
    if symbol[2] != "fit_transform" or not isinstance(node, p.Call) or not isinstance(node.func, p.Attribute):
        return bool(symbol[2] == "transform")
    fitted = node.func.value
    names = (each for each in run.frame.unit.nodes if isinstance(each, p.Name) and each is not fitted)
    bound = {id(each) for part in run.frame.unit.nodes for each in reads.targets(part)}
    return isinstance(fitted, p.Name) and all(each.id != fitted.id or id(each) in bound for each in names)


@lru_cache(maxsize=256)
def _unread(unit: Unit, body: Sequence[p.Stmt]) -> frozenset[str]:
    """The variables that assignments in the body of a function, or in a file, give values, and that nothing there reads."""
    inside = list(walk(*body))
    called = {node.func.id for node in inside if isinstance(node, p.Call) and isinstance(node.func, p.Name)}
    names = [getattr(each, "name", "") or getattr(getattr(each, "func", None), "name", "") for each in inside]
    if not _ALL.isdisjoint(called) or (not _MEASURING.isdisjoint({*called, *names}) and "backward" not in names):
        return frozenset()
    bound = [each for node in inside for each in reads.targets(node)]
    ids = {id(each) for each in bound}
    read = {node.id for node in inside if isinstance(node, p.Name) and id(node) not in ids}
    outer = {name for node in inside if isinstance(node, p.Outer) for name in node.names}
    fields = {
        id(each) for node in inside if isinstance(node, p.Class) for part in node.body for each in reads.targets(part)
    }
    listed = {node.value for node in inside if isinstance(node, p.Const) and isinstance(node.value, str)}
    return frozenset(each.id for each in bound if id(each) not in fields) - read - outer - listed


def _names_of(run: Run, node: p.Assign, of: Value) -> list[str]:
    """The variables that have a value, those first that the expression names."""
    made, fields, bare = preparing.record(of), run.position.frame.fields, preparing.bare(of)
    spelled = {each.id for each in walk(node.value) if isinstance(each, p.Name)}
    same = [
        name
        for name, value in fields.items()
        if isinstance(name, str)
        and (preparing.bare(value) is bare or (made is not None and preparing.record(value) is made))
    ]
    return sorted(same, key=lambda name: name not in spelled)


def _read_behind(body: Sequence[p.Stmt], node: p.Assign, name: str) -> p.Name | None:
    """Where a variable is read first behind an assignment, for more than its size or a display."""
    found = reads.reads_of(body, node, name) or []
    inside = list(walk(*body))
    spared = {id(each.value) for each in inside if isinstance(each, p.Attribute) and each.name in _SIZES}
    for call in inside:
        if isinstance(call, p.Call):
            func = getattr(call.func, "name", "") or getattr(call.func, "id", "")
            if func in _SHOWS or func == "len":
                spared |= {id(each) for each in walk(call)}
    behind = [each for each in found if id(each) not in spared and each.at[:2] >= node.at[2:]]
    return min(behind, key=lambda each: each.at, default=None)


def _is_pure(run: Run, node: p.Expr) -> bool:
    """Whether all functions of the project that an expression calls only compute."""
    for call in (each for each in walk(node) if isinstance(each, p.Call)):
        func = run.resolve(run.evaluate(call.func)) if isinstance(call.func, p.Name) else None
        if isinstance(func, FunctionValue):
            stores = stores_of(func.node)
            stated = [each for each in walk(func.node.body) if isinstance(each, p.Evaluate)]
            if stores.attributes or stores.outer or any(not isinstance(each.value, p.Const) for each in stated):
                return False
    return True


def _imported(project: Project, name: str) -> list[str]:
    """Whether a file of the project imports the name, or all that a module has."""
    imports = re.compile(rf"^[ \t]*from\b[^#\n]*\bimport\b(?:[^#\n(]*|[ \t]*\([^)]*)\b{name}\b", re.MULTILINE)
    return yes(holds=any(map(imports.search, texts(project, name))))


KINDS["imported name"] = Kind(lambda name: (name,), _imported)
