"""Paths: which of them are the same, in every process of a distributed run or in two calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language.command_lines import PARSED
from torch_doctor.static.library import library
from torch_doctor.static.program.walking import tells_processes_apart, walk
from torch_doctor.static.values import ARRAY, MADE, UNTOLD, Const, Either, Lib, Plain, Unknown, asked, texts

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol
    from torch_doctor.trace import Tri

JOINS = frozenset(
    ("os.path.join", "builtins.str", "builtins.int", "pathlib.Path", "os.path.abspath", "os.path.expanduser")
)
"""Functions that make a path of what they are given, and of nothing else."""
_WITHIN = (p.Const, p.Text, p.Operation, p.Attribute, p.Call, p.Name)


def shared(run: Run, node: p.Node, position: int, *names: str) -> Tri:
    """Whether the path that a call is given is the same in every process; None where that is not known."""
    found = _given(node, position, *names)
    if found is None:
        return None
    parts = list(walk(found))
    if tells_processes_apart(found) or not all(isinstance(part, _WITHIN) for part in parts):
        return None
    called = [part.func for part in parts if isinstance(part, p.Call)]
    known = (run.evaluate(func) for func in called)
    if not all(isinstance(func, Lib) and func.name in JOINS for func in known):
        return None
    roots = {part.value for part in parts if isinstance(part, p.Attribute)} | set(called)
    named = (run.evaluate(part) for part in parts if isinstance(part, p.Name) and part not in roots)
    return True if all(isinstance(value, (Const, Lib)) or _counts(value) for value in named) else None


def spelled(run: Run, call: Call, position: int, name: str) -> str:
    """Text that is equal for two calls whose path is the same; "" where what the path is made of is not known."""
    value = run.resolve(call.argument(position, name) or Unknown())
    node = _given(call.node, position, name)
    if isinstance(value, Unknown) and isinstance(node, p.Name):
        holder = run.frame.holder(node.id)
        return node.id if holder is not None and holder.fields is run.frame.globals.fields else ""
    found = texts.parts(value)
    return "" if found is None else texts.path(found)


def written(run: Run, call: Call, position: int, name: str) -> str:
    """The path that a call writes to, as `spelled` has it; "" also where code out of sight says what it is."""
    found = texts.parts(run.resolve(call.argument(position, name) or Unknown())) or ()
    if len(found) == 1 and not isinstance(found[0], str) and (found[0][0] in (UNTOLD, MADE) or asked(found[0])):
        return ""
    return spelled(run, call, position, name)


def told(run: Run, call: Call, position: int, name: str) -> bool:
    """Whether an option of the command line, a setting or an argument that nobody gives may be the whole path."""
    value = run.resolve(call.argument(position, name) or Unknown())
    options = [option for _, option in value.options] if isinstance(value, Either) else [value]
    return any(
        not (isinstance(option, Unknown) and option.holds) and len(found) == 1 and _is_setting(found[0])
        for option in options
        if (found := texts.parts(option)) is not None
    )


def _is_setting(part: str | Symbol) -> bool:
    """Whether a part of a path is what the user says, and not what code out of sight returned."""
    if isinstance(part, str):
        return False
    root = part
    while root[0] == ".":
        root = root[1]
    return root[0] in (PARSED, "flag") or (root is not part and root[0] == UNTOLD and not asked(root))


def _given(node: p.Node, position: int, *names: str) -> p.Expr | None:
    """The path among the arguments of a call."""
    if not isinstance(node, p.Call):
        return None
    given = dict(node.keywords)
    if position < len(node.args):
        found: p.Expr | None = node.args[position]
    else:
        found = next((given[name] for name in names if name in given), None)
    return None if isinstance(found, p.Star) else found


@library("os.path.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath")
def joined(_: Run, __: str, call: Call) -> Plain | None:
    """A path of several parts; of one that is no text, or one of several, nothing is known but that it is this one."""
    if call.keywords or not call.args:
        return None
    return texts.made([Plain() if texts.parts(value) is None else value for value in call.args], between="/")


@library("builtins.open", "os.path.abspath", "os.path.expanduser", "os.path.realpath", "os.fspath")
def same(_: Run, __: str, call: Call) -> Plain:
    """The same path in other words, or the file there."""
    return texts.made(call.args[:1]) or Plain()


@library("os.path.dirname", "os.path.normpath")
def around(_: Run, __: str, call: Call) -> Plain | None:
    """The folder of the script's own file, or one above it; None where it is that of something else."""
    own = isinstance(given := call.argument(0), Plain) and texts.is_own(given.symbol)
    return texts.of((texts.FOLDER,)) if own else None


@library("os.getcwd", "pathlib.Path.cwd")
def here(_: Run, __: str, ___: Call) -> Plain:
    """The folder in which the script is started."""
    return texts.of((texts.FOLDER,))


def _counts(value: object) -> bool:
    """Whether it is what a loop over numbers counts, or a setting."""
    return isinstance(value, Plain) and (_is_size(value) or value.symbol[0] in ("counter", "flag", "."))


def _is_size(value: Plain) -> bool:
    return value.size is not None and value.size.name != ARRAY
