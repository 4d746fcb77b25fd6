"""What rows were read from: a file that the same function reads again in the same way gives the same rows.

A value remembers it in the rows of its flow, with the key under which it lay in what was read, and where it was changed in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import NONE, PART
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Lib, Mapping, Sequence, Symbol, Value, symbol_of
from torch_doctor.static.values.symbols import alike
from torch_doctor.trace import RowsRead

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site


READING: frozenset[str] = frozenset(
    (
        *(f"numpy.{name}" for name in words("load loadtxt genfromtxt")),
        *(
            f"pandas.{name}"
            for name in words("read_csv read_table read_excel read_parquet read_feather read_pickle read_json")
        ),
        *words("torch.load joblib.load scipy.io.loadmat builtins.open io.open codecs.open"),
    )
)
"""Functions that read rows from a file."""

_TABLES: frozenset[str] = frozenset(name for name in READING if name.startswith("pandas.") or name.endswith("txt"))
"""Those that read tables, which are no pictures."""

WRITING: frozenset[str] = frozenset(
    (*(f"numpy.{name}" for name in words("save savez savez_compressed savetxt")), "torch.save", "joblib.dump")
)
"""Functions that write a file of that sort."""


class Readings(Lasting):
    """The events by what they read, and where files were surely written, by their paths."""

    events: dict[str, int] = per_run(dict)
    written: dict[Symbol, set[Site]] = per_run(dict)
    tables: set[int] = per_run(set)
    texts: dict[int, str] = per_run(dict)


def reads(name: str, call: Call) -> bool:
    """Whether a function gives the same each time that it is given the same."""
    if name.startswith("sklearn.datasets.make_"):
        return isinstance(call.keywords.get("random_state"), Const)
    return name in READING or name.startswith(("sklearn.datasets.load_", "sklearn.datasets.fetch_"))


def of_call(run: Run, name: str, call: Call) -> frozenset[int]:
    """What is known of the rows that a call of a library reads."""
    if run.modules_called or not reads(name, call):
        return NONE
    path = call.argument(0)
    written = run.of(Readings).written.get(symbol_of(path), set()) if path is not None else set()
    given = [_told(value) for value in call.args], {key: _told(value) for key, value in sorted(call.keywords.items())}
    found = _event(run, f"{name} {given} {sorted(map(str, written))}", call.node)
    for number in found:
        run.of(Readings).texts[number] = f"{name} {[alike(symbol_of(value)) for value in call.values]}"
    run.of(Readings).tables |= found if name in _TABLES else NONE
    return found


@library_family(WRITING, stage=Stage.NOTE)
def writes(run: Run, _: str, call: Call) -> None:
    """Note that a file is written, where that surely happens."""
    for value in call.values if not run.assumed else ():
        if isinstance(value, Const) and isinstance(value.value, str):
            run.of(Readings).written.setdefault(symbol_of(value), set()).add(run.site(call.node))


def under(run: Run, value: Value, key: object, node: p.Node) -> frozenset[int]:
    """What is known of the rows that lie under a key of what was read."""
    return _event(run, f"[{key!r}]", node) if isinstance(key, str) and among(run, value.flow.rows) else NONE


def changed(run: Run, value: Value, node: p.Node) -> frozenset[int]:
    """What is known of rows that were read and are changed here."""
    return _event(run, f"changed {run.site(node)}", node) if among(run, value.flow.rows) else NONE


def among(run: Run, rows: frozenset[int]) -> frozenset[int]:
    """The readings among what is known of rows."""
    events = run.trace.at(*sorted(rows - {PART})) if rows else ()
    return frozenset(event.index for event in events if isinstance(event, RowsRead))


def text(run: Run, rows: frozenset[int]) -> str:
    """A text that is the same for rows that were read from the same files, or from files of which nobody knows the names."""
    texts = run.of(Readings).texts
    return " and ".join(texts.get(number, str(number)) for number in sorted(among(run, rows)))


def are_tables(run: Run, read: frozenset[int]) -> bool:
    """Whether tables are among what was read."""
    return not read.isdisjoint(run.of(Readings).tables)


def _event(run: Run, how: str, node: p.Node) -> frozenset[int]:
    events = run.of(Readings).events
    if how not in events:
        events[how] = run.emit(RowsRead, node).index
    return frozenset((events[how],))


def _told(value: Value) -> object:
    """What tells an argument from others."""
    if isinstance(value, Sequence) and value.content.rest is None:
        return [_told(item) for item in value.content.items]
    if isinstance(value, Mapping):
        return {str(key): _told(item) for key, item in value.fields.items() if isinstance(item, Value)}
    return value.name if isinstance(value, Lib) else symbol_of(value)
