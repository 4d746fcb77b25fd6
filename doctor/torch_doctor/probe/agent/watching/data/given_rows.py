"""What a trainer of a library builds a loader over: rows that the script gave it."""

from __future__ import annotations

from typing import Any, NamedTuple


class GivenRows(NamedTuple):
    """Where a script gives a trainer rows, and what it calls them; whether they are to train, and whether to score.

    `site` is None where that is the call that the script is in.
    """

    site: int | None
    called: str
    trains: bool
    scores: bool

    @property
    def meant(self) -> bool:
        """Whether the trainer is built with these rows, and its settings are meant for them."""
        return self.trains or self.scores

    def in_full(self, sampler: Any, dataset: Any) -> bool:
        """Whether a sampler is the trainer's own choice and gives each row once: another one was asked for."""
        if type(sampler).__module__ != "torch.utils.data.sampler" or sampler.data_source is not dataset:
            return False
        if type(sampler).__name__ == "RandomSampler":
            return self.trains and not sampler.replacement and sampler.num_samples == len(dataset)
        return type(sampler).__name__ == "SequentialSampler" and not self.trains
