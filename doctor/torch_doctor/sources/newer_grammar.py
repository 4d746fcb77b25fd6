"""Whether source that this interpreter refuses is valid for a newer one."""

from __future__ import annotations

import threading

from torch_doctor.pattern import pattern

STACK = 128 * 1024 * 1024  # bytes; only what is used is taken
LONGEST_SOURCE = 200_000  # characters
LONGEST_STATEMENT = 3_000
DEEPEST = 20  # brackets within each other
BOUNDARY = pattern(r"[(\[{]|[)\]}]|\n(?:def|class|import)\b|\n")


def valid_for_a_newer_python(text: str) -> bool | None:
    """Whether libcst, which knows the grammar of newer Pythons, can parse the source; None where it was not asked.

    Its parser recurses in native code, where too deep a nesting ends the process, and tries some brackets twice at each
    level. Source that is longer or deeper than people write it is therefore never given to it.
    """
    if len(text) > LONGEST_SOURCE or not _is_plain(text):
        return None
    answers: list[bool] = []
    usual = threading.stack_size(STACK)  # Windows gives the main thread a tenth of what others do
    try:
        worker = threading.Thread(target=lambda: answers.append(_parses(text)))
        worker.start()
    finally:
        threading.stack_size(usual)
    worker.join()
    return answers == [True]


def _is_plain(text: str) -> bool:
    """Whether no statement is very long, and no bracket lies very deep; brackets in strings count too."""
    depth, begin = 0, 0
    for found in BOUNDARY.finditer(text):
        what = found[0]
        if what in "([{":
            depth += 1
        elif what in ")]}":
            depth = max(depth - 1, 0)
        elif depth == 0 or what != "\n":  # a definition begins in no bracket: one before it was in a string
            if found.start() - begin > LONGEST_STATEMENT:
                return False
            depth, begin = 0, found.start()
        if depth > DEEPEST:
            return False
    return len(text) - begin <= LONGEST_STATEMENT


def _parses(text: str) -> bool:
    import libcst  # noqa: PLC0415 - rarely needed

    try:
        libcst.parse_module(text)
    except Exception:  # noqa: BLE001 - whatever it dislikes, it is no evidence that the source is right
        return False
    return True
