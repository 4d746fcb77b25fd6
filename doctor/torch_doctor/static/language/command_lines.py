"""Options of a command line, as `argparse` reads them: the script's own defaults hold where the user says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.language import defaults
from torch_doctor.static.library import library
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import MADE, Call, Const, Content, Plain, Sequence, Symbol, fresh_symbol

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

PARSER, PARSED = "argument parser", "command line"
"""Begin the symbols of a parser, and of what it reads."""
_SWITCHES = {"store_true": Const(value=False), "store_false": Const(value=True)}
_GROUPS = frozenset(("add_argument_group", "add_mutually_exclusive_group"))


@library("argparse.ArgumentParser")
def parser(run: Run, _: str, call: Call) -> Plain:
    """A parser without options; where it is made tells it from those of other scripts."""
    return Plain((PARSER, (*fresh_symbol(), str(run.site(call.node)))))


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """A method of a parser; None for those of anything else."""
    symbol = func.symbol
    if symbol[0] != "." or symbol[1][0] != PARSER:
        return None
    _, of, name = symbol
    read = (PARSED, of[1])
    if name == "add_argument":
        _add(run, read, call)
    elif name == "set_defaults":
        for option, value in call.keywords.items():
            defaults.forget(run, Plain(read), option)
            defaults.remember(run, (".", read, option), value)
    elif name in _GROUPS:
        return Plain(of)
    elif name == "parse_args":
        return Plain(read)
    elif name == "parse_known_args":
        return Sequence("tuple", Content((Plain(read), Plain())))
    return None


def escaped(run: Run, value: Value) -> None:
    """A parser goes out of sight: what it reads has the options, and the defaults, that it is given there."""
    if isinstance(value, Plain) and value.symbol[0] == PARSER:
        run.heap.change(value, Plain((PARSER, fresh_symbol(MADE))))


def _add(run: Run, read: Symbol, call: Call) -> None:
    """`add_argument("-e", "--epochs", default=90)`."""
    names = [value.value for value in call.args if isinstance(value, Const) and isinstance(value.value, str)]
    action, target = call.argument(3, "action"), call.keywords.get("dest")
    if isinstance(target, Const):
        names = [f"--{target.value}"]
    name = next((name for name in names if name.startswith("--")), names[0] if names else "")
    off = _SWITCHES.get(str(action.value)) if isinstance(action, Const) else None
    default = call.keywords.get("default")
    option = (".", read, name.lstrip("-").replace("-", "_"))
    if elsewhere.chosen(default) or elsewhere.chosen(action):
        defaults.settle(run, option, Plain(fresh_symbol(MADE)))
        return
    defaults.remember(run, option, default or off)
    if off is not None and isinstance(default, Const) and bool(default.value) is not off.value:
        defaults.settle(run, option, default)  # what the option sets is there already: nobody can choose
