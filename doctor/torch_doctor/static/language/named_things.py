"""Finds what a text names: `globals()[name]`, `sys.modules[name]`, `importlib.import_module(name)`, `eval(name)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import lowering
from torch_doctor.static.language import files, imported_files
from torch_doctor.static.library import library
from torch_doctor.static.values import Lib, Value, texts

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_DOTTED = pattern(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)

_FROM = 3
"""Where `__import__` has the names that are wanted of the module itself."""


def module_of(run: Run, name: str) -> Value:
    """The module of a dotted name: a file of the project, or a library."""
    if name == files.module_name(run):
        return run.frame.globals
    path = run.imports.find(run.frame.unit.source.path, name)
    return Lib(name) if path is None else imported_files.imported(run, path)


@library("importlib.import_module", "builtins.__import__")
def import_module(run: Run, name: str, call: Call) -> Value | None:
    """`importlib.import_module(name)`; `__import__` returns the first package of a dotted name."""
    text = texts.known(call.argument(0, "name"))
    if text is None or not _DOTTED.fullmatch(text):
        return None
    files.execute_named(run, text)
    package = name == "builtins.__import__" and len(call.args) <= _FROM and "fromlist" not in call.keywords
    return module_of(run, text.partition(".")[0] if package else text)


@library("builtins.eval")
def evaluated(run: Run, _: str, call: Call) -> Value | None:
    """`eval(text)` of a known text in the current namespaces."""
    text = texts.known(call.argument(0))
    node = lowering.expression(text, call.node.at) if text is not None and len(call.values) == 1 else None
    return None if node is None else run.evaluate(node)
