"""Token ids: which of them is padding, where a sample begins and ends, and how long samples are without it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .batches import is_dense

if TYPE_CHECKING:
    from .sampling import Sample
    from .stage import Stage

FEWEST = 4  # tokens of a sample
PAIR = 2  # equal tokens at an end without which nothing was padded
SHARE = 0.1  # of the samples that end so


def are_tokens(tensor: Any) -> bool:
    """Whether a part of a batch has a row of token ids for each sample."""
    return not tensor.is_floating_point() and tensor.dim() == 2 and tensor.shape[1] >= FEWEST


def padding(stage: Stage, parts: list[Any]) -> int | None:
    """The id that fills samples up: the `padding_idx` of an embedding, or one that stands twice at the ends of many samples."""
    known = {
        int(each.padding_idx)
        for each in stage.watch.modules.alive()
        if isinstance(each, stage.torch.nn.Embedding) and each.padding_idx is not None
    }
    rows = [row for part in parts if are_tokens(part) and is_dense(part) for row in part.tolist()]
    if len(known) == 1:
        only = next(iter(known))
        if any(only in (row[0], row[-1]) for row in rows):
            return only
    found = Counter(row[-1] for row in rows if row[-1] == row[-PAIR])
    found.update(row[0] for row in rows if row[0] == row[PAIR - 1] and row[-1] != row[-PAIR])
    likely, many = (found.most_common(1) or [(None, 0)])[0]
    return likely if many >= max(PAIR, SHARE * len(rows)) else None


def ends(ids: list[int], pad: int | None) -> tuple[int, int]:
    """Where a sample begins and ends without the padding on its sides."""
    start, end = 0, len(ids)
    while pad is not None and end > start and ids[end - 1] == pad:
        end -= 1
    while pad is not None and start < end and ids[start] == pad:
        start += 1
    return start, end


def lengths(sample: Sample, path: str, pad: int | None) -> list[int]:
    """The number of tokens of each sample without padding."""
    parts = [part for part in sample.parts.get(path, ()) if are_tokens(part) and is_dense(part)]
    return [end - start for part in parts for start, end in (ends(ids, pad) for ids in part.tolist())]


def padded(sample: Sample, path: str, own: list[int]) -> float:
    """The share of all positions that is padding."""
    places = sum(part.numel() for part in sample.parts.get(path, ()) if are_tokens(part) and is_dense(part))
    return 1 - sum(own) / places if places else 0.0
