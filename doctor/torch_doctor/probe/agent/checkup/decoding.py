"""Inputs as text: token ids in the words of the script's vocabulary, and the words of a batch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .telling import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .sampling import Sample
    from .stage import Stage

SPECIAL = 8  # ids of an embedding, at most, that a vocabulary has no word for
FEWEST = 8  # words of a vocabulary
MOST_TOKENS = 200  # of one sample that are shown


def decoder(stage: Stage, sample: Sample) -> Callable[[list[int]], str]:
    """What makes text of token ids, with a vocabulary as large as an embedding; without one, the ids themselves."""
    embeddings = (each for each in stage.watch.modules.alive() if isinstance(each, stage.torch.nn.Embedding))
    sizes = {int(each.num_embeddings) for each in embeddings}
    for held in _objects(stage, sample) if sizes else ():
        words = _vocabulary(held, sizes)
        if words:
            return lambda ids, words=words: _joined([words.get(each, f"[{each}]") for each in ids[:MOST_TOKENS]])  # type: ignore[misc]
    return lambda ids: " ".join(map(str, ids[:MOST_TOKENS]))


def _joined(words: list[str]) -> str:
    between = "" if all(len(each) == 1 or each.startswith("[") for each in words) else " "
    return between.join(words)[:LONGEST]


def _objects(stage: Stage, sample: Sample) -> Iterator[Any]:
    """What the script and its data set hold, by no name in particular."""
    spaces = [vars(sys.modules["__main__"])]
    spaces += [space for frame in reversed(stage.frames) for space in (frame.f_globals, frame.f_locals)]
    dataset = getattr(sample.loader, "dataset", None)
    while dataset is not None and len(spaces) < 100:
        spaces.append(getattr(dataset, "__dict__", {}))
        dataset = getattr(dataset, "dataset", None)
    for space in spaces:
        for value in list(space.values()):
            yield value
            if not isinstance(value, (type, stage.torch.nn.Module)) and hasattr(value, "__dict__"):
                yield from list(vars(value).values())[:64]


def _vocabulary(held: Any, sizes: set[int]) -> dict[int, str]:
    """The words by their ids; {} where it is no vocabulary: a list of all words, or a mapping in either direction."""
    if type(held) not in (list, tuple, dict) or len(held) < FEWEST:
        return {}
    if isinstance(held, (list, tuple)):
        return dict(enumerate(held)) if len(held) in sizes and all(isinstance(each, str) for each in held) else {}
    if not any(size - SPECIAL <= len(held) <= size for size in sizes):
        return {}
    pairs = list(held.items())
    if all(isinstance(one, str) and type(other) is int for one, other in pairs):
        pairs = [(other, one) for one, other in pairs]
    if all(type(one) is int and isinstance(other, str) for one, other in pairs) and len(dict(pairs)) == len(held):
        return dict(pairs)
    return {}


def words_of(batch: Any, rows: int, deep: int = 3) -> list[str]:
    """The texts of a batch, one for each of its samples; [] where there are none."""
    if (
        isinstance(batch, (list, tuple))
        and len(batch) == rows
        and rows
        and all(isinstance(each, str) for each in batch)
    ):
        return [each[:LONGEST] for each in batch]
    if not deep:
        return []
    parts: list[Any] = list(batch.values()) if isinstance(batch, dict) else []
    parts = list(batch) if isinstance(batch, (list, tuple)) else parts
    return next((found for part in parts[:64] if (found := words_of(part, rows, deep - 1))), [])
