"""Do two samples come from the same distribution? Effect sizes decide, and p-values guard against small samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .batches import is_dense, rows
from .telling import count, fact, number

if TYPE_CHECKING:
    from .sampling import Sample

SHARES = 0.25
"""The difference of two shares from which on it is called large: 25 percentage points."""
TABLES = 2  # dimensions of a table
DISTANCE = 0.3
"""The Kolmogorov-Smirnov distance from which on two distributions differ much: the largest difference of their cumulative
shares. Normal distributions whose means are 0.77 standard deviations apart have it."""
SIGNIFICANT = 0.01
"""The p-value, corrected for the number of comparisons, below which a difference is not explained by chance."""
MOST_COLUMNS = 64
CHANNELS = 4
FEWEST = 8  # values in each sample without which no column is compared


def fisher(one: int, of_one: int, other: int, of_other: int) -> float:
    """Return the two-sided p-value of Fisher's exact test for `one` of `of_one` against `other` of `of_other`."""
    both, total = one + other, of_one + of_other
    low, high = max(0, both - of_other), min(both, of_one)
    chances = [_chosen(of_one, each) + _chosen(of_other, both - each) for each in range(low, high + 1)]
    whole = _chosen(total, both)
    seen = chances[one - low] + 1e-9
    return min(1.0, sum(math.exp(each - whole) for each in chances if each <= seen))


def _chosen(of: int, many: int) -> float:
    """The logarithm of the binomial coefficient."""
    return math.lgamma(of + 1) - math.lgamma(many + 1) - math.lgamma(of - many + 1)


def kolmogorov(torch: Any, one: Any, other: Any) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of two sorted-able vectors, and its asymptotic p-value (Stephens, 1970)."""
    first, second = one.sort().values, other.sort().values
    places = torch.cat([first, second])
    shares = [torch.searchsorted(each, places, right=True).double() / each.numel() for each in (first, second)]
    distance = float((shares[0] - shares[1]).abs().max())
    size = math.sqrt(first.numel() * second.numel() / (first.numel() + second.numel()))
    scaled = (size + 0.12 + 0.11 / size) * distance
    if scaled < 0.2:
        return distance, 1.0
    terms = (2 * (-1) ** (place - 1) * math.exp(-2 * (place * scaled) ** 2) for place in range(1, 101))
    return distance, min(1.0, max(0.0, sum(terms)))


def holm(chances: list[float]) -> list[float]:
    """Return p-values that are corrected for their number by the method of Holm."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    found, least = [0.0] * len(chances), 0.0
    for place, which in enumerate(order):
        least = max(least, min(1.0, chances[which] * (len(chances) - place)))
        found[which] = least
    return found


def chance(value: float) -> str:
    """A p-value as a sentence has it."""
    return f"p = {value:.2g}" if value >= 1e-6 else "p < 1e-6"


def compared(
    torch: Any, training: Sample, other: Sample, paths: list[str]
) -> tuple[list[dict[str, Any]], list[str], int]:
    """Compare the columns of inputs; return evidence, a sentence for each part that differs, and how many were compared.

    Tables are compared by column, images by the mean and the deviation of each channel of a sample, and everything else by
    the mean and the deviation of a sample. A column differs if the distance is at least `DISTANCE`, and the p-value below
    `SIGNIFICANT` after Holm's correction for the number of columns.
    """
    found: list[tuple[str, str, float, float]] = []
    for path in paths:
        theirs = columns_of(torch, other, path)
        for name, values in columns_of(torch, training, path).items():
            if name in theirs and min(values.numel(), theirs[name].numel()) >= FEWEST:
                found.append((path, name, *kolmogorov(torch, values, theirs[name])))
    if not found:
        return [], [], 0
    right = holm([each[3] for each in found])
    evidence, said = [], []
    for path in paths:
        own = [(each, p) for each, p in zip(found, right) if each[0] == path]
        if not own:
            continue
        group = f"{path}: {training.name} against {other.name}"
        for (_, name, distance, _), p in sorted(own, key=lambda pair: -pair[0][2])[:8]:
            evidence += [
                fact(f"Kolmogorov-Smirnov distance of {name}", distance, group=group, expected=f"below {DISTANCE}"),
                fact(f"corrected p-value of {name}", p, group=group, expected=f"{SIGNIFICANT} or more"),
            ]
        far = sorted(((*each[1:3], p) for each, p in own if each[2] >= DISTANCE and p < SIGNIFICANT),
                     key=lambda each: -each[1])  # fmt: skip
        if far:
            name, distance, p = far[0]
            noun = "other column" if training.parts[path][0].dim() <= TABLES else "other figure of the samples"
            more = f" and {count(len(far) - 1, noun)}" if len(far) > 1 else ""
            said.append(
                f"{name} of {path}{more} {'differ' if more else 'differs'} between {training.name} and {other.name}: "
                f"Kolmogorov-Smirnov distance {number(distance)} ({chance(p)}; {DISTANCE} counts as large)"
            )
    return evidence, said, len(found)


def columns_of(torch: Any, sample: Sample, path: str) -> dict[str, Any]:
    """The numbers of a part by column, one a sample; none of tokens, flags and identifiers, and where shapes do not fit."""
    tensors = sample.parts.get(path, [])
    alike = {each.dim() for each in tensors}
    if not tensors or len(alike) > 1 or not tensors[0].dim() or not all(map(is_dense, tensors)):
        return {}
    if not tensors[0].is_floating_point() and (tensors[0].dtype is not torch.uint8 or tensors[0].dim() < 3):
        return {}
    if len(tensors) != len(sample.batches) or any(
        each.shape[0] != rows(batch) or not each.numel() for each, batch in zip(tensors, sample.batches)
    ):
        return {}
    own = [each.detach().cpu() for each in tensors]
    if own[0].dim() <= 2:
        if len({each.shape[1:] for each in own}) > 1:
            return {}
        table = torch.cat([each.reshape(each.shape[0], -1)[:, :MOST_COLUMNS].double() for each in own])
        names = [f"column {place}" for place in range(table.shape[1])] if own[0].dim() > 1 else ["the value"]
        return _finite(dict(zip(names, table.unbind(1))))
    channels = own[0].shape[1] if own[0].dim() == 4 and own[0].shape[1] <= CHANNELS else 0
    found = {}
    for channel in range(channels) if channels else (None,):
        parts = [(each if channel is None else each[:, channel]).flatten(1).double() for each in own]
        what = f" of channel {channel}" if channels > 1 else ""
        found[f"the mean{what}"] = torch.cat([each.mean(1) for each in parts])
        found[f"the deviation{what}"] = torch.cat([each.std(1, unbiased=False) for each in parts])
    return _finite(found)


def _finite(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: values[values.isfinite()] for name, values in columns.items()}
