"""One run of a loop of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

    from .nodes import Node


class Loop:
    """One run of a loop of the user's.

    `number` counts its passes from 1, `begun` the runs of its statement up to this one, `run` is its number in the trace (0
    until something happens in it), `batches` tells that it goes through a data loader. `watched`, `trained` and `nested`
    tell what happened in it: anything, a backward pass or an update, another loop that trains or goes through a loader;
    `alone` that it lies in no other. `steps` counts the updates, `trained_since` the passes before the first in which
    anything of training happened, `evaluated` the pass in which a module ran last that nothing of training followed;
    `extended`: it made one more pass for that. `owned`: a library runs it, in a call of the script's, and `validates` in it
    while it trains, or `counts_updates` in it; if it `logs`, `figures` gets what was logged when it is over. `length` is how
    many passes it makes if nothing ends it; None: unknown.
    """

    __slots__ = (
        "alone",
        "batches",
        "began",
        "begun",
        "capped",
        "code",
        "computed",
        "counts_updates",
        "evaluated",
        "extended",
        "figures",
        "length",
        "logs",
        "nested",
        "next",
        "node",
        "number",
        "owned",
        "run",
        "steps",
        "trained",
        "trained_since",
        "validates",
        "watched",
    )

    def __init__(self, node: Node, code: CodeType, begun: int = 1) -> None:
        self.node = node
        self.begun = begun
        self.length: int | None = None
        self.figures: Callable[[Mapping[str, Any]], None] | None = None
        self.code = code
        self.number = 0
        self.run = 0
        self.next = False
        self.batches = self.owned = self.logs = False
        self.trained = False
        self.trained_since = 0
        self.nested = False
        self.watched = self.validates = self.counts_updates = False
        self.capped = self.extended = False
        self.steps = self.evaluated = 0
        self.alone = True
        self.began = self.computed = 0.0
