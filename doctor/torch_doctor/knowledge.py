"""What a library's own knowledge file needs: `Library`, with what its fields are made of.

Such a file has one `LIBRARY = Library(...)`. It is executed alone: nothing of its library is imported.
"""

from torch_doctor.static.libraries.library import (
    EVALUATING,
    OPAQUE,
    SENSITIVE,
    UNSURE,
    Array,
    Arrays,
    Launcher,
    Library,
    LibraryModel,
    Package,
    PassThrough,
    members,
)
from torch_doctor.static.tables.framework import LOOP, Framework, Method, trainers
from torch_doctor.static.tables.function import Function
from torch_doctor.static.tables.loss import Loss
from torch_doctor.static.tables.reading import DATA_LOADER
from torch_doctor.trace.words import Kind

__all__ = [
    "DATA_LOADER",
    "EVALUATING",
    "LOOP",
    "OPAQUE",
    "SENSITIVE",
    "UNSURE",
    "Array",
    "Arrays",
    "Framework",
    "Function",
    "Kind",
    "Launcher",
    "Library",
    "LibraryModel",
    "Loss",
    "Method",
    "Package",
    "PassThrough",
    "members",
    "trainers",
]
