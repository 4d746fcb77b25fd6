"""Whether a file can matter at all: decided from its bytes, before anything is parsed."""

from __future__ import annotations

from torch_doctor.pattern import pattern

MENTIONS = pattern(rb"torch|lightning|accelerate|ignite|fastai|transformers|deepspeed|timm")
_PINS = pattern(
    r".*\.lock|requirements.*\.txt|.*requirements\.txt|(?:env|conda).*\.y.*ml|pyproject\.toml|setup\.(?:cfg|py)|Pipfile"
)
"""The names of the files that `pins` reads, and of few others."""


def matters(raw: bytes) -> bool:
    """Whether the file mentions torch or a library that trains with it; all others are never parsed."""
    if MENTIONS.search(raw):
        return True
    # Text in two-byte units has a zero next to every letter.
    return b"\0" in raw[:64] and MENTIONS.search(raw.replace(b"\0", b"")) is not None


def may_pin(folder: str, name: str) -> bool:
    """Whether a file of this name, in a folder of that name, may say which versions are allowed."""
    return _PINS.fullmatch(name) is not None or (folder == "requirements" and name.endswith(".txt"))
