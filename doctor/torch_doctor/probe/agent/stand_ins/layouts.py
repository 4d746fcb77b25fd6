"""The layout of the data that the project's documentation draws as a tree: which folders and files lie in a folder."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .source import INSTALLED

if TYPE_CHECKING:
    from .source import Sources

FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
DRAWN = re.compile(r"^[\s│┃|]*(?:[├└┣┗|`+\\*][-─━_ ]*[-─━_ ]|[│|]\s)", re.MULTILINE)
"""The lines of a tree."""
ENTRY = re.compile(r"^([\s│┃|├└┣┗`+\\*─━-]*)([^\s│|├└#(<].*)$")
SAID = re.compile(r"\s+(?:#|<-|←|->|→|--|//|\(|:|=).*$|\s{2,}.*$")
"""What a line says of its entry."""
OPEN = re.compile(r"[<>{}*$\[\]…]|\.\.\.|^(?:x+|etc\.?)$", re.IGNORECASE)
"""What is in a name that its reader has to fill in."""
LARGEST, DEEPEST = 400_000, 1  # bytes of a file, and folders below the project that are looked through

Tree = dict[tuple[str, ...], list[str]]
_KNOWN: dict[str, Tree] = {}


def within(sources: Sources, path: str) -> list[str]:
    """The names in a folder, by the drawn one whose path ends as this one does; empty where none was drawn."""
    tree = _KNOWN.get(sources.project)
    if tree is None:
        tree = _KNOWN[sources.project] = _drawn(sources.project)
    parts = [part for part in os.path.normpath(path).split(os.sep) if part not in ("", ".", "..")]
    found: list[str] = []
    most = 0
    for drawn, names in tree.items():
        common = next((at for at, (one, other) in enumerate(zip(drawn[::-1], parts[::-1])) if one != other), None)  # noqa: B905 - Python 3.9 has no `strict`
        length = min(len(drawn), len(parts)) if common is None else common
        if length > most:
            most, found = length, names
    return found


def _drawn(project: str) -> Tree:
    tree: Tree = {}
    for top, folders, names in os.walk(project):
        depth = os.path.relpath(top, project).count(os.sep) + (top != project)
        folders[:] = [each for each in folders if each[0] != "." and each not in INSTALLED and depth < DEEPEST]
        for name in sorted(names):
            path = os.path.join(top, name)
            if name.lower().endswith((".md", ".rst", ".txt")) and os.path.getsize(path) < LARGEST:
                with open(path, encoding="utf-8", errors="replace") as file:
                    for block in FENCE.split(file.read()):
                        if len(DRAWN.findall(block)) > 1:
                            _read(block, tree)
    return tree


def _read(block: str, tree: Tree) -> None:
    """Takes in one tree: how far a name is from the margin says in which folder it is."""
    above: list[tuple[int, str]] = []
    for line in block.expandtabs(4).splitlines():
        found = ENTRY.match(line)
        if found is None:
            continue
        name = SAID.sub("", found[2]).strip().strip("`'\"").rstrip("/").replace("\\_", "_")
        while above and above[-1][0] >= len(found[1]):
            above.pop()
        if not name or " " in name:
            continue
        inner = [part for part in name.split("/") if part not in ("", ".", "..")]
        if above and not OPEN.search(name):
            tree.setdefault(tuple(part for _, part in above), []).append(inner[0])
        above += [(len(found[1]), part) for part in inner]
