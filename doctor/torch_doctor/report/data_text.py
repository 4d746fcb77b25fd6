"""Render which rows each loader reads, beside the source, as text or as JSON, and how they differ from those of training."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch_doctor.report import beside
from torch_doctor.trace import (
    Backward,
    BatchMeasured,
    BatchTaken,
    DatasetBuilt,
    Difference,
    Forward,
    LoaderBuilt,
    Rows,
    RowsGiven,
    differences,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source
    from torch_doctor.trace import Event, Preparation, Site, Trace

READS: Final[frozenset[type[Event]]] = frozenset(
    (Backward, BatchMeasured, BatchTaken, DatasetBuilt, Forward, LoaderBuilt, RowsGiven)
)
"""The events that tell of loaders, their rows, and what becomes of their batches."""
NOTHING: Final = Rows()
SAME: Final = Difference("selection", "the same rows")
DROPS: Final = Difference("selection", "without its last incomplete batch")


class Given(NamedTuple):
    """A loader, the rows that it reads, its order, what it is used for, and what differs from the rows of training."""

    loader: LoaderBuilt
    rows: Rows
    order: str
    use: str
    unlike: list[Difference]


def of(trace: Trace) -> Iterator[Given]:
    """Yield each loader of a trace."""
    rows = {event.loader: event.rows for event in trace.of(RowsGiven)}
    trained = {
        forward.inputs.loader
        for backward in trace.of(Backward)
        for forward in trace.at(*sorted(backward.forwards | backward.loss.forwards))
        if isinstance(forward, Forward)
    } - {0}
    evaluated = {forward.inputs.loader for forward in trace.of(Forward)} - trained
    ours = [rows[number] for number in sorted(trained) if number in rows]
    built = {event.dataset: event for event in trace.of(DatasetBuilt)}
    seen = {each.dataset for each in trace.of(LoaderBuilt) if each.loader in trained} - {0}
    same = {built[number].rows for number in seen & built.keys()} - {""}
    for loader in trace.of(LoaderBuilt):
        own = rows.get(loader.loader, NOTHING)
        use = "training" if loader.loader in trained else "evaluation" if loader.loader in evaluated else ""
        unlike = list(differences(ours[0], own)) if use == "evaluation" and len(ours) == 1 else []
        dataset = built.get(loader.dataset)
        if use == "evaluation" and dataset is not None and (dataset.dataset in seen or dataset.rows in same):
            unlike.insert(0, SAME)
        if use == "evaluation" and loader.drop_last is True:
            unlike.append(DROPS)
        yield Given(loader, own, _order(loader, own, dataset), use, unlike)


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
        texts = _observed(trace, given) if trace.observed else _notes(given)
        notes[given.loader.site].update(dict.fromkeys(texts))
    return beside.render({site: list(texts) for site, texts in notes.items()}, sources, look)


def _of_all(traces: Sequence[Trace]) -> Iterator[tuple[Trace, Given]]:
    """The loaders of all traces; one that nothing is done with only where no other trace has built it."""
    seen: set[tuple[Site, bool]] = set()
    for trace in traces:
        for given in of(trace):
            key = given.loader.site, trace.observed
            if given.use or key not in seen:
                seen.add(key)
                yield trace, given


def _notes(given: Given) -> Iterator[str]:
    """What is known of a loader from the source."""
    rows = given.rows
    source = f"{rows.source or 'unknown'}{f', {rows.selection}' if rows.selection else ''}"
    yield f"{given.use or 'rows'}: {source}"
    details = [f"order: {given.order or 'unknown'}"]
    if rows.sample:
        details.append(f"sample: {rows.sample}")
    yield "; ".join(details)
    if rows.preparations:
        yield f"prepared by {', '.join(map(_step, rows.preparations))}{'' if rows.complete else ', maybe more'}"
    for each in given.unlike:
        yield f"unlike training: {each.text}{_line(each.site)}"


def _observed(trace: Trace, given: Given) -> Iterator[str]:
    """What a run shows of a loader."""
    loader = given.loader
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
    return f"`{each.name}`{_line(each.site)}"


def _line(site: Site | None) -> str:
    return "" if site is None else f" (line {site.row})"


def render_json(traces: Sequence[Trace]) -> str:
    """Return a JSON list with an object for each loader."""
    records = []
    for trace, given in _of_all(traces):
        path, row, column, *_, cell = given.loader.site
        record: dict[str, Any] = {"path": path, "cell": cell, "row": row, "column": column}
        record |= {"name": given.loader.called, "use": given.use, "order": given.order, "observed": trace.observed}
        record |= {"source": given.rows.source, "selection": given.rows.selection, "sample": given.rows.sample}
        steps = given.rows.preparations
        record["preparations"] = [{"name": each.name, "row": each.site and each.site.row} for each in steps]
        record |= {"complete": given.rows.complete, "unlike_training": [each.text for each in given.unlike]}
        record["samples"] = given.loader.rows
        records.append(record)
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"
