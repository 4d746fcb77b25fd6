"""Render traces as text, indented by call, loop and condition, or as JSON."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from torch_doctor import trace as t
from torch_doctor.report.trace_blocks import Block, nested

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source

LONGEST_TEST = 60
EMPHASIZED = (t.CallEntered, t.LoopEntered)


def render(traces: Sequence[t.Trace], sources: Mapping[str, Source], look: Look) -> str:
    """Return the text of all traces that are not empty, in order."""
    shown = [(trace, block) for trace in traces if (block := nested(trace)).inner]
    return "\n".join(_Text(trace, sources, look).render(block) for trace, block in shown)


def render_json(traces: Sequence[t.Trace]) -> str:
    """Return the traces as a JSON list, each with its events in order."""
    return json.dumps([_trace_record(trace) for trace in traces], indent=2, ensure_ascii=False) + "\n"


class _Text:
    def __init__(self, trace: t.Trace, sources: Mapping[str, Source], look: Look) -> None:
        self._trace = trace
        self._sources = sources
        self._paint = look.paint
        self._names = trace.names()
        self._gutter = max((len(_position(event.site)) for event in trace.events), default=0)

    def render(self, block: Block) -> str:
        outside = " (a function without known callers)" if self._trace.begins_outside else ""
        if self._trace.observed:
            outside = " (recorded at run time)"
        name = self._trace.events[0].scope.chain()[0].name if self._trace.events else ""
        lines = [f"{self._paint(self._trace.path, 'bold')}{f', {name}' if name else ''}{outside}"]
        lines += self._within(block, 0, self._trace.path)
        return "\n".join(lines) + "\n"

    def _within(self, block: Block, depth: int, path: str) -> Iterator[str]:
        previous: list[str] = []
        for inner in block.inner:
            lines = list(self._block(inner, depth, path))
            if isinstance(inner.event, t.LoopIterated) and lines[1:] and lines[1:] == previous:
                yield f"{lines[0]}: same as above"
                continue
            previous = lines[1:]
            yield from lines

    def _block(self, block: Block, depth: int, path: str) -> Iterator[str]:
        """Yield the lines of a block and its contents; a condition around a single line is appended to that line."""
        notes = []
        while block.condition is not None and len(block.inner) == 1:
            notes.append(f"[{self._condition(*block.condition)}]")
            (block,) = block.inner
        if block.condition is not None:
            site = self._trace.branches[block.condition[0]].site
            yield self._line(site, depth, self._condition(*block.condition), notes, "yellow")
        elif block.event is not None:
            words = self._event_words(block.event, path)
            yield self._line(block.event.site, depth, words, notes, *["bold"] * isinstance(block.event, EMPHASIZED))
        if isinstance(block.event, t.CallEntered):
            path = block.event.function_site.path
        yield from self._within(block, depth + 1, path)

    def _line(self, site: t.Site, depth: int, words: str, notes: Sequence[str], *style: str) -> str:
        where = self._paint(f"{_position(site):>{self._gutter}}", "dim")
        shown = self._paint(words, *style) if style else words
        return f"{where}  {'  ' * depth}{shown}{''.join('  ' + self._paint(note, 'yellow') for note in notes)}"

    def _event_words(self, event: t.Event, path: str) -> str:
        words = event.words(self._names)
        if isinstance(event, t.CallEntered):
            site = event.function_site
            if event.function == "__init__":
                words = f"call {self._built(event.site)}"
            return f"{words} ({site})" if site.path != path else f"{words} (line {site.row})"
        if isinstance(event, t.LoopEntered) and self._row(event.site).lstrip().startswith("while"):
            words = words.replace("loop over", "loop while", 1)
        return f"{words} (in {event.site.path})" if event.site.path != path else words

    def _built(self, site: t.Site) -> str:
        """Return the name of the called constructor, with its class if the source names it."""
        name = self._row(site)[site.column - 1 :].partition("(")[0].removesuffix(".__init__")
        if name == "super":
            return "super().__init__"
        return f"{name}.__init__" if name.replace(".", "").isidentifier() else "__init__"

    def _condition(self, number: int, arm: bool) -> str:  # noqa: FBT001 - the arm of a branch is one
        branch = self._trace.branches[number]
        test = self._test(branch.site) or f"the condition on line {branch.site.row}"
        often = " (periodic)" if branch.kind is t.BranchKind.PERIODIC else ""
        return f"{'if' if arm else 'unless'} {test}{often}"

    def _test(self, site: t.Site) -> str:
        end = site.end_column - 1 if site.end_row == site.row else None
        text = self._row(site)[site.column - 1 : end].strip()
        text = text.removeprefix("if ").removeprefix("elif ").removesuffix(":")
        return text if len(text) <= LONGEST_TEST else text[: LONGEST_TEST - 1] + "…"

    def _row(self, site: t.Site) -> str:
        """Return the source line where the site starts, or "" if the source is not available."""
        source = self._sources.get(site.path)
        row = source.row_of(site) if source is not None else 0
        return source.shown[row - 1] if source is not None and 0 < row <= len(source.shown) else ""


def _position(site: t.Site) -> str:
    cell = "" if site.cell is None else f"cell {site.cell}:"
    return f"{cell}{site.row}:{site.column}"


def _trace_record(trace: t.Trace) -> dict[str, Any]:
    return {
        "path": trace.path,
        "observed": trace.observed,
        "begins_outside": trace.begins_outside,
        "branches": [_plain(branch) for branch in trace.branches],
        "events": [_event_record(event) for event in trace.events],
    }


def _event_record(event: t.Event) -> dict[str, Any]:
    fields = asdict(event)
    site, scope = fields.pop("site"), fields.pop("scope")
    guards = [{"branch": branch, "arm": arm} for branch, arm in sorted(fields.pop("guards"))]
    within = [_scope_record(each) for each in scope.chain()]
    index = fields.pop("index")
    shown = {name: _plain(value) for name, value in fields.items()}
    return {
        "index": index,
        "event": type(event).__name__,
        "site": _plain(site),
        **shown,
        "guards": guards,
        "within": within,
    }


def _scope_record(scope: t.Scope) -> dict[str, Any]:
    if scope.kind is t.ScopeKind.ITERATION:
        return {"kind": scope.kind.value, "loop": scope.loop, "number": scope.number, "over": scope.loop_kind.value}
    return {"kind": scope.kind.value, "name": scope.name}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any field of any event
    """Return the value as a type that JSON supports."""
    if isinstance(value, t.Site):
        return value._asdict()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, Struct):
        return {name: _plain(field) for name, field in asdict(value).items()}
    return value
