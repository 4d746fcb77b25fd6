"""What an environment of conda depends on: https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/pkg-specs.html."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPENDENCY = pattern(r"(?:[\w./-]+::)?([\w.-]+)\s*(.*)")
"""A dependency in conda's words: a channel, the name, and what is asked of it."""
BRACKET = pattern(r"\[version=[\"']?([^\"'\]]*)[\"']?.*")
"""What conda writes in brackets: `pytorch[version='>=1.7']`."""
SECTION = pattern(r"[\"']?(\w+)[\"']?\s*:\s*(.*)")
"""A line that begins a part of an environment, with what stands on it."""


def dependencies(text: str) -> Iterator[tuple[str, str]]:
    """The packages that an environment depends on, those of pip among them, with what is asked of each.

    Its channels are not: one of them may be called pytorch.
    """
    for line in _lines(text):
        named = DEPENDENCY.match(line)
        if named is not None:
            yield named[1], BRACKET.sub(r"\1", named[2])


def versions(asked: str) -> Iterator[str]:
    """The versions that conda's words ask for, each alternative by itself, as pip writes them."""
    for each in asked.split("|"):
        yield pip_style(each.strip())


def _lines(text: str) -> Iterator[str]:
    """What stands below `dependencies`, line by line."""
    inside = False
    for line in text.splitlines():
        bare = re.sub(r"(?:^|\s)#.*", "", line).rstrip()
        section = SECTION.match(bare)
        if section is not None:
            inside = section[1] == "dependencies"
            bare = section[2].strip("[]").replace(",", "\n") if section[2].count("[") == 1 else ""
        if inside:
            yield from (each.strip(" -\t\"'") for each in bare.split("\n"))


def pip_style(conda: str) -> str:
    """A version as conda writes it: `=1.7` and `1.7.*` are any 1.7, `=1.7.1=build` and `1.7.1 build` one build."""
    if conda.startswith("=") and not conda.startswith("=="):
        version = conda[1:].partition("=")[0].strip().rstrip("*").rstrip(".")
        return f"=={version}.*" if version else ""
    if conda[:1].isdigit() or conda.startswith("=="):
        return "==" + re.split(r"[\s=]", conda.removeprefix("==").strip())[0]
    return "" if conda.startswith("*") else conda
