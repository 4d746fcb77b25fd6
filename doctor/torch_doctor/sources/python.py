"""Python source: from bytes to text to a syntax tree, and where either fails."""

from __future__ import annotations

import ast
import codecs
import re
import warnings
from dataclasses import dataclass

from torch_doctor.sources.source import NEWLINE

COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
BLANK_OR_COMMENT = re.compile(rb"^[ \t\f]*(?:#.*)?$")
NOT_A_MATTER_OF_VERSION = ("(unicode error)", "(value error)", "bytes can only contain")


@dataclass(frozen=True, slots=True)
class Failure:
    """Where reading failed: rows and columns from 1, in code points."""

    reason: str
    row: int = 1
    column: int = 1
    end_row: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Nothing is wrong with the source, but this interpreter cannot parse it."""

    reason: str


def decode(raw: bytes) -> tuple[str, Failure | None]:
    """The text of Python source (PEP 263), or as much of it as can be shown and where it fails."""
    if raw.startswith(codecs.BOM_UTF8):
        raw, encoding = raw[len(codecs.BOM_UTF8) :], "utf-8"
    else:
        encoding = declared_encoding(raw)
    if b"\0" in raw:
        return _shown(raw, Failure("binary data, not text", *_row_and_column(raw, raw.index(b"\0"))))
    try:
        return raw.decode(encoding), None
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        reason = f"not {encoding.upper()}: the byte 0x{byte:02x} fits no character"
        return _shown(raw, Failure(reason, *_row_and_column(raw, error.start)))
    except (LookupError, ValueError):
        return _shown(raw, Failure(f"unknown encoding `{encoding}`"))


def declared_encoding(raw: bytes) -> str:
    """The encoding that a comment in the first two lines names, else UTF-8."""
    for line in raw.split(b"\n", 2)[:2]:
        if found := COOKIE.match(line):
            return found[1].decode("ascii", "replace").lower().replace("_", "-")
        if not BLANK_OR_COMMENT.match(line.rstrip(b"\r")):
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
        if _valid_for_a_newer_python(text, error):
            return Unsupported(f"written for a newer Python than the one that runs torch-doctor ({error.msg})")
        return _failure(text, error)
    except ValueError as error:  # null bytes, lone surrogates
        return Failure(str(error))
    except (RecursionError, MemoryError):
        return Unsupported("nested too deeply to be parsed")


def _valid_for_a_newer_python(text: str, error: SyntaxError) -> bool:
    if isinstance(error, IndentationError) or (error.msg or "").startswith(NOT_A_MATTER_OF_VERSION):
        return False
    import libcst  # noqa: PLC0415 - its parser knows more grammar than an old interpreter, and is rarely needed

    try:
        libcst.parse_module(text)
    except Exception:  # noqa: BLE001 - whatever it dislikes, it is no evidence that the source is right
        return False
    return True


def _failure(text: str, error: SyntaxError) -> Failure:
    lines = NEWLINE.split(text)
    row = min(max(error.lineno or 1, 1), len(lines))
    column = min(max(error.offset or 1, 1), len(lines[row - 1]) + 1)
    end_row, end_column = error.end_lineno or row, error.end_offset or 0
    if not row <= end_row <= len(lines) or (end_row, end_column) <= (row, column):
        end_row, end_column = row, column + 1
    reason = (error.msg or "invalid syntax").partition(". ")[0]  # without the advice that may follow
    return Failure(reason, row, column, end_row, end_column)
