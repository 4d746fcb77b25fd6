"""The changes that execution makes to variables and objects, kept as a log so that branches can be undone and joined."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from torch_doctor.static.values import MISSING, Fields, PathFields, Symbol, Value, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

Changes: TypeAlias = dict[tuple[int, Any], tuple[Fields, Any, Any]]
"""Changed fields: the dict, the key, and the value after the change (or before it)."""


class Heap:
    """All state is in dicts; every write goes through `set` or `drop`. `structure` counts changes of module trees."""

    __slots__ = ("_at_first", "_count", "_log", "_logs", "_tree", "changed")

    def __init__(self) -> None:
        self.changed = Fields(0)  # values that something changed in place, each with what it is now
        self._log: list[tuple[Fields, Any, Any]] = []
        self._at_first = False
        self._logs: list[list[tuple[Fields, Any, Any]]] = []  # those that were put aside, the run's own first
        self._tree = Fields(0)
        self._tree["structure"] = 0
        self._count = 0

    @property
    def structure(self) -> int:
        """A number for the shape of all module trees: where it is the same, they are the same."""
        number: int = self._tree["structure"]
        return number

    def restructure(self) -> None:
        """Say that a module tree has changed."""
        self._count += 1
        self.set(self._tree, "structure", self._count)

    def set(self, fields: Fields, key: object, value: object) -> None:
        """Write one field."""
        old = fields.get(key, MISSING)
        if old is not value:
            self._log.append((fields, key, old))
            fields[key] = value

    def change(self, value: Value, now: Value) -> None:
        """Something that has no fields changes in place: who finds `value` anywhere finds `now` from here on."""
        self.set(self.changed, value, now)

    def current(self, value: Value) -> Value:
        """What a value is now."""
        now: Value | None = self.changed.get(value)
        while now is not None and now is not value:
            value, now = now, self.changed.get(now)
        return value

    def drop(self, fields: Fields, key: object) -> None:
        """Remove one field, if it is there."""
        if key in fields:
            self._log.append((fields, key, fields.pop(key)))

    def mark(self) -> int:
        """A point to come back to."""
        return len(self._log)

    def aside(self) -> None:
        """Put the log aside: what is changed until `back` is there to stay."""
        self._logs.append(self._log)
        self._log = []

    def back(self) -> None:
        """Go on with the log that was put aside last."""
        self._log = self._logs.pop()

    @contextmanager
    def at_first(self, *, but: Fields) -> Iterator[None]:
        """Within, which lies behind `aside`, all is as it was before the run began, `but` for one object.

        What is changed within has been changed before all that the run did.
        """
        if self._at_first:
            yield
            return
        run = [entry for entry in self._logs[0] if entry[0] is not but]
        changed = {(id(fields), key): (fields, key, fields.get(key, MISSING)) for fields, key, _ in run}
        first = {(id(fields), key): number for number, (fields, key, _) in reversed(list(enumerate(self._logs[0])))}
        for fields, key, old in reversed(run):
            _write(fields, key, old)
        self._at_first = True
        try:
            yield
            for fields, key, _ in self._log:
                if (id(fields), key) in changed:
                    self._logs[0][first[id(fields), key]] = fields, key, fields.get(key, MISSING)
        except BaseException:
            self.undo(0)
            raise
        finally:
            self._at_first = False
            for fields, key, value in changed.values():
                _write(fields, key, value)

    def undo(self, mark: int) -> None:
        """Take back every change since `mark`."""
        for fields, key, old in reversed(self._log[mark:]):
            _write(fields, key, old)
        del self._log[mark:]  # not before: where the time is over meanwhile, all of it can be taken back once more

    def only_newer(self, mark: int, number: int) -> bool:
        """Whether all changes since `mark` were to objects made after object `number`."""
        return all(fields.id > number for fields, _, _ in self._log[mark:])

    def changes(self, mark: int) -> Changes:
        """What was changed since `mark`, with the values that hold now."""
        return {(id(fields), key): (fields, key, fields.get(key, MISSING)) for fields, key, _ in self._log[mark:]}

    def before(self, mark: int) -> Changes:
        """What was changed since `mark`, with the values that held then."""
        result: Changes = {}
        for fields, key, old in self._log[mark:]:
            result.setdefault((id(fields), key), (fields, key, old))
        return result

    def apply(self, changes: Changes) -> None:
        """Make these changes."""
        for fields, key, value in changes.values():
            self._put(fields, key, value)

    def merge(self, other: Changes, mark: int, symbol: Symbol | None = None) -> None:
        """Join the current state with another one that also began at `mark`; `symbol` held in that one and not here.

        Of `PathFields`, what either of them has is there, changed where one changed it: as here where both did.
        """
        before = self.before(mark)
        for place, (fields, key, value) in other.items():
            if not isinstance(fields, PathFields):
                self._join(fields, key, value, symbol)
            elif value is not MISSING and (place not in before or key not in fields):
                self.set(fields, key, value)
            before.pop(place, None)
        for fields, key, value in before.values():
            if not isinstance(fields, PathFields):
                self._join(fields, key, value, symbol)
            elif value is not MISSING and key not in fields:
                self.set(fields, key, value)
        if self._tree["structure"] is None:
            self.restructure()

    def land(self, mark: int, arrivals: list[Changes], *, alive: bool) -> bool:
        """Join the current state (when `alive`) with others that also began at `mark`; True when there is any."""
        if not alive and arrivals:
            self.undo(mark)
            self.apply(arrivals[0])
            arrivals = arrivals[1:]
            alive = True
        for arrival in arrivals:
            self.merge(arrival, mark)
        return alive

    def _join(self, fields: Fields, key: object, value: object, symbol: Symbol | None) -> None:
        """A field is what it is, or this value where `symbol` holds."""
        now = fields.get(key, MISSING)
        if now is not value:
            if "rest" in fields and isinstance(key, tuple) and key[0] == "key":  # a dict may have had it all along
                rest = fields["rest"]
                value, now = (rest if each is MISSING else each for each in (value, now))
            self._put(fields, key, joined(key, value, now, symbol))

    def _put(self, fields: Fields, key: object, value: object) -> None:
        if value is MISSING:
            self.drop(fields, key)
        else:
            self.set(fields, key, value)


def _write(fields: Fields, key: object, value: object) -> None:
    """Write one field, or remove it, without a note in the log."""
    if value is MISSING:
        fields.pop(key, None)
    else:
        fields[key] = value
