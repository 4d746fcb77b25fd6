"""Render which rows each loader reads, beside the source, as text or as JSON, and how they differ from those of training."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch_doctor.report import beside
from torch_doctor.rule import Rule, all_rules
from torch_doctor.trace import (
    Backward,
    BatchMeasured,
    BatchTaken,
    DatasetBuilt,
    Forward,
    LoaderBuilt,
    Rows,
    RowsGiven,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Event, Preparation, Site, Trace

_READS: Final[frozenset[type[Event]]] = frozenset(
    (Backward, BatchMeasured, BatchTaken, DatasetBuilt, Forward, LoaderBuilt, RowsGiven)
)
"""The events that tell of loaders, their rows, and what becomes of their batches."""
NOTHING: Final = Rows()


class Given(NamedTuple):
    """The rows that a loader gives, or none does, in which order, for what, and what rules find beside those of training."""

    site: Site
    loader: LoaderBuilt | None
    rows: Rows
    order: str
    use: str
    compared: list[Finding]


def reads() -> frozenset[type[Event]]:
    """Return the events that tell of loaders, and those that the rules read that compare rows."""
    return _READS.union(*(rule.reads() for rule in all_rules() if type(rule).compared is not Rule.compared))


def of(trace: Trace) -> Iterator[Given]:
    """Yield each loader of a trace, and rows of no loader that rules compare.

    They compare what the source shows: a run confirms it, or not.
    """
    rows = {event.loader: event.rows for event in trace.of(RowsGiven)}
    trained = {
        forward.inputs.loader
        for backward in trace.of(Backward)
        for forward in trace.at(*sorted(backward.forwards | backward.loss.forwards))
        if isinstance(forward, Forward)
    } - {0}
    evaluated = {forward.inputs.loader for forward in trace.of(Forward)} - trained
    built = {event.dataset: event for event in trace.of(DatasetBuilt)}
    rules = () if trace.observed else all_rules()
    found = {
        (number, finding.code, finding.site): finding for rule in rules for number, finding in rule.compared(trace)
    }
    for loader in trace.of(LoaderBuilt):
        own = rows.get(loader.loader, NOTHING)
        use = "training" if loader.loader in trained else "evaluation" if loader.loader in evaluated else ""
        compared = [finding for (number, *_), finding in found.items() if number == loader.loader]
        yield Given(loader.site, loader, own, _order(loader, own, built.get(loader.dataset)), use, compared)
    for (number, *_), finding in found.items():
        if not number:
            yield Given(finding.site, None, NOTHING, "", "evaluation", [finding])


def _order(loader: LoaderBuilt, rows: Rows, dataset: DatasetBuilt | None) -> str:
    """In which order a loader gives its rows."""
    if loader.sampled:
        return "sampled"
    if loader.shuffle:
        return "shuffled"
    if rows.order:
        return rows.order
    if dataset is None or loader.shuffle is None or loader.sampled is None:
        return ""
    return (
        {True: "random", False: "stored", None: "stored"}[dataset.shuffled]
        if not dataset.iterable
        else "set by the data set"
    )


def render(traces: Sequence[Trace], sources: Mapping[str, Source], look: Look) -> str:
    """Return each line of the source that builds a loader, with what is known of its rows beside it."""
    notes: dict[Site, dict[str, None]] = defaultdict(dict)
    for trace, given in _of_all(traces):
        texts = _notes(given) if given.loader is None or not trace.observed else _observed(trace, given.loader)
        notes[given.site].update(dict.fromkeys(texts))
    return beside.render({site: list(texts) for site, texts in notes.items()}, sources, look)


def _of_all(traces: Sequence[Trace]) -> Iterator[tuple[Trace, Given]]:
    """The loaders of all traces; one that nothing is done with only where no other trace has built it."""
    seen: set[tuple[Site, bool]] = set()
    for trace in traces:
        for given in of(trace):
            key = given.site, trace.observed
            if given.use or key not in seen:
                seen.add(key)
                yield trace, given


def _notes(given: Given) -> Iterator[str]:
    """What is known of rows from the source."""
    rows = given.rows
    if given.loader is None:
        yield f"{given.use} without a loader"
    else:
        source = f"{rows.source or 'unknown'}{f', {rows.selection}' if rows.selection else ''}"
        yield f"{given.use or 'rows'}: {source}"
        yield f"order: {given.order or 'unknown'}{f'; sample: {rows.sample}' if rows.sample else ''}"
    if rows.preparations:
        yield f"prepared by {', '.join(map(_step, rows.preparations))}{'' if rows.complete else ', maybe more'}"
    for each in given.compared:
        yield f"unlike training: {each.message} ({each.code})"
        yield from (f"  {_place(step.site, given.site)}: {step.note}" for step in each.trail)


def _observed(trace: Trace, loader: LoaderBuilt) -> Iterator[str]:
    """What a run shows of a loader."""
    known = [
        f"{loader.rows} samples" if loader.rows is not None else "",
        f"batches of {loader.batch}" if loader.batch else "",
    ]
    dtypes = next(
        (event.dtypes for event in trace.of(BatchTaken) if event.loader == loader.loader and event.dtypes), ()
    )
    known.append(" and ".join(dtypes))
    measured = next((event for event in trace.of(BatchMeasured) if event.loader == loader.loader), None)
    if measured is not None:
        known.append(f"mean {measured.mean:.3g}, deviation {measured.std:.3g}")
    yield f"run: {', '.join(filter(None, known))}"


def _step(each: Preparation) -> str:
    return f"`{each.name}`{'' if each.site is None else f' (line {each.site.row})'}"


def _place(site: Site, at: Site) -> str:
    """A place beside another one."""
    return f"line {site.row}" if (site.path, site.cell) == (at.path, at.cell) else str(site)


def render_json(traces: Sequence[Trace]) -> str:
    """Return a JSON list with an object for each loader."""
    records = []
    for trace, given in _of_all(traces):
        path, row, column, *_, cell = given.site
        record: dict[str, Any] = {"path": path, "cell": cell, "row": row, "column": column}
        record |= {"name": given.loader.called if given.loader else "", "use": given.use, "order": given.order}
        record |= {"observed": trace.observed, "source": given.rows.source, "selection": given.rows.selection}
        record |= {"sample": given.rows.sample, "samples": given.loader.rows if given.loader else None}
        steps = given.rows.preparations
        record["preparations"] = [{"name": each.name, "row": each.site and each.site.row} for each in steps]
        record |= {"complete": given.rows.complete, "unlike_training": [*map(_found, given.compared)]}
        records.append(record)
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"


def _found(finding: Finding) -> dict[str, Any]:
    """What a rule finds, with its places."""
    places = [{"path": each.site.path, "row": each.site.row, "text": each.note} for each in finding.trail]
    return {"code": finding.code, "text": finding.message, "row": finding.site.row, "places": places}
