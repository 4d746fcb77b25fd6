"""Whether a file can matter at all: decided from its bytes, before anything is parsed."""

from __future__ import annotations

from torch_doctor.pattern import pattern

MENTIONS = pattern(rb"torch|lightning|accelerate|ignite|fastai|transformers|deepspeed|timm")
_PINS = pattern(
    r".*\.lock|requirements.*\.txt|.*requirements\.txt|(?:env|conda).*\.y.*ml|pyproject\.toml|setup\.(?:cfg|py)|Pipfile"
)
"""The names of the files that `pins` reads, and of few others."""
_EDGE = 4096
"""So many bytes at the start and the end of a file say what it is; where they are all white space, it is empty."""


def matters(raw: bytes) -> bool:
    """Whether the file mentions torch or a library that trains with it; all others are never parsed."""
    if MENTIONS.search(raw):
        return True
    # Text in two-byte units has a zero next to every letter.
    return b"\0" in raw[:64] and MENTIONS.search(raw.replace(b"\0", b"")) is not None


def no_json(raw: bytes) -> bool:
    """Whether a notebook is plainly none, so that nobody can know what it mentioned: cut short, or merged with conflicts.

    An empty file is no such notebook, nor is the pointer that git has in the place of a file that lies elsewhere.
    """
    start, end = raw[:_EDGE].removeprefix(b"\xef\xbb\xbf").lstrip(), raw[-_EDGE:].rstrip()
    if not start or start.startswith(b"version https://git-lfs"):
        return False
    return not (start.startswith(b"{") and end.endswith(b"}")) or b"\n<<<<<<< " in raw


def may_pin(folder: str, name: str) -> bool:
    """Whether a file of this name, in a folder of that name, may say which versions are allowed."""
    return _PINS.fullmatch(name) is not None or (folder == "requirements" and name.endswith(".txt"))
