"""Batches as a rehearsal has learnt that a loop wants them."""

from __future__ import annotations

from typing import Any

from .parts import LEAF, MAPPING, OBJECT, Spec


class Batch:
    """A batch whose parts are attributes, as those of graphs are."""

    def __init__(self, parts: dict[str, Any]) -> None:
        vars(self).update(parts)

    @property
    def batch_size(self) -> int:
        """The rows of its first tensor."""
        return next((len(each) for each in vars(self).values() if getattr(each, "ndim", 0)), 1)

    num_graphs = batch_size

    def __len__(self) -> int:
        return self.batch_size

    def to(self, *_: Any, **__: Any) -> Batch:
        """Itself with its tensors there."""
        return Batch({name: each.to(*_, **__) for name, each in vars(self).items()})

    def cuda(self, *_: Any, **__: Any) -> Batch:
        """As `to`."""
        return self.to("cuda")

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        vars(self)[name] = value


def made(learnt: dict[str, Any], torch: Any, generator: Any, rows: int) -> Any:
    """One batch; `rows` are in it where nothing is known of a part."""
    form = learnt["form"]
    if form == LEAF:
        spec = Spec(tuple(learnt["spec"][0]), *learnt["spec"][1:]) if learnt.get("spec") else Spec((rows,), "int64", 2)
        return spec.made(torch, generator)
    parts = {key: made(part, torch, generator, rows) for key, part in learnt["parts"]}
    if form == MAPPING:
        return parts
    if form == OBJECT:
        return Batch(parts)
    last = max(parts, default=-1)
    empty = {"form": LEAF}
    return [parts[place] if place in parts else made(empty, torch, generator, rows) for place in range(last + 1)]


def described(learnt: dict[str, Any]) -> str:
    """A batch in words."""
    if learnt["form"] == LEAF:
        if not learnt.get("spec"):
            return "an unused value"
        shape, dtype, high = learnt["spec"]
        below = f" below {high}" if high > 0 else ""
        return f"{'×'.join(map(str, shape))} {dtype}{below}"
    named = (f"{key}: {described(part)}" if isinstance(key, str) else described(part) for key, part in learnt["parts"])
    return ", ".join(named)
