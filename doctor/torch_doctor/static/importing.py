"""The imports in a text, which is not parsed: what only looks like one, in a string say, counts as well."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIST = rb"(?:[^\n;#\\]|\\\r?\n|\\)*"
_BRACKETS = (
    rb"\((?:[^()#]|#[^\n]*\n)*\)"  # an open bracket ends it: else each that is never closed is sought for to the end
)
_STATEMENT = pattern(
    rb"(?:^|[;:])[ \t\f]*(?:"
    rb"from[ \t]*(?P<module>\.*[ \t]*[^\s;#]*)[ \t]+import\b[ \t]*(?P<names>" + _BRACKETS + rb"|" + _LIST + rb")"
    rb"|import[ \t]+(?P<modules>" + _LIST + rb"))",
    re.MULTILINE,
)
_COMMENT = pattern(rb"#[^\n]*")
_AS = 2
"""The words before another name: `module as m`."""


def modules(code: bytes) -> Iterator[tuple[str, int]]:
    """The modules that imports in a text may mean, with their levels: a name that is taken from one may be another."""
    if b"import" not in code:
        return
    for statement in _STATEMENT.finditer(code):
        module, names, modules = statement.group("module", "names", "modules")
        if modules is not None:
            yield from ((name, 0) for name in _names(modules))
            continue
        dotted = module.decode("utf-8", "replace")
        name = dotted.lstrip(". \t")
        level = dotted.count(".", 0, len(dotted) - len(name))
        if name or level:
            yield name, level
            for part in _names(names):
                yield f"{name}.{part}".lstrip("."), level


def plain(code: bytes) -> Iterator[str]:
    """The modules of which nothing is taken: `import os, config.model as m`."""
    if b"import" in code:
        for statement in _STATEMENT.finditer(code):
            yield from _names(statement["modules"] or b"")


def bound(code: bytes) -> Iterator[tuple[str, str, int]]:
    """The names that imports bind, with the modules, or what is taken from them, and their levels."""
    if b"import" not in code:
        return
    for statement in _STATEMENT.finditer(code):
        module, names, modules = statement.group("module", "names", "modules")
        dotted = "" if module is None else module.decode("utf-8", "replace")
        source = dotted.lstrip(". \t")
        level = dotted.count(".", 0, len(dotted) - len(source))
        for words in _listed(modules if module is None else names):
            name, alias = words[0], words[2] if words[1:2] == ["as"] and len(words) > _AS else ""
            if module is not None:
                yield alias or name, f"{source}.{name}".lstrip("."), level
            elif alias:
                yield alias, name, 0
            else:
                first = name.partition(".")[0]
                yield first, first, 0


def _names(listed: bytes) -> Iterator[str]:
    """The names in a list with commas between them, without what they are called here."""
    return (words[0] for words in _listed(listed))


def _listed(listed: bytes) -> Iterator[list[str]]:
    """The words of each part of a list with commas between them."""
    for each in _COMMENT.sub(b"", listed).strip(b"( )").split(b","):
        words = each.replace(b"\\", b" ").decode("utf-8", "replace").split()
        if words and words[0] != "*":
            yield words
