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


def _names(listed: bytes) -> Iterator[str]:
    """The names in a list with commas between them, without what they are called here."""
    for each in _COMMENT.sub(b"", listed).strip(b"( )").split(b","):
        words = each.replace(b"\\", b" ").split(None, 1)
        if words and words[0] != b"*":
            yield words[0].decode("utf-8", "replace")
