"""From the lines that the agent wrote to the trace that rules read.

One JSON object a line; `t` says what it is. Places (`site`), loops and calls (`scope`) are numbered by the agent and come
before the first line that names them; events are counted from 0 and refer to each other by that number.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from torch_doctor import trace as t
from torch_doctor.probe.fields import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


IN_WORDS = frozenset({"left_out", "stand_in", "refused", "missing", "asked", "note", "doubt", "ended", "doing"})
"""What is shown to users, partly in the script's own words."""
LONGER = frozenset({"asked", "ended", "left_out"})
"""Those that may have several lines."""


class Reader:
    """Builds the trace line by line; what makes no sense is counted, and does no harm to the rest."""

    def __init__(
        self, path: str, shown: Callable[[str], str], placed: Callable[[t.Site], t.Site] = lambda site: site
    ) -> None:
        """`path` is the script as users see it; `shown` makes of absolute paths, `placed` of places what users see."""
        self.run = t.Run()
        self.trace = t.Trace(path, run=self.run)
        self.garbled = 0
        self.greeted = False
        self.failed: dict[int, int] = {}
        self._shown = functools.cache(shown)
        self._placed = placed
        self._sites: dict[int, t.Site] = {}
        self._nowhere = t.Site(path, 1, 1, 1, 1)
        self._root = t.Scope(t.ScopeKind.ROOT, self._nowhere)
        self._scopes: dict[int, t.Scope] = {}
        self._lines: dict[str, Callable[[dict[str, Any]], None]] = {
            "hello": self._hello,
            "doing": self._doing,
            "site": self._site,
            "scope": self._scope,
            "event": self._event,
            "measured": self._measured,
            "stand_in": self._stand_in,
            "refused": self._refused,
            "missing": self._missing,
            "asked": self._asked,
            "capped": self._capped,
            "note": self._note,
            "doubt": self._doubt,
            "ended": self._ended,
            "failed": self._failed,
            "late": self._late,
            "left_out": self._left_out,
            "learnt": lambda record: self.run.learnt.add(int(record["number"])),
            "figure": self._read,
            "replay": lambda record: self.run.replays.setdefault(record["what"], []).append(record["data"]),
            "weights": lambda record: self.run.weights.append((int(record["sizes"][0]), int(record["sizes"][1]))),
            "unlike": lambda record: self.run.unlike.add(record["what"]),
            "marked": lambda record: self.run.marked.update(self._rows(record)),
            "forked": lambda record: self.run.forked.update(self._rows(record)),
            "whole": lambda record: self.run.whole.update(self._rows(record)),
            "climbing": self._doing,
            "rung": self._doing,
            "logs": self._doing,
            "passed": lambda record: self.run.passed.update(self._rows(record)),
            "broken": lambda record: self.run.broken.update(self._rows(record)),
            "interposed": lambda record: self.run.interposed.extend(self._rows(record)),
        }

    def read(self, lines: Iterable[bytes]) -> t.Trace:
        """Takes all lines."""
        for line in lines:
            self.take(line)
        return self.trace

    def take(self, line: bytes) -> None:
        """Takes one line; of one that is cut off or not of the protocol, only the fact is kept."""
        try:
            record = json.loads(line)
            if record["t"] in IN_WORDS:
                record = _plain(record, keep="\n" if record["t"] in LONGER else "")
            self._lines[record["t"]](record)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            self.garbled += 1

    # --- what the lines say ---

    def _doing(self, record: dict[str, Any]) -> None:
        """Nothing that a rule reads: it is for those who wait."""

    def _hello(self, record: dict[str, Any]) -> None:
        self.greeted = True
        self.run.python, self.run.torch = str(record.get("python", "")), str(record.get("torch", ""))
        self.run.device = str(record.get("device", ""))

    def _site(self, record: dict[str, Any]) -> None:
        path, row, column, end_row, end_column = record["at"]
        site = t.Site(self._shown(path), int(row), int(column), int(end_row), int(end_column))
        self._sites[record["id"]] = self._placed(site)

    def _scope(self, record: dict[str, Any]) -> None:
        parent = record.get("parent")
        self._scopes[record["id"]] = t.Scope(
            t.ScopeKind(record["kind"]),
            self._at(record.get("site")),
            None if parent is None else self._scopes[parent],
            name=record.get("name") or "",
            loop=record.get("loop") or 0,
            number=record.get("number") or 0,
            loop_kind=t.LoopKind(record.get("loop_kind") or t.LoopKind.PLAIN.value),
            called_at=self._sites.get(record.get("called", -1)),
        )

    def _event(self, record: dict[str, Any]) -> None:
        """An event; one that cannot be read still counts, or the numbers of all that follow would be wrong."""
        site = self._at(record.get("at"))
        scope = self._scopes.get(record.get("in", -1), self._root)
        try:
            event = self._decoded(record, site, scope)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            self.garbled += 1
            event = t.GaveUp(site=site, scope=scope, reason=f"an event of the run is not known: {record.get('e')}")
        self.trace.add(event)

    def _decoded(self, record: dict[str, Any], site: t.Site, scope: t.Scope) -> t.Event:
        kind = t.EVENTS[record["e"]]
        return kind(site=site, scope=scope, index=self.trace.next, **decoded(kind, record, self._sites))

    def _measured(self, record: dict[str, Any]) -> None:
        self.run.measured.append(
            t.Measured(
                claim=str(record["claim"]),
                value=record["value"],
                unit=str(record.get("unit") or ""),
                site=self._sites.get(record.get("at", -1)),
                about=frozenset(record.get("about") or ()),
            )
        )

    def _stand_in(self, record: dict[str, Any]) -> None:
        self.run.stand_ins.append(
            t.StandIn(
                what=str(record["what"]),
                why=str(record.get("for") or ""),
                how=str(record.get("how") or ""),
                voids=frozenset(record.get("voids") or ()),
                site=self._sites.get(record.get("at", record.get("site", -1))),
            )
        )

    def _remark(self, record: dict[str, Any], text: str) -> t.Remark:
        return t.Remark(text, self._sites.get(record.get("at", record.get("site", -1))))

    def _refused(self, record: dict[str, Any]) -> None:
        self.run.refused.append(self._remark(record, str(record["what"])))

    def _missing(self, record: dict[str, Any]) -> None:
        self.run.missing.append(self._remark(record, str(record.get("text") or record["what"])))

    def _asked(self, record: dict[str, Any]) -> None:
        self.run.asked.append(self._remark(record, str(record["text"])))

    def _capped(self, record: dict[str, Any]) -> None:
        self.run.capped[self._sites[record["at"]]] = int(record["passes"])

    def _note(self, record: dict[str, Any]) -> None:
        self.run.notes.append(str(record["text"]))

    def _doubt(self, record: dict[str, Any]) -> None:
        text = str(record["text"])
        self.run.notes.append(text)
        self.run.doubt = self.run.doubt or text

    def _late(self, record: dict[str, Any]) -> None:
        self.run.late = self._row(record["path"], int(record["row"]))

    def _read(self, record: dict[str, Any]) -> None:
        site = self._sites[record["at"]]
        self.run.read.append(t.Read(site, str(record["how"]), str(record["text"]), dict(record["parts"])))

    def _failed(self, record: dict[str, Any]) -> None:
        """A process that the launcher started ended with this status (negative: its signal)."""
        self.failed[int(record["rank"])] = int(record["status"])

    def _ended(self, record: dict[str, Any]) -> None:
        frames = tuple(
            t.Frame(self._row(path, row), function, line.strip())
            for path, row, function, line in record.get("traceback") or ()
        )
        self.run.end = t.End(
            how=str(record["how"]),
            status=int(record.get("status") or 0),
            exception=str(record.get("exception") or ""),
            frames=frames,
            interface=str(record.get("interface") or ""),
            time=float(record.get("time") or 0.0),
            values=dict(record.get("values") or {}),
        )

    def _left_out(self, record: dict[str, Any]) -> None:
        """A statement failed, and the script went on without it."""
        frames = tuple(t.Frame(self._row(path, int(row)), str(name), "") for path, row, name in record["places"])
        values = dict(record["values"])
        self.run.left_out.append(
            t.End(how="exception", exception=str(record["exception"]), frames=frames, values=values)
        )

    # --- values ---

    def _row(self, path: str, row: int) -> t.Site:
        return self._placed(t.Site(self._shown(path), row, 1, row, 1))

    def _rows(self, record: dict[str, Any]) -> list[t.Site]:
        return [self._row(record["path"], int(row)) for row in record["rows"]]

    def _at(self, number: int | None) -> t.Site:
        return self._nowhere if number is None else self._sites[number]


def printable(text: str, keep: str = "") -> str:
    """A text that does nothing to a terminal: what cannot be seen is spelled out, but for what is to be kept."""
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode() for each in text
    )


def _plain(value: Any, keep: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return value if value.isprintable() else printable(value, keep)
    if isinstance(value, dict):
        return {name: _plain(each, keep) for name, each in value.items()}
    return [_plain(each, keep) for each in value] if isinstance(value, list) else value
