"""Whether a file can matter at all: decided from its bytes, before anything is parsed."""

from __future__ import annotations

from torch_doctor.pattern import pattern

MENTIONS = pattern(rb"torch|lightning|accelerate|ignite|fastai|transformers|deepspeed|timm")


def matters(raw: bytes) -> bool:
    """Whether the file mentions torch or a library that trains with it; all others are never parsed."""
    if MENTIONS.search(raw):
        return True
    # Text in two-byte units has a zero next to every letter.
    return b"\0" in raw[:64] and MENTIONS.search(raw.replace(b"\0", b"")) is not None
