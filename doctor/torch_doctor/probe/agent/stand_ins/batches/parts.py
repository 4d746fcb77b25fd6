"""What is known of a batch, and of its parts, while a rehearsal finds out what the loop wants of them."""

from __future__ import annotations

from typing import Any, NamedTuple

LEAF, SEQUENCE, MAPPING, OBJECT = "tensor", "sequence", "mapping", "object"
CORNERS = -1  # what is `high` of boxes: the left upper and the right lower corner of each
LENGTHS = -2  # what is `high` of the lengths of sequences, which are not sorted otherwise
BOXES = 32  # pixels in which they lie


class Spec(NamedTuple):
    """A tensor that could be what a script wants: its shape, type, and for whole numbers the first that is too large.

    `high` is 2 for numbers that are 0 or 1 of any type, and 0 for numbers between 0 and 1, which are pixels, probabilities
    and measurements alike; of boxes it is `CORNERS`, of lengths `LENGTHS`.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    high: int = 0

    def made(self, torch: Any, generator: Any = None) -> Any:
        """A random tensor of this kind."""
        dtype = getattr(torch, self.dtype)
        if self.high == LENGTHS:
            return torch.ones(self.shape, dtype=dtype)
        if self.high == CORNERS:
            drawn = torch.rand((*self.shape[:-1], 2, 2), generator=generator) / 4
            drawn[..., 1, :] += 1 / 2
            return (BOXES * drawn).flatten(-2).to(dtype)
        if self.high or not dtype.is_floating_point:
            drawn = torch.randint(0, max(self.high, 1), self.shape, generator=generator)
            return drawn.to(dtype)
        return torch.rand(self.shape, generator=generator).to(dtype)


class Part:
    """A batch, or a part of one: what form it has, its own parts by place or name, and its tensor once it is known.

    `is_result` where it is what a stand-in returns, so that gradients go through it; `word` is the text that it is taken
    for, where it was compared with texts.
    """

    __slots__ = ("form", "given", "is_result", "parts", "spec", "trial", "value", "word")

    def __init__(self, *, is_result: bool = False) -> None:
        self.is_result = is_result
        self.form = self.word = ""
        self.parts: dict[Any, Part] = {}
        self.given: dict[Any, Any] = {}  # what the code has put into it
        self.spec: Spec | None = None
        self.value: Any = None
        self.trial: Any = None

    def part(self, key: Any, form: str) -> Part:
        """The part at a place or under a name, which makes this a container."""
        self.form = self.form or form
        return self.parts.setdefault(key, Part(is_result=self.is_result))

    def know(self, spec: Spec, value: Any) -> None:
        """It is a tensor of this kind."""
        if self.is_result and value.is_floating_point():
            value.requires_grad_()
        self.form, self.spec, self.value = LEAF, spec, value

    def wants(self) -> bool:
        """Whether it, or a part of it, is used and not known yet."""
        if self.parts:
            return any(part.wants() for part in self.parts.values())
        return self.spec is None

    def learnt(self) -> dict[str, Any]:
        """What a rehearsal tells of it."""
        if self.spec is not None:
            return {"form": LEAF, "spec": list(self.spec)}
        return {"form": self.form or LEAF, "parts": [[key, part.learnt()] for key, part in self.parts.items()]}
