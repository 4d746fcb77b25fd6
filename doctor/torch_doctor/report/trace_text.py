"""A trace to read: what the script does, indented by loop and function; and the same for programs."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import TYPE_CHECKING, Any

from torch_doctor import trace as t
from torch_doctor.report.event_words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source

LONGEST_TEST = 60
STRUCTURE = (t.CallEntered, t.LoopEntered, t.LoopIterated)


@dataclasses.dataclass(slots=True)
class Block:
    """An event and what happened within it: a call, a loop, one pass of it. The outermost has no event."""

    event: t.Event | None = None
    inner: list[Block] = dataclasses.field(default_factory=list)


def render(traces: Sequence[t.Trace], sources: Mapping[str, Source], look: Look) -> str:
    """The traces in which something happens, one after the other; calls and loops around nothing are left out."""
    shown = [(trace, block) for trace in traces if (block := _pruned(blocks(trace))).inner]
    return "\n".join(_Text(trace, sources, look).render(block) for trace, block in shown)


def render_json(traces: Sequence[t.Trace]) -> str:
    """A list of traces, each with its events in order."""
    return json.dumps([_trace_record(trace) for trace in traces], indent=2, ensure_ascii=False) + "\n"


def blocks(trace: t.Trace) -> Block:
    """The events as they lie within each other."""
    top = Block()
    stack = [top]
    for event in trace.events:
        if isinstance(event, (t.CallExited, t.LoopExited)):
            _leave(stack, event)
            continue
        if isinstance(event, t.LoopIterated):
            _leave(stack, event)
        block = Block(event)
        stack[-1].inner.append(block)
        if isinstance(event, STRUCTURE):
            stack.append(block)
    return top


def _pruned(block: Block) -> Block:
    """The block without calls, loops and passes in which nothing happens."""
    inner = [_pruned(each) for each in block.inner]
    return Block(block.event, [each for each in inner if each.inner or not isinstance(each.event, STRUCTURE)])


def _leave(stack: list[Block], event: t.CallExited | t.LoopExited | t.LoopIterated) -> None:
    """Go out to where the event happens: out of its call or loop, or only out of the loop's last pass."""
    for depth in range(len(stack) - 1, 0, -1):
        entered = stack[depth].event
        if isinstance(event, t.CallExited):
            if isinstance(entered, t.CallEntered) and entered.function == event.function:
                del stack[depth:]
                return
        elif isinstance(entered, t.LoopEntered) and entered.loop == event.loop:
            del stack[depth + isinstance(event, t.LoopIterated) :]
            return


class _Text:
    def __init__(self, trace: t.Trace, sources: Mapping[str, Source], look: Look) -> None:
        self._trace = trace
        self._sources = sources
        self._paint = look.paint
        self._words = Words()
        self._gutter = max((len(_position(event.site)) for event in trace.events), default=0)

    def render(self, block: Block) -> str:
        outside = " (a function that nobody in sight calls)" if self._trace.begins_outside else ""
        if self._trace.observed:
            outside = " (what happened when it ran)"
        name = self._trace.events[0].scope.chain()[0].name if self._trace.events else ""
        lines = [f"{self._paint(self._trace.path, 'bold')}{f', {name}' if name else ''}{outside}"]
        lines += self._block(block, 0, self._trace.path, frozenset())
        return "\n".join(lines) + "\n"

    def _block(self, block: Block, depth: int, path: str, known: t.Guards) -> Iterator[str]:
        previous: list[str] = []
        for inner in block.inner:
            event = inner.event
            if event is None:
                continue
            line = self._line(event, depth, path, known)
            within = event.function_site.path if isinstance(event, t.CallEntered) else path
            lines = list(self._block(inner, depth + 1, within, known | event.guards))
            if isinstance(event, t.LoopIterated) and lines and lines == previous:
                yield f"{line}: the same again"
                continue
            previous = lines
            yield line
            yield from lines

    def _line(self, event: t.Event, depth: int, path: str, known: t.Guards) -> str:
        paint = self._paint
        words = self._words.of(event)
        if isinstance(event, t.CallEntered):
            site = event.function_site
            words += f" ({site})" if site.path != path else f" (row {site.row})"
        elif event.site.path != path:
            words += f" (in {event.site.path})"
        style = ("bold",) if isinstance(event, (t.CallEntered, t.LoopEntered)) else ()
        where = paint(f"{_position(event.site):>{self._gutter}}", "dim")
        conditions = "".join(f"  {paint(note, 'yellow')}" for note in self._conditions(event.guards - known))
        return f"{where}  {'  ' * depth}{paint(words, *style) if style else words}{conditions}"

    def _conditions(self, guards: t.Guards) -> Iterator[str]:
        for number, arm in sorted(guards):
            branch = self._trace.branches[number]
            test = self._text_at(branch.site) or f"the test in row {branch.site.row}"
            often = ", every so many passes" if branch.kind is t.BranchKind.PERIODIC else ""
            yield f"[{'if' if arm else 'unless'} {test}{often}]"

    def _text_at(self, site: t.Site) -> str:
        source = self._sources.get(site.path)
        row = source.row_of(site) if source is not None else 0
        if source is None or not 0 < row <= len(source.shown):
            return ""
        end = site.end_column - 1 if site.end_row == site.row else None
        text = source.shown[row - 1][site.column - 1 : end].strip()
        text = text.removeprefix("if ").removeprefix("elif ").removesuffix(":")
        return text if len(text) <= LONGEST_TEST else text[: LONGEST_TEST - 1] + "…"


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
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
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
    """The value as JSON knows it."""
    if isinstance(value, t.Site):
        return value._asdict()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value
