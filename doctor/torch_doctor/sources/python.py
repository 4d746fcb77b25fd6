"""Python source: from bytes to text to a syntax tree, and where either fails."""

from __future__ import annotations

import ast
import codecs
import sys
import warnings

from msgspec import Struct

from torch_doctor.pattern import pattern
from torch_doctor.sources.source import NEWLINE

ODD = pattern("[\0\ud800-\udfff]")
COOKIE = pattern(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
NEWLINE_BYTES = pattern(rb"\r\n|\r|\n")
BLANK_OR_COMMENT = pattern(rb"^[ \t\f]*(?:#.*)?$")
LIMIT_OF_DIGITS = "Exceeds the limit"
F_STRING = "f-string: "  # how messages on what stands in the braces of one begin
WITH_NESTED_QUOTES = (3, 12)  # the first Python whose f-strings may hold any expression (PEP 701)
NOT_A_MATTER_OF_VERSION = ("(unicode error)", "(value error)", "bytes can only contain")


class Failure(Struct, frozen=True):
    """Where reading failed: rows and columns from 1, in code points."""

    reason: str
    row: int = 1
    column: int = 1
    end_row: int = 1
    end_column: int = 1


class Unsupported(Struct, frozen=True):
    """Nothing is wrong with the source, but this interpreter cannot parse it."""

    reason: str


def decode(raw: bytes, encoding: str | None = None) -> tuple[str, Failure | None]:
    """The text, or as much of it as can be shown and where it fails.

    Without an `encoding`, that of Python source (PEP 263): what a comment declares, else UTF-8.
    """
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace"), Failure("encoded in UTF-16, which Python cannot read: save it as UTF-8")
    if raw.startswith(codecs.BOM_UTF8):
        raw, encoding = raw[len(codecs.BOM_UTF8) :], "utf-8"
    encoding = encoding or declared_encoding(raw)
    if b"\0" in raw:
        return _shown(raw, Failure("binary data, not text", *_row_and_column(raw, raw.index(b"\0"))))
    try:
        return raw.decode(encoding), None
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        reason = f"not valid {encoding.upper()}: byte 0x{byte:02x} cannot be decoded"
        return _shown(raw, Failure(reason, *_row_and_column(raw, error.start)))
    except (LookupError, ValueError):
        return _shown(raw, Failure(f"unknown encoding `{encoding}`"))


def declared_encoding(raw: bytes) -> str:
    """The encoding that a comment in the first two lines names, else UTF-8."""
    for line in NEWLINE_BYTES.split(raw, maxsplit=2)[:2]:
        if found := COOKIE.match(line):
            return found[1].decode("ascii", "replace").lower().replace("_", "-")
        if not BLANK_OR_COMMENT.match(line):
            break
    return "utf-8"


def _shown(raw: bytes, failure: Failure) -> tuple[str, Failure]:
    return raw.decode("utf-8", "replace"), failure


def _row_and_column(raw: bytes, offset: int) -> tuple[int, int, int, int]:
    before = NEWLINE.split(raw[:offset].decode("utf-8", "replace"))
    row, column = len(before), len(before[-1]) + 1
    return row, column, row, column + 1


def parse(text: str) -> ast.Module | Failure | Unsupported:
    """The syntax tree; or where the source is wrong; or why only this interpreter cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's escapes and literals
            return ast.parse(text)
    except SyntaxError as error:
        return _odd_character(text) or _refused(text, error)
    except ValueError as error:
        return _odd_character(text) or Failure(str(error))
    except (RecursionError, MemoryError):
        return Unsupported("nested too deeply to parse")


def _refused(text: str, error: SyntaxError) -> Failure | Unsupported:
    from torch_doctor.sources.newer_grammar import valid_for_a_newer_python  # noqa: PLC0415 - nearly all files are valid

    message = error.msg or ""
    if message.startswith(LIMIT_OF_DIGITS):
        return Unsupported("a number has too many digits")
    certain = isinstance(error, IndentationError) or message.startswith(NOT_A_MATTER_OF_VERSION)
    newer = None if certain else valid_for_a_newer_python(text)
    if newer or (newer is None and message.startswith(F_STRING) and sys.version_info < WITH_NESTED_QUOTES):
        return Unsupported(f"uses syntax of a newer Python than the one that runs torch-doctor ({message})")
    return _failure(text, error)


def _odd_character(text: str) -> Failure | None:
    """What no file holds, but a string of JSON can: a null character, or half of a character."""
    found = ODD.search(text)
    if found is None:
        return None
    before = NEWLINE.split(text[: found.start()])
    row, column = len(before), len(before[-1]) + 1
    return Failure(f"invalid character U+{ord(found[0]):04X}", row, column, row, column + 1)


def _failure(text: str, error: SyntaxError) -> Failure:
    lines = NEWLINE.split(text)
    row = min(max(error.lineno or 1, 1), len(lines))
    column = min(max(error.offset or 1, 1), len(lines[row - 1]) + 1)
    end_row, end_column = error.end_lineno or row, error.end_offset or 0
    if not row <= end_row <= len(lines) or (end_row, end_column) <= (row, column):
        end_row, end_column = row, column + 1
    reason = (error.msg or "invalid syntax").partition(". ")[0]  # without the advice that may follow
    return Failure(reason, row, column, end_row, end_column)
