"""Finds what a text names: `globals()[name]`, `sys.modules[name]`, `importlib.import_module(name)`, `eval(name)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import choosing, lowering
from torch_doctor.static import program as p
from torch_doctor.static.decisions import Decisions
from torch_doctor.static.language import files, imported_files
from torch_doctor.static.library import library
from torch_doctor.static.options import Options
from torch_doctor.static.values import Either, Lib, Unknown, Value, join, texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_DOTTED = pattern(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)

MOST = 8
"""Choices of an option up to which each is looked at."""
_FROM = 3
"""Where `__import__` has the names that are wanted of the module itself."""


def module_of(run: Run, name: str) -> Value:
    """The module of a dotted name: a file of the project, or a library."""
    if name == files.module_name(run):
        return run.frame.globals
    path = run.imports.find(run.frame.unit.source.path, name)
    return Lib(name) if path is None else imported_files.imported(run, path)


def one_of(run: Run, name: Value, read: Callable[[str], Value]) -> Value | None:
    """What a text names that is made around one option of the script: one value for each choice, told apart by the option.

    Where the option takes any text, what its default names, or something unknown. None for other texts.
    """
    parts = texts.parts(name) or ()
    symbols = [choosing.option_of(part) for part in parts if not isinstance(part, str)]
    option = run.of(Options).known.get(symbols[0]) if len(symbols) == 1 else None
    if option is None or len(option.choices) > MOST:
        return None
    choices = option.choices or (option.default.value,)
    if not all(isinstance(each, str) for each in choices):
        return None
    found = [read("".join(part if isinstance(part, str) else each for part in parts)) for each in choices]
    tests = [("==", symbols[0], ("const", each)) for each in choices]
    result: Value = found.pop() if option.choices else Unknown()
    for value, test in zip(reversed(found), reversed(tests[: len(found)]), strict=True):
        result = join(value, result, test)
    for test in tests:
        run.of(Decisions).equals(test)
    if option.choices and isinstance(result, Either):  # the last one is not just what none of the others is
        none = frozenset((test, False) for test in tests[:-1])
        result = Either(
            tuple((facts | {(tests[-1], True)} if facts == none else facts, value) for facts, value in result.options)
        )
    return run.resolve(result)


@library("importlib.import_module", "builtins.__import__")
def import_module(run: Run, name: str, call: Call) -> Value | None:
    """`importlib.import_module(name)`; `__import__` returns the first package of a dotted name."""
    given = call.argument(0, "name")
    package = name == "builtins.__import__" and len(call.args) <= _FROM and "fromlist" not in call.keywords

    def module(text: str) -> Value:
        if not _DOTTED.fullmatch(text):
            return Unknown()
        files.execute_named(run, text)
        return module_of(run, text.partition(".")[0] if package else text)

    known = texts.known(given)
    if known is not None:
        return module(known) if _DOTTED.fullmatch(known) else None
    return None if given is None else one_of(run, given, module)


@library("builtins.eval")
def evaluated(run: Run, _: str, call: Call) -> Value | None:
    """`eval(text)` of a known text in the current namespaces."""
    given = call.argument(0)
    if given is None or len(call.values) != 1:
        return None

    def value_of(text: str) -> Value:
        node = lowering.expression(text, call.node.at)
        return run.evaluate(node) if node is not None and (known or isinstance(node, p.Name)) else Unknown()

    known = texts.known(given)
    return one_of(run, given, value_of) if known is None else value_of(known)
