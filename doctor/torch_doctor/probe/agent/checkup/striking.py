"""What strikes in the data and may well be right: columns and images that are constant, samples that come twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import broken, is_dense, rows
from .pictures import is_image
from .shift import columns_of
from .telling import count, listed, number

if TYPE_CHECKING:
    from .roles import Roles
    from .sampling import Sample

FEWEST = 32  # samples without which a constant column is no wonder
TOLD = 6  # columns that are named


def striking(torch: Any, sample: Sample, known: Roles) -> list[str]:
    """Return a sentence for each thing that strikes in the inputs of a set."""
    if sample.loader is None or sample.rows() < FEWEST:
        return []
    paths = [path for path in known.inputs if path in sample.parts]
    return [text for path in paths for text in (_constants(torch, sample, path), _blank(sample, path)) if text]


def _constants(torch: Any, sample: Sample, path: str) -> str:
    """The columns of a table that have one value; zeros only where all samples were checked, as rare flags are zero."""
    if sample.parts[path][0].dim() != 2:
        return ""
    columns = columns_of(torch, sample, path)
    found = {
        name.removeprefix("column "): float(values[0])
        for name, values in columns.items()
        if values.numel() >= FEWEST and float(values.min()) == float(values.max()) and (sample.whole or values[0] != 0)
    }
    if not found or len(found) == len(columns):
        return ""
    names = list(found)
    several = f"columns {listed(names[:TOLD])}" + f" and {len(names) - TOLD} more" * (len(names) > TOLD)
    what = f"column {names[0]}" if len(names) == 1 else several
    value = f" ({number(found[names[0]])})" if len(names) == 1 else ""
    checked = "" if sample.whole else f" in {count(sample.rows(), 'checked sample')}"
    return f"{what} of {path} {'is' if len(names) == 1 else 'are'} constant{value}{checked}"


def _blank(sample: Sample, path: str) -> str:
    """Images that have a single value."""
    parts = [each for each in sample.parts[path] if is_dense(each) and is_image(each)]
    flat = [each.reshape(each.shape[0], -1) for each in parts]
    many, total = sum(int((each.amax(1) == each.amin(1)).sum()) for each in flat), sum(map(len, flat))
    return (
        f"{many} of {count(total, 'image')} of {sample.name} {'has' if many == 1 else 'have'} a single value"
        if many
        else ""
    )


def not_finite(found: list[Sample]) -> list[str]:
    """Return what is not finite in the data of all sets: how many values in how many samples, and in which columns."""
    told = []
    for sample in found:
        for path, tensors in sample.parts.items():
            bad = sum(map(broken, tensors))
            if bad:
                nan = sum(int(each.isnan().sum()) for each in tensors if broken(each))
                what = "NaN" if nan == bad else "not finite" if nan else "infinite"
                text = f"{count(bad, 'value')} of {path} in {sample.name} {'is' if bad == 1 else 'are'} {what}"
                told.append(text + _where(sample, tensors))
    return told


def _where(sample: Sample, tensors: list[Any]) -> str:
    """In how many samples values are not finite, and in which columns of a table; "" where samples are unknown."""
    if sample.loader is None or len(tensors) != len(sample.batches):
        return ""
    if any(not each.dim() or each.shape[0] != rows(batch) for each, batch in zip(tensors, sample.batches)):
        return ""
    wrong = [~each.isfinite() for each in tensors]
    many = sum(int(each.reshape(each.shape[0], -1).any(1).sum()) for each in wrong)
    places = {int(place) for each in wrong if each.dim() == 2 for place in each.any(0).nonzero()}
    columns = [str(place) for place in sorted(places)][:TOLD] if tensors[0].dim() == 2 else []
    few = columns and len(places) <= TOLD
    of = f", column{'s' * (len(columns) > 1)} {listed(columns)}" if few else ""
    return f" ({many:,} of {count(sample.rows(), 'sample')}{of})"
