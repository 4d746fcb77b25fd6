"""Names that something made up does not have: a column, a key, a class, a variable of the environment, an argument."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, parsed

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

NO_COLUMN = re.compile(r"\[([^\]]*)\] not (?:in index|found in axis)|None of \[Index\(\[([^\]]*)\]")
NOT_LISTED = re.compile(r"'([^']+)' is not in list")
OBJECT = re.compile(r"TypeError: '(\w+)' object (?:does not support|is not|cannot be)")
VARIABLE = re.compile(r"[Ee]nvironment variable '(\w+)' (?:not found|is not set)")
QUOTED = re.compile(r"'([^']+)'")
AGENT = "_torch_doctor_agent"
TAKEN_FOR = {"UnknownDataset": ("placeholder samples",), "Loader": ("batches that fit the loop",)}
"""How substitutes are told of which the agent has these classes."""
TABLES = ("DataFrame", "Series")


def read(failure: Failure) -> Lesson | None:
    """What is missing by its name."""
    if failure.is_a("KeyError"):
        return _variable(failure) or _words(failure) or _columns(failure)
    return (
        _resolved(failure)
        or _listed(failure)
        or _substitute(failure)
        or _attribute(failure)
        or _table(failure)
        or _argument(failure)
    )


def _substitute(failure: Failure) -> Lesson | None:
    """A substitute that was taken for a data set, and of which the script wants something else."""
    owner = failure.values.get("owner") or ["", ""]
    found = OBJECT.match(failure.words) if failure.is_a("TypeError") else None
    name = found[1] if found else owner[1] if owner[0].startswith(AGENT) else ""
    for stand_in in failure.run.stand_ins:
        if stand_in.how in TAKEN_FOR.get(name, ()) and not failure.knows("plain", stand_in.what):
            return Lesson("plain", stand_in.what, value=True, words=f"`{stand_in.what}` is no data set")
    return None


def _attribute(failure: Failure) -> Lesson | None:
    """Something that holds the settings of a file that is not there, and lacks one; all that are read of it are wanted."""
    missing = failure.values.get("attribute")
    file = next((each for each in failure.guessed() if each.how.startswith("settings")), None)
    known = [
        name
        for each in failure.lessons
        if each.kind == "columns" and file and each.what == file.what
        for name in each.value
    ]
    if not missing or file is None or missing in known:
        return None
    names = list(dict.fromkeys([*known, missing, *failure.among()]))
    return Lesson("columns", file.what, names, f"`{file.what}` has {', '.join(map(repr, names[:6]))}")


def _table(failure: Failure) -> Lesson | None:
    """A column that is read as an attribute of a table, with all that are read so of it."""
    owner, missing = failure.values.get("owner") or ["", ""], failure.values.get("attribute")
    if owner[1] not in TABLES or owner[0].partition(".")[0] not in ("pandas", AGENT) or not missing:
        return None
    return _of_table(failure, [missing, *(each for each in failure.among() if each != missing)])


def _variable(failure: Failure) -> Lesson | None:
    """A variable of the environment."""
    name = failure.values.get("key")
    if failure.values.get("module") != "os" or not isinstance(name, str) or "environ" not in failure.line:
        return None
    return Lesson("variable", name, None, f"the environment variable {name} has a placeholder value")


def _resolved(failure: Failure) -> Lesson | None:
    """A variable of the environment that a configuration refers to."""
    found = VARIABLE.search(failure.words)
    if found is None or failure.knows("variable", found[1]):
        return None
    return Lesson("variable", found[1], None, f"the environment variable {found[1]} has a placeholder value")


def _words(failure: Failure) -> Lesson | None:
    """A dictionary of the script that lacks a word which was made up: its own words are what is wanted."""
    key, guessed = failure.values.get("key"), failure.guessed()
    if not isinstance(key, (str, int)) or not guessed:
        return None
    for node in ast.walk(parsed(failure.line) or ast.Pass()):
        if isinstance(node, ast.Subscript) and failure.terms.get(ast.unparse(node.slice)) == key:
            known = failure.terms.get(ast.unparse(node.value))
            words = (
                [each for each in known["keys"] if isinstance(each, str)]
                if isinstance(known, dict) and "keys" in known
                else []
            )
            if words and not any(words[0] in each.how for each in guessed):  # and no row of a table that was made up
                return Lesson("words", str(key), words, f"placeholder names are those of `{ast.unparse(node.value)}`")
    return None


def _listed(failure: Failure) -> Lesson | None:
    """A list of the script that lacks a word which was made up: its own words are what is wanted."""
    found = NOT_LISTED.search(failure.words)
    if found is None or not failure.is_a("ValueError") or not failure.guessed():
        return None
    for node in ast.walk(parsed(failure.line) or ast.Pass()):
        if isinstance(node, ast.Attribute) and node.attr == "index":
            known = failure.terms.get(ast.unparse(node.value))
            words = [each for each in known if isinstance(each, str)] if isinstance(known, list) else []
            if words:
                return Lesson("words", found[1], words, f"placeholder names are those of `{ast.unparse(node.value)}`")
    return None


def _columns(failure: Failure) -> Lesson | None:
    """A column of a table, or a key of a record, with those that are named beside it."""
    key = failure.values.get("key")
    found = NO_COLUMN.search(failure.words)
    names = QUOTED.findall(found[1] or found[2]) if found else [key] if isinstance(key, str) else []
    names += [each for each in failure.values.get("among") or () if each not in names]
    return _of_table(failure, names)


def _of_table(failure: Failure, names: list[str]) -> Lesson | None:
    """A table that was made up, with columns of these names."""
    table = next((each for each in failure.guessed() if "synthetic rows" in each.how), None)
    if not names or table is None:
        return None
    known = [name for each in failure.lessons if each.kind == "columns" for name in each.value]
    if set(names) <= set(known):
        return None
    shown = ", ".join(map(repr, names[:6]))
    return Lesson(
        "columns", table.what, [*known, *(each for each in names if each not in known)], f"`{table.what}` has {shown}"
    )


def _argument(failure: Failure) -> Lesson | None:
    """An argument without which the script gives up, by the test that led there."""
    if not failure.line.startswith("raise") and not failure.is_a("AssertionError", "TypeError"):
        return None
    for written, value in failure.terms.items():
        node = parsed(written)
        expression = node.value if isinstance(node, ast.Expr) else None
        if value is None and isinstance(expression, ast.Name):
            expression = _given(expression.id, failure)
        name = _setting(expression) if value in (None, "") else ""
        if name and expression is not None and not failure.knows("argument", name):
            return Lesson("argument", name, None, f"`{ast.unparse(expression)}` has a placeholder value")
    return None


def _setting(expression: ast.expr | None) -> str:
    """The name of the setting that an expression is: `args.name`, `self.settings.name` or `settings["name"]`."""
    owner: ast.expr | None = getattr(expression, "value", None)
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return ""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    key = expression.slice if isinstance(expression, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _given(name: str, failure: Failure) -> ast.expr | None:
    """The attribute of the same name that a caller hands on for a variable."""
    for line in failure.feeding():
        for node in ast.walk(parsed(line) or ast.Pass()):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name):
                return node
    return None
