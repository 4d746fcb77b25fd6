"""Options of a command line, as `argparse` reads them: the script's own defaults hold where the user says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.choosing import Option
from torch_doctor.static.language import defaults
from torch_doctor.static.library import library
from torch_doctor.static.options import Options
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    MADE,
    NOTHING,
    UNTOLD,
    Call,
    Const,
    Content,
    Lib,
    Plain,
    Sequence,
    Symbol,
    constant,
    fresh_symbol,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

PARSER, PARSED = "argument parser", "command line"
"""Begin the symbols of a parser, and of what it reads."""
_SWITCHES = {"store_true": Const(value=False), "store_false": Const(value=True)}
_READING = frozenset(("get", "items", "keys", "values", "copy", "_get_kwargs"))
"""The methods of settings, or of a dict of them, that change nothing."""
_BOTH = "argparse.BooleanOptionalAction"
TYPES = {"builtins.int": int, "builtins.float": float, "builtins.bool": bool, "builtins.str": str}


@library("argparse.ArgumentParser")
def parser(run: Run, _: str, call: Call) -> Plain:
    """A parser without options; where it is made tells it from those of other scripts."""
    site = str(run.site(call.node))
    return Plain((PARSER, (UNTOLD, run.of(Options).parser(site), site)))


def is_parser(method: Plain) -> bool:
    """Whether this is a method of a parser."""
    return bool(method.symbol[0] == "." and method.symbol[1][0] == PARSER)


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """A method of a parser or of a group of its options; None for those of anything else."""
    symbol = func.symbol
    if not is_parser(func):
        if symbol[0] == "." and symbol[2] not in _READING:
            run.of(Options).forget(symbol[1])  # `vars(args).update(…)`
        return None
    _, of, name = symbol
    read = (PARSED, of[1])
    if name == "add_argument":
        _add(run, of, call)
    elif name == "set_defaults":
        for option, value in call.keywords.items():
            before = run.of(Options).known.get((".", read, option))
            defaults.forget(run, Plain(read), None if option == "**" else option)
            defaults.remember(run, (".", read, option), value)
            run.of(Options).known[".", read, option] = _with_default(before, value)
    elif name == "add_argument_group":
        return Plain(of)
    elif name == "add_mutually_exclusive_group":
        needed = call.flag("required", default=False) is not False
        return Plain((*of[:2], (UNTOLD, str(run.site(call.node)), needed)))
    elif name in ("parse_args", "parse_known_args"):
        if call.argument(1, "namespace") is not None or _says(call.argument(0, "args")):
            run.of(Options).forget(read)
        if name == "parse_args":
            return Plain(read)
        return Sequence("tuple", Content((Plain(read), Plain())))
    return None


def escaped(run: Run, value: Value) -> None:
    """A parser goes out of sight: what it reads has the options, and the defaults, that it is given there."""
    if isinstance(value, Plain) and value.symbol[0] == PARSER:
        run.heap.change(value, Plain((PARSER, fresh_symbol(MADE))))
    elif isinstance(value, Plain) and value.symbol[0] == PARSED:
        run.of(Options).forget(value.symbol)


def _add(run: Run, of: Symbol, call: Call) -> None:
    """`add_argument("-e", "--epochs", default=90)`; `of`: the parser, or the group of options."""
    names = [value.value for value in call.args if isinstance(value, Const) and isinstance(value.value, str)]
    action, target = call.keywords.get("action"), call.keywords.get("dest")
    spelled = next((name for name in names if name.startswith("--")), names[0] if names else "")
    name = str(target.value) if isinstance(target, Const) else spelled
    off = _SWITCHES.get(str(action.value)) if isinstance(action, Const) else None
    default = call.keywords.get("default")
    option = (".", (PARSED, of[1]), name.lstrip("-").replace("-", "_"))
    if elsewhere.chosen(default) or elsewhere.chosen(action):
        defaults.settle(run, option, Plain(fresh_symbol(MADE)))
        return
    defaults.remember(run, option, default or off)
    if off is not None and isinstance(default, Const) and bool(default.value) is not off.value:
        defaults.settle(run, option, default)  # what the option sets is there already: nobody can choose
        return
    known = run.of(Options).known
    group = of[2] if len(of) > 2 else None  # that of options which exclude each other
    known[option] = None if option in known else _option(spelled, group, call)


def _option(name: str, group: Symbol | None, call: Call) -> Option | None:
    """What is known of an option; None if its default is unknown, or it has none."""
    action, kind = call.keywords.get("action", NOTHING), call.keywords.get("type", Lib("builtins.str"))
    both = isinstance(action, Lib) and action.name == _BOTH
    needed = constant(call.keywords.get("required", NOTHING)) or (group is not None and group[-1])
    if "**" in call.keywords or not name.startswith("-") or needed or not (both or isinstance(action, Const)):
        return None
    if isinstance(action, Const) and (off := _SWITCHES.get(str(action.value))) is not None:
        return Option(name, off, switch=True, excludes=group)
    read = TYPES.get(kind.name) if isinstance(kind, Lib) else None
    default = _read(call.keywords.get("default", NOTHING), read)
    stored = both or constant(action) in (None, "store")
    if default is None or not stored:
        return None
    if both:
        return Option(f"--no-{name[2:]}" if default.value else name, default, switch=True, excludes=group)
    if "nargs" in call.keywords:
        read = None
    choices = call.keywords.get("choices")
    items = choices.content.items if isinstance(choices, Sequence) and choices.content.rest is None else ()
    known = tuple(constant(each) for each in items)
    return Option(name, default, read, () if None in known else known, excludes=group)


def _read(default: Value, kind: type | None) -> Const | None:
    """What an option is by default, once `type` has read it; None if that is not known."""
    if not isinstance(default, Const):
        return None
    if not isinstance(default.value, str) or kind is str:
        return default
    try:
        return None if kind is None else Const(kind(default.value))
    except ValueError:
        return None


def _with_default(option: Option | None, value: Value) -> Option | None:
    """What an option is once `set_defaults` has given it another default; a switch then sets what is there already."""
    if option is None or not isinstance(value, Const):
        return None
    return replace(option, default=value, choices=(value.value,) if option.switch else option.choices)


def _says(given: Value | None) -> bool:
    """Whether the script itself passes arguments to the parser."""
    if isinstance(given, Sequence):
        return bool(given.content.items) or given.content.rest is not None
    return isinstance(given, Const) and given.value is not None
