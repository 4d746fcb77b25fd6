"""Writes changes into files: every other byte stays, and a file is there whole at any time."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import tempfile
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.edits import Change
from torch_doctor.sources.cell_places import sources_in
from torch_doctor.sources.notebook import read_notebook
from torch_doctor.sources.python import Failure, declared_encoding, decode, parse
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_doctor.sources.source import SourceFile


def changed(raw: bytes, changes: Sequence[Change]) -> bytes:
    """What a file holds with the changes made, which are in the order of the text and do not overlap.

    Raises:
        ValueError: the file is not as it was when the changes were thought of, or its encoding lacks a character.
    """
    if any(change.site.cell is not None for change in changes):
        return _changed_notebook(raw, changes)
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    text, failure = decode(raw)
    if failure is not None:
        raise ValueError(failure.reason)
    return mark + _changed_text(text, changes).encode("utf-8" if mark else declared_encoding(raw))


def relined(raw: bytes, file: SourceFile, lines: Sequence[str]) -> bytes:
    """What a file holds when its rows are `lines`, of which there are as many as before.

    Raises:
        ValueError: as `changed`.
    """
    return changed(raw, list(_relined(file, lines)))


def _relined(file: SourceFile, lines: Sequence[str]) -> Iterator[Change]:
    """How the rows of a file come to be these."""
    for row, (before, after) in enumerate(zip(file.lines, lines, strict=True), start=1):
        if before != after:
            same = next(
                (at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
                min(len(before), len(after)),
            )
            yield Change(file.site(row, same + 1, row, len(before) + 1), after[same:])


def _changed_text(text: str, changes: Iterable[Change]) -> str:
    starts = [0, *(found.end() for found in NEWLINE.finditer(text))]
    found = NEWLINE.search(text)
    newline = found[0] if found else "\n"
    parts, done = [], 0
    for change in changes:
        site = change.site
        if site.end_row > len(starts):
            message = "the file has changed in the meantime"
            raise ValueError(message)
        start, end = starts[site.row - 1] + site.column - 1, starts[site.end_row - 1] + site.end_column - 1
        if not done <= start <= end <= len(text):
            message = "the file has changed in the meantime"
            raise ValueError(message)
        parts += [text[done:start], change.content.replace("\n", newline)]
        done = end
    return "".join((*parts, text[done:]))


def _changed_notebook(raw: bytes, changes: Sequence[Change]) -> bytes:
    """Only the sources of the touched cells are written anew, each in the form it has: one string, or one for each line."""
    text, failure = decode(raw, "utf-8")
    if failure is not None:
        raise ValueError(failure.reason)
    spans = sources_in(text)
    ascii_only = text.isascii()
    parts, done = [], 0
    for number, group in groupby(changes, key=lambda change: change.site.cell):
        span = spans.get(number or 0)
        if span is None:
            message = "the notebook has changed in the meantime"
            raise ValueError(message)
        written = text[slice(*span)]
        source = json.loads(written)
        new = _changed_text(source if isinstance(source, str) else "".join(source), group)
        parts += [text[done : span[0]], _written(new, written, ascii_only=ascii_only)]
        done = span[1]
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    return mark + "".join((*parts, text[done:])).encode()


def _written(source: str, before: str, *, ascii_only: bool) -> str:
    """A cell's source as JSON, laid out as it was before."""
    if not before.startswith("["):
        return json.dumps(source, ensure_ascii=ascii_only)
    lines = [json.dumps(line, ensure_ascii=ascii_only) for line in source.splitlines(keepends=True)]
    opening = before[: before.find('"')] if '"' in before else "["
    closing = before[before.rfind('"') + 1 :] if '"' in before else "]"
    between = "," + opening[1:] if "\n" in opening else ", "
    return opening + between.join(lines) + closing


def readable(path: Path, before: bytes, after: bytes) -> bool:
    """Whether what is to be written can be read as well as what was there: a fix never breaks a file or a cell."""
    return _broken(path, after) <= _broken(path, before)


def _broken(path: Path, content: bytes) -> int:
    """How many places of a file, or cells of a notebook, are no Python."""
    if path.suffix == ".ipynb":
        _, problems = read_notebook(path, str(path), content)
        return sum(problem.wrong for problem in problems)
    text, failure = decode(content)
    return int(failure is not None or isinstance(parse(text), Failure))


def rewrite(path: Path, content: bytes) -> None:
    """Write a file beside and rename it, so that nobody sees half of it; its mode stays, and a link stays a link.

    Raises:
        OSError: it cannot be written.
    """
    target = Path(os.path.realpath(path))
    descriptor, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        shutil.copymode(target, beside)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
