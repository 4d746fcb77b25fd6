"""How values are spread in training and validation: the shares of bins, which the reporting side draws side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import is_dense
from .shift import columns_of, kolmogorov
from .telling import count, line, plot

if TYPE_CHECKING:
    from .sampling import Sample

BINS = 24
MOST = 12  # columns that are drawn
MANY = 100_000  # values of one channel that are counted
CHANNELS = 8  # that are drawn each by itself
PICTURES, SERIES = 4, 3  # dimensions of batches of images, and of series of several values


def numbers(torch: Any, sets: list[Sample], path: str) -> dict[str, list[Any]]:
    """The values of each column of a table, for each set; {} where it is none."""
    found = [columns_of(torch, each, path) for each in sets]
    return {name: [own[name] for own in found if name in own] for name in found[0]} if found and found[0] else {}


def spread_values(torch: Any, sets: list[Any], path: str) -> dict[str, list[Any]]:
    """All values of images, waves and series, for each set; of each channel or feature where they have few."""
    found: dict[str, list[Any]] = {}
    for each in sets:
        tensors = [each] if isinstance(each, torch.Tensor) else each.parts.get(path, [])
        tensors = [own for own in tensors if is_dense(own) and own.numel() and not own.is_complex()]
        tensors = [own for own in tensors if own.dim() == tensors[0].dim()]
        for name, values in _channels(torch, tensors).items():
            found.setdefault(name, []).append(values)
    return found


def _channels(torch: Any, tensors: list[Any]) -> dict[str, Any]:
    if not tensors:
        return {}
    dims, shape = tensors[0].dim(), tensors[0].shape
    place, what = 0, "channel"
    if dims == PICTURES:
        place = 1 if shape[1] <= CHANNELS else 3
    elif dims == SERIES:
        place, what = (2, "feature") if shape[2] <= CHANNELS else (1, "channel")
    if not place or not 1 < shape[place] <= CHANNELS or any(each.shape[place] != shape[place] for each in tensors):
        return {"all values": _some(torch, tensors)}
    return {
        f"{what} {number}": _some(torch, [each.select(place, number) for each in tensors])
        for number in range(shape[place])
    }


def _some(torch: Any, tensors: list[Any]) -> Any:
    """The finite values, or some of them from all over where there are many."""
    step = max(1, sum(each.numel() for each in tensors) // MANY)
    values = torch.cat([each.detach().reshape(-1)[::step].double().cpu() for each in tensors])
    return values[values.isfinite()]


def histograms(
    torch: Any, title: str, columns: dict[str, list[Any]], names: list[str], told: str = ""
) -> list[dict[str, Any]]:
    """A figure with a panel for each column, and in it the share of each bin for each set; [] where there are no values."""
    columns = {name: sets for name, sets in columns.items() if sets and all(each.numel() for each in sets)}
    shown = list(columns)
    if len(shown) > MOST:
        shown = sorted(sorted(shown, key=lambda name: -_interest(torch, columns[name]))[:MOST], key=shown.index)
    drawn = [series for name in shown for series in _panel(torch, name, columns[name], names)]
    if not drawn:
        return []
    some = (
        f"{len(shown)} of {count(len(columns), 'column')}, those that differ most" if len(shown) < len(columns) else ""
    )
    said = told or f"share of the values in each bin, {' and '.join(names)}{f' ({some})' if some else ''}"
    return [plot(title, "histograms", said, y_label="share", series=drawn)]


def _interest(torch: Any, sets: list[Any]) -> float:
    """How much a column is worth to be seen: one that is constant most, then those that differ between the sets."""
    if float(sets[0].min()) == float(sets[0].max()):
        return 2.0
    return float(kolmogorov(torch, *sets[:2])[0]) if len(sets) > 1 else 0.0


def _panel(torch: Any, name: str, sets: list[Any], names: list[str]) -> list[dict[str, Any]]:
    both = torch.cat(sets)
    low, high = float(both.min()), float(both.max())
    whole = high - low < BINS and bool((both == both.round()).all())
    bins = int(high - low) + 1 if whole else BINS
    if whole:
        low, high = low - 0.5, high + 0.5
    elif high <= low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    width = (high - low) / bins
    places = [low + width * (number + 0.5) for number in range(bins)]
    found = []
    for values, label in zip(sets, names):
        where = ((values - low) / width).floor().clamp(0, bins - 1).long()
        shares = torch.bincount(where, minlength=bins).double() / values.numel()
        found.append(line(label, [round(each, 6) for each in shares.tolist()], places, axis=name))
    return found
