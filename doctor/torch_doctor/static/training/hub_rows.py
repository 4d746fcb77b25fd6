"""Data sets of a hub: which rows they have, by the split, the choice and the order that a script takes them in.

Nothing else is known of them. Their methods leave them as they are and return new ones; only what maps the names of
splits to data sets can be changed, and of such a one nothing is known any more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.libraries import hugging_face
from torch_doctor.static.library import library_family
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.training.data import stretches
from torch_doctor.static.values import (
    Call,
    Const,
    Default,
    Lib,
    Mapping,
    Object,
    Plain,
    Sequence,
    Unknown,
    Value,
    fresh_symbol,
    symbol_of,
)
from torch_doctor.trace import Stretch

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

_KEEPING = frozenset(
    words(
        """
        map cast cast_column remove_columns rename_column rename_columns select_columns add_column with_format
        with_transform flatten flatten_indices class_encode_column
        """
    )
)
"""Methods that give the rows of the data set itself, or what is made of them."""
_ORDERING = frozenset(words("shuffle sort"))
_CHOOSING = frozenset(words("filter shard"))
_CHANGING = frozenset(words("update pop popitem clear setdefault"))
"""Methods that change which names have which data sets."""
_SPLIT = re.compile(r"([^\[\]+]+)\[(-?\d*)(%?):(-?\d*)(%?)\]")
"""A part of a split, as `train[:80%]`."""


class Rows(Struct, frozen=True):
    """Rows of a data set: the same ones have the same `text`. `order` is how they were put in order, "" as they are stored.

    `of` are those that they were chosen from, and `stretches` the one of these that they are, where that is known. What
    maps names to data sets that the script put there has these as its `parts`.
    """

    text: str
    order: str = ""
    of: Rows | None = None
    stretches: tuple[Stretch, ...] = ()
    parts: dict[Symbol, Rows] | None = None

    @property
    def stored(self) -> bool:
        """Whether they surely are in the order in which the hub stores them: nobody shuffled, sorted or split them.

        Files that the script names itself may have been written in any order.
        """
        of_hub = self.text.startswith(tuple(hugging_face.SPLITS)) and "data_files=" not in self.text
        whole = of_hub and not self.order
        return whole and (self.of is None or self.of.stored)


class Stored(Lasting):
    """The data sets of a hub, or what maps names to them, by their symbols."""

    rows: dict[Symbol, Rows] = per_run(dict)


def of(run: Run, value: Value) -> Rows | None:
    """The rows of such a data set; None for anything else."""
    known = run.of(Stored).rows
    return _of_symbol(known, value.symbol) if known and isinstance(value, Unknown) else None


def _of_symbol(known: dict[Symbol, Rows], symbol: Symbol) -> Rows | None:
    if symbol in known:
        return known[symbol]
    if symbol[0] != "[]" or len(symbol) != 3 or not isinstance(symbol[1], tuple):
        return None
    whole = _of_symbol(known, symbol[1])
    if whole is not None and whole.parts is not None:
        return whole.parts.get(symbol[2])
    return None if whole is None else Rows(f"{whole.text}[{_shown(symbol[2])}]", whole.order, whole.of)


def _shown(symbol: Symbol) -> str:
    return repr(symbol[1]) if symbol[0] == "const" else repr(symbol)


@library_family(hugging_face.SPLITS)
def loaded(run: Run, name: str, call: Call) -> Value:
    """Read a data set of a hub, one split of it or all of them."""
    result = opaque_calls.opaque(run, Lib(name), call)
    streamed = call.flag("streaming", default=False) is not False
    if isinstance(result, Unknown) and "**" not in call.keywords and not streamed:
        split = call.keywords.get("split")
        keywords = {key: value for key, value in call.keywords.items() if key != "split"}
        text = _texts(name, call, keywords)
        if split is None or (isinstance(split, Const) and split.value is None):
            run.of(Stored).rows[result.symbol] = Rows(text)
        elif isinstance(split, Const) and isinstance(split.value, str):
            run.of(Stored).rows[result.symbol] = _split(text, split.value)
    return result


@library_family(hugging_face.MADE)
def made(run: Run, name: str, call: Call) -> Value:
    """Make a data set of rows that the script has."""
    result = opaque_calls.opaque(run, Lib(name), call)
    if isinstance(result, Unknown):
        run.of(Stored).rows[result.symbol] = Rows(f"made {fresh_symbol()}")
    return result


@library_family(hugging_face.TABLES)
def put_together(run: Run, name: str, call: Call) -> Value:
    """Give names to data sets."""
    given = call.argument(0)
    given = None if given is None else run.resolve(given)
    fields = given.fields if isinstance(given, Mapping) else {}
    named = {key[1]: value for key, value in fields.items() if isinstance(key, tuple) and isinstance(value, Value)}
    result = opaque_calls.opaque(run, Lib(name), call)
    known = {symbol_of(Const(key)): of(run, run.resolve(value)) for key, value in {**named, **call.keywords}.items()}
    if isinstance(result, Unknown) and "rest" not in fields and "**" not in call.keywords:
        parts = {key: rows for key, rows in known.items() if rows is not None}
        run.of(Stored).rows[result.symbol] = Rows(f"made {fresh_symbol()}", parts=parts)
    return result


def _split(text: str, name: str) -> Rows:
    """The rows of a split, or of a part of one."""
    part = _SPLIT.fullmatch(name)
    if part is None:
        return Rows(f"{text}[{name!r}]")
    whole, start, first, stop, last = part.groups()
    stretch = Stretch(f"split{first or last}", int(start) if start else None, int(stop) if stop else None)
    same = not start or not stop or first == last
    return Rows(f"{text}[{name!r}]", "", Rows(f"{text}[{whole!r}]"), (stretch,) if same else ())


def noted(run: Run, source: Unknown, name: str, call: Call, result: Value) -> None:
    """A method was called of what is perhaps such a data set."""
    rows = of(run, source)
    if name in _CHANGING:
        changed(run, source)
    made = None if rows is None or not isinstance(result, Unknown) else _made(run, rows, name, call)
    if made is not None and isinstance(result, Unknown):
        run.of(Stored).rows[result.symbol] = made


def _made(run: Run, rows: Rows, name: str, call: Call) -> Rows | None:
    """What a method gives of these rows."""
    if name in _KEEPING:
        return rows
    if rows.parts is not None:
        return None
    if name in _ORDERING:
        seeded = name == "sort" or "seed" in call.keywords or bool(call.args)
        how = _texts(name, call, call.keywords) if seeded else ""
        return Rows(rows.text, f"{rows.order}.{how or fresh_symbol()}", rows.of, rows.stretches)
    if name in _CHOOSING:
        return Rows(f"{rows.text}.{_texts(name, call, call.keywords)}", rows.order, rows)
    if name == "train_test_split":
        seeded = "seed" in call.keywords or "shuffle" in call.keywords
        how = f"{rows.text}{rows.order}.{_texts(name, call, call.keywords)}" if seeded else f"split {fresh_symbol()}"
        return Rows(how, "", rows)
    found = _stretch(run, name, call)
    if found is None:
        return None
    ordered = Rows(f"{rows.text}{rows.order}", "", rows) if rows.order else rows
    return Rows(f"{ordered.text}[{found.start}:{found.stop}]", "", ordered, (found,))


def _stretch(run: Run, name: str, call: Call) -> Stretch | None:
    """Which stretch `select(range(...))`, `take(n)` and `skip(n)` choose."""
    given = call.argument(0, "indices", "n")
    if name == "select" and given is not None:
        known = stretches.of(run, (given,))
        return known[0] if len(known) == 1 else None
    bound = given.value if isinstance(given, Const) and not isinstance(given, Default) else None
    if type(bound) is not int or name not in ("take", "skip"):
        return None
    return Stretch(stretches.RANGE, 0, bound) if name == "take" else Stretch(stretches.RANGE, bound, None)


def changed(run: Run, holder: Unknown) -> Unknown:
    """What maps names to data sets when one of them got another: nothing is known any more of what it has."""
    if of(run, holder) is None:
        return holder
    now = Unknown(holder.flow, holder.holds, origin=holder.origin)
    run.of(Stored).rows[now.symbol] = Rows(f"changed {now.symbol}")
    run.heap.change(holder, now)
    return now


def _texts(name: str, call: Call, keywords: dict[str, Value]) -> str:
    """What identifies a call with what it is given."""
    given = [*map(_text, call.args), *(f"{key}={_text(value)}" for key, value in sorted(keywords.items()))]
    return f"{name}({', '.join(given)})"


def _text(value: Value) -> str:
    """What identifies an argument: no other one has it."""
    if isinstance(value, Const) and not isinstance(value, Default):
        return repr(value.value)
    if isinstance(value, Sequence) and value.content.rest is None:
        return f"[{', '.join(map(_text, value.content.items))}]"
    if isinstance(value, Mapping) and "rest" not in value.fields:
        return (
            f"{{{', '.join(f'{key}: {_text(item)}' for key, item in value.fields.items() if isinstance(item, Value))}}}"
        )
    if isinstance(value, (Const, Plain, Unknown)):
        return repr(symbol_of(value))
    return f"object {value.id}" if isinstance(value, Object) else repr(fresh_symbol())
