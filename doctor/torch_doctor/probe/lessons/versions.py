"""What libraries no longer do: arguments that functions no longer take, and texts of tables that were Python's objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

CHANGING = frozenset(("torch", "torchvision", "torchaudio", "numpy", "scipy"))
"""Packages of which old scripts give arguments that are gone, and go on without; with others, they fail by themselves."""
UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
TEXTS = re.compile(r"ArrowStringArray|StringArray|StringDtype|dtype 'str'|string dtype|large_string|string\[pyarrow")
"""What is said of columns of texts since version 3 of pandas, which takes nothing else for them."""
LOCKED = re.compile(r"(?:array|destination|memoryview|source array) is read-only|not writeable")
"""What is said of arrays that belong to a table, which may not be written since then."""

COPY = "Unable to avoid copy while creating an array"


def read(failure: Failure) -> Lesson | None:
    """A keyword that a function of a library does not know, or a column of texts that it does not take."""
    return _keyword(failure) or _texts(failure) or _locked(failure) or _copied(failure)


def _texts(failure: Failure) -> Lesson | None:
    of_texts = str(failure.values.get("module") or "").partition(".")[0] == "pyarrow" or TEXTS.search(failure.words)
    if not of_texts or failure.knows("texts", "pandas"):
        return None
    return Lesson("texts", "pandas", value=True, words="columns of texts hold Python's objects, as before pandas 3")


def _locked(failure: Failure) -> Lesson | None:
    if not LOCKED.search(failure.words) or failure.knows("writes", "pandas"):
        return None
    return Lesson("writes", "pandas", value=True, words="arrays of tables may be written, as before pandas 3")


def _keyword(failure: Failure) -> Lesson | None:
    found, callee = UNEXPECTED.search(failure.words), failure.values.get("callee")
    if found is None or not isinstance(callee, str) or callee.partition(".")[0] not in CHANGING:
        return None
    known = [each.value for each in failure.lessons if each.kind == "keyword" and each.what == callee]
    names = [*(known[-1] if known else ()), found[1]]
    return Lesson("keyword", callee, names, f"{' and '.join(f'`{each}=`' for each in names)} of {callee} is left out")


def _copied(failure: Failure) -> Lesson | None:
    if COPY not in failure.words or failure.knows("copy", "numpy"):
        return None
    return Lesson("copy", "numpy", value=True, words="`copy=False` copies where it has to, as before NumPy 2")
