"""Samples that were copied: tensors, arrays and datasets in which some rows occur more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains import altering
from torch_doctor.static.domains.altering import made_of
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.padding import filled_with
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import data, words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.datasets import TENSORS
from torch_doctor.static.tables.fitting import STATISTICS
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training import row_reading
from torch_doctor.static.values import (
    ARRAY,
    Const,
    Instance,
    Making,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

COPIES: Final = "copies"
ALTERED: Final = "altered"
CONSTANT: Final = "constant"
_RESAMPLED: Final = "resampled"
_CONCATENATION: Final = "torch.utils.data.ConcatDataset"
_JOINS: Final = frozenset(words("cat concat concatenate vstack row_stack"))
_REPEATS: Final = frozenset(words("repeat tile"))
_LISTING: Final = frozenset(words("tensor as_tensor arange linspace eye one_hot cartesian_prod combinations"))
_EACH: Final = "repeat_interleave"
_SAME: Final = frozenset(
    (*MOVES, *words("as_tensor from_numpy tensor clone contiguous detach long int numpy flatten ravel squeeze"))
)
"""What leaves the rows of its first argument as they are, apart from their dtype and place."""


def resampled(answer: str) -> Plain:
    """Return an array that was made by a library, of which this is the answer."""
    return Plain(size=Making(ARRAY, (Tensor(meta=Making(_RESAMPLED, (), of=answer)),)))


def copied(run: Run, values: Iterable[Value]) -> str:
    """Return whether values that belong together have rows more than once: `COPIES`, `ALTERED` or ""."""
    found = {value: run.ask(Copied, value) for value in values}
    if len(found) == 1 and all(isinstance(value, (Tool, Instance)) for value in found):
        return _of_selection(found.values())  # the values in a data set were put together already
    return together(found.values())


def together(answers: Iterable[str]) -> str:
    """The answer for values whose rows belong together: each has copies, or is the same for all rows.

    Rows that were changed belong to the same thing where another value, such as the labels, has copies as they are.
    """
    found = set(answers)
    if COPIES not in found or not found <= {COPIES, ALTERED, CONSTANT}:
        return ""
    return ALTERED if ALTERED in found else COPIES


class Copied(Domain[str]):
    """`COPIES` for values of which surely some rows occur more than once, `CONSTANT` where all numbers are one; else "".

    `ALTERED` where rows are joined with others that were made of them by noise, a factor or by turning them round. Whatever
    else is computed for each row ends what is known.
    """

    numbers = True

    def unknown(self) -> str:
        """Nothing."""
        return ""

    def record(self, value: Value) -> Making | None:
        """How a tensor or an array was made."""
        return made_of(value)

    def given(self, value: Value) -> str:
        """The answer for a dataset: for all the tensors that it consists of."""
        if isinstance(value, Instance):
            if row_reading.draws(value) or any(isinstance(each, (Unknown, Sequence)) for each in value.fields.values()):
                return ""
            return together(self.of(each) for each in value.fields.values() if _is_array(each))
        if not isinstance(value, Tool):
            return ""
        name = canonical(value.name)
        inner = value.args[0] if value.args else value.keywords.get("dataset") or value.keywords.get("datasets")
        if name in data.SUBSETS and inner is not None:
            return _of_selection(map(self.of, (inner, *value.args[1:2])))
        if name == _CONCATENATION and isinstance(inner, Sequence):
            return self._joined_rows(inner) or _read_twice(inner)
        return together(map(self.of, value.args)) if name == TENSORS else ""

    def read(self, made: Making) -> str:
        """What joins, repeats and selects rows, and what changes all of them alike."""
        if made.name == _RESAMPLED:
            return str(made.of)
        first = made.args[0] if made.args else None
        if filled_with(made) is not None or (made.name in (*_REPEATS, _EACH) and isinstance(first, Const)):
            return CONSTANT
        if first is None:
            return ""
        if made.name in _JOINS:
            return self._joined_rows(first) if isinstance(first, Sequence) and _along_rows(made) else ""
        if _repeats(made):
            return "" if _lists_all(first) else COPIES
        if _selects_rows(made):
            return _of_selection(map(self.of, made.args))
        if made.name in _SAME:
            return self.of(first)
        if made.name in ("+", "-", "*", "/") and all(map(_is_one_for_all, made.args[1:])):
            return self.of(first)
        return ""

    def _joined_rows(self, rows: Sequence) -> str:
        items = rows.content.items
        found = [self.of(item) for item in rows.content.all()]
        if COPIES in found or _meet(items, rows.content.rest):
            return COPIES
        if ALTERED in found or _are_altered(rows):
            return ALTERED
        return CONSTANT if found and set(found) == {CONSTANT} else ""


def _of_selection(answers: Iterable[str]) -> str:
    """The answer for rows that are selected, by that for the rows and that for their numbers."""
    found = set(answers)
    return COPIES if COPIES in found else ALTERED if ALTERED in found else ""


def _is_array(value: object) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, Plain) and made_of(value) is not None)


def _meet(items: tuple[Value, ...], rest: Value | None) -> bool:
    """Whether values that are put one behind the other have rows in common: all of something, and some of it again."""
    seen: dict[int, list[tuple[int, bool]]] = {}
    for item in (*items, *(() if rest is None else (rest,))):
        thing, root, whole = _source(item)
        if root is not None:
            seen.setdefault(id(root), []).append((id(thing), whole))
    return any(
        len(found) > 1 and (any(whole for _, whole in found) or len({thing for thing, _ in found}) < len(found))
        for found in seen.values()
    )


def _read_twice(datasets: Sequence) -> str:
    """`ALTERED` where two data sets read the same rows and prepare them in ways of their own."""
    keys = [altering.key(each) for each in datasets.content.all()]
    return ALTERED if len(set(keys)) < len(keys) and all(keys) else ""


def _are_altered(rows: Sequence) -> bool:
    """Whether some of the values that are put one behind the other were made of another one of them."""
    items = [*rows.content.all()]
    sets = [each for each in items if isinstance(each, (Tool, Instance))]
    if any(altering.wrapped(each) in sets for each in sets):
        return True
    originals = {made for each in items if (made := _arranged(made_of(each))) is not None}
    for item in items:
        made, changed = made_of(item), False
        while made is not None and made.args:
            alters = altering.alters(made)
            if not (alters or made.name in _SAME or _repeats(made) or _selects_rows(made)):
                break
            changed = changed or alters
            made = made_of(made.args[0])
            if changed and _arranged(made) in originals:
                return True
    return False


def _arranged(made: Making | None) -> Making | None:
    """How rows were made before they were moved or converted."""
    while made is not None and made.name in _SAME and made.args and (inner := made_of(made.args[0])) is not None:
        made = inner
    return made


def _source(value: Value) -> tuple[object, object, bool]:
    """What identifies some rows, and what they were selected from; beside it whether they are all of that."""
    if isinstance(value, (Tool, Instance)):
        root: Value = value
        while isinstance(root, Tool) and canonical(root.name) in data.SUBSETS and root.args:
            root = root.args[0]
        drawn = isinstance(root, Instance) and row_reading.draws(root)
        return value, None if drawn or not isinstance(root, (Tool, Instance)) else root, root is value
    made = first = made_of(value)
    whole = True
    while made is not None and made.args:
        inner = made_of(made.args[0])
        if inner is None or not (made.name in _SAME or _repeats(made) or _selects_rows(made)):
            break
        whole = whole and made.name in _SAME
        made = inner
    return first, made, whole


def _along_rows(made: Making) -> bool:
    given = made.args[1] if len(made.args) > 1 else made.keywords.get("dim", made.keywords.get("axis"))
    return given is None or (isinstance(given, Const) and given.value == 0)


def _repeats(made: Making) -> bool:
    """Whether rows are repeated as they are: along the first dimension, and along no other."""
    rank = len(measured(made.args[0]).shape or ()) if made.args else 0
    if made.name == _EACH:
        along = made.args[2] if len(made.args) > 2 else made.keywords.get("dim")
        if along is None:
            return rank <= 1  # anything else loses its rows
        return isinstance(along, Const) and along.value == 0
    if made.name not in _REPEATS or len(made.args) < 2:
        return False
    times = made.args[1:]
    if len(times) == 1 and isinstance(times[0], Sequence):
        times = times[0].content.items
    if not times or (rank and rank != len(times)):
        return False
    return not _is_1(times[0]) and all(map(_is_1, times[1:]))


def _is_1(value: Value) -> bool:
    return isinstance(value, Const) and value.value in (1, -1)


def _lists_all(value: Value) -> bool:
    """Whether rows are the few that there are, listed one by one: inputs of a truth table, places of a grid."""
    made = made_of(value)
    while made is not None and made.args and made.name in _SAME and not isinstance(made.args[0], Sequence):
        made = made_of(made.args[0])
    return made is not None and made.name in _LISTING


def _selects_rows(made: Making) -> bool:
    """Whether an index selects complete rows: a slice, a mask or a tensor of numbers."""
    if made.name == "index_select" and len(made.args) > 1:
        return isinstance(made.args[1], Const) and made.args[1].value == 0
    if made.name != "[]" or len(made.args) < 2 or isinstance(made.of, p.Display):
        return False
    return isinstance(made.of, p.Slice) or not isinstance(made.args[1], Const)


def _is_one_for_all(value: Value) -> bool:
    """Whether what a tensor is combined with is a number, or a statistic of all rows."""
    made = made_of(value)
    return isinstance(value, Const) or (made is not None and made.name in STATISTICS)
