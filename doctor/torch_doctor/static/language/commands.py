"""Options that a command line gives to functions and dataclasses: those of click, typer, fire, tyro and their kin.

Sources: the documentation of click 8 (`option`), typer 0.12 (`run`, `Typer.command`), fire 0.7, tyro 0.9, simple-parsing 0.1,
pyrallis 0.3 and of transformers 4.40 (`HfArgumentParser`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static.choosing import Option
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.language import defaults
from torch_doctor.static.language.command_lines import PARSED, TYPES
from torch_doctor.static.library import library
from torch_doctor.static.options import Options
from torch_doctor.static.state import per_run
from torch_doctor.static.values import (
    NOTHING,
    UNTOLD,
    Call,
    ClassValue,
    Const,
    Content,
    FunctionValue,
    Lib,
    Plain,
    Sequence,
    constant,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value

DECLARED, ALL, CHOICE = "declared option", "options of all parameters", "choice"
"""Begin the symbols of what declares options, and of the choices of one."""
READER, APP, FACTORY = "reader of dataclasses", "application", "factory"
"""Begin the symbols of what reads the fields of dataclasses, of what has commands, and of what makes the default of a field."""


class Spelling(NamedTuple):
    """How an option is spelled: what joins the words of its name, and begins a switch that turns one off (None: no switches)."""

    joint: str
    off: str | None


_TYPER = Spelling("-", "--no-")
_COMMANDS = {"typer.run": _TYPER, "fire.Fire": Spelling("_", "--no")}
"""What makes an option of each parameter that has a default."""
_PARSERS = {
    "tyro.cli": _TYPER,
    "simple_parsing.parse": Spelling("_", "--no"),
    "pyrallis.parse": Spelling("_", None),
    "draccus.parse": Spelling("_", None),
}
"""What makes an option of each field of a dataclass."""
_READER = Spelling("_", "--no_")
"""How `HfArgumentParser` spells them."""


class Commands(Lasting):
    """The options that decorators declare, and those of the functions that a command line calls."""

    declared: dict[Symbol, tuple[str, Option | None]] = per_run(dict)
    options: dict[p.Function, dict[str, Symbol]] = per_run(dict)
    functions: dict[Symbol, list[FunctionValue]] = per_run(dict)
    readers: dict[Symbol, tuple[Value, ...]] = per_run(dict)
    factories: dict[Symbol, Value] = per_run(dict)


@library("dataclasses.field", "attrs.field", "attr.ib", "typer.Option", "pydantic.Field")
def field(run: Run, _: str, call: Call) -> Value | None:
    """`field(default="adam")` or `Option("adam")`: the field, or the parameter, has that default, or a factory makes one."""
    default, factory = call.argument(0, "default"), call.keywords.get("default_factory", call.keywords.get("factory"))
    if factory is not None:
        symbol = (FACTORY, (UNTOLD, str(run.site(call.node))))
        run.of(Commands).factories[symbol] = factory
        return Plain(symbol)
    return default if isinstance(default, Const) else None


def made_by_factory(run: Run, default: Value, call: Call) -> Value | None:
    """What the factory of a field makes for a new object; None for any other default."""
    factory = run.of(Commands).factories.get(default.symbol) if isinstance(default, Plain) else None
    return None if factory is None else run.call(factory, Call((), {}, call.node))


@library("typer.Typer")
def app(run: Run, _: str, call: Call) -> Plain:
    """`app = typer.Typer()`, of which `app.command()` decorates functions."""
    return Plain((APP, (UNTOLD, str(run.site(call.node)))))


@library("click.option")
def option(run: Run, _: str, call: Call) -> Plain:
    """`@click.option("--epochs", "epochs", default=90)`: the decorated function gets it by its name."""
    names = [str(value.value) for value in call.args if isinstance(value, Const)]
    spelled = next((name for name in names if name.startswith("--")), names[0] if names else "")
    on, _, off = spelled.partition("/")
    own = next((name for name in names if not name.startswith("-")), on.lstrip("-").replace("-", "_"))
    symbol = (DECLARED, (UNTOLD, str(run.site(call.node))))
    run.of(Commands).declared[symbol] = own, _declared(on.strip(), off.strip(), call)
    return Plain(symbol)


def decorates(run: Run, decorator: Value, function: FunctionValue) -> bool:
    """Whether a decorator declares an option of a function, or options of all its parameters, which are noted."""
    symbol = decorator.symbol if isinstance(decorator, Plain) else ("",)
    if symbol[0] == ALL:
        _parameters(run, function, _TYPER)
        run.of(Commands).functions.setdefault(symbol[1], []).append(function)
    elif symbol[0] == DECLARED:
        _note(run, function, *run.of(Commands).declared[symbol])
    else:
        return False
    return True


def called_by(run: Run, name: str, function: FunctionValue) -> None:
    """Note that a command line calls a function, if it makes options of the parameters that have defaults."""
    if (spelling := _COMMANDS.get(name)) is not None:
        _parameters(run, function, spelling)


def given(run: Run, function: FunctionValue, parameter: str) -> Value | None:
    """Return what a command line gives for a parameter that no call in sight names; None where it is no option."""
    symbol = run.of(Commands).options.get(function.node, {}).get(parameter)
    return None if symbol is None else defaults.setting(run, symbol) or Plain(symbol)


@library("click.Choice")
def choices(_: Run, __: str, call: Call) -> Plain | None:
    """`click.Choice(["sgd", "adam"])`."""
    given = call.argument(0, "choices")
    items = given.content.items if isinstance(given, Sequence) and given.content.rest is None else ()
    known = tuple(constant(each) for each in items)
    return Plain((CHOICE, known)) if known and None not in known else None


@library(*_PARSERS)
def parsed(run: Run, name: str, call: Call) -> Plain | None:
    """`tyro.cli(Settings)`: the options are the fields of a dataclass."""
    cls = call.argument(0, "config_class")
    return _settings(run, cls, call, _PARSERS[name]) if isinstance(cls, ClassValue) else None


@library("transformers.HfArgumentParser")
def reader(run: Run, _: str, call: Call) -> Plain | None:
    """`HfArgumentParser((Model, Data))`."""
    given = call.argument(0, "dataclass_types")
    classes = given.content.items if isinstance(given, Sequence) else () if given is None else (given,)
    symbol = READER, (UNTOLD, str(run.site(call.node)))
    run.of(Commands).readers[symbol] = classes
    return Plain(symbol)


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """An application that is called, its methods, or those of what reads several dataclasses; None for those of anything else."""
    symbol = func.symbol
    if symbol[0] == APP:
        only = run.of(Commands).functions.get(symbol, ())
        return run.call(only[0], Call((), {}, call.node)) if len(only) == 1 else None
    if symbol[0] != "." or (symbol[1][0], symbol[2]) not in ((APP, "command"), (READER, "parse_args_into_dataclasses")):
        return None
    if symbol[1][0] == APP:
        return Plain((ALL, symbol[1]))
    classes = run.of(Commands).readers.get(symbol[1], ())
    bare = Call((), {}, call.node)
    found = [
        _settings(run, each, bare, _READER) if isinstance(each, ClassValue) else run.call(each, bare)
        for each in classes
    ]
    return Sequence("tuple", Content(tuple(found), None if found else Plain()))


def _parameters(run: Run, function: FunctionValue, spelling: Spelling) -> None:
    for parameter in function.node.parameters:
        if parameter.default is not None:
            value = run.evaluate(parameter.default)
            _note(run, function, parameter.name, _by_default(parameter.name, value, spelling))


def _settings(run: Run, cls: ClassValue, call: Call, spelling: Spelling) -> Plain:
    symbol = PARSED, (UNTOLD, cls.node.name, str(run.site(call.node)))
    for name, value in _fields(cls):
        _keep(run, (".", symbol, name), value, _by_default(name, value, spelling))
    return Plain(symbol)


def _fields(cls: ClassValue) -> Iterator[tuple[str, Value]]:
    for base in reversed(cls.mro()):
        for name, value in base.fields.items() if isinstance(base, ClassValue) else ():
            if isinstance(name, str) and isinstance(value, Const):
                yield name, value


def _note(run: Run, function: FunctionValue, name: str, found: Option | None) -> None:
    symbol = (".", (PARSED, (UNTOLD, str(function.unit.site(function.node.name_at)))), name)
    run.of(Commands).options.setdefault(function.node, {})[name] = symbol
    _keep(run, symbol, found.default if found is not None else NOTHING, found)


def _keep(run: Run, symbol: Symbol, value: Value, found: Option | None) -> None:
    defaults.remember(run, symbol, value)
    run.of(Options).known[symbol] = found


def _declared(on: str, off: str, call: Call) -> Option | None:
    """What is known of an option of click; None if its default is unknown, or it has none."""
    default = call.keywords.get("default", NOTHING)
    if "**" in call.keywords or not on.startswith("-") or not isinstance(default, Const):
        return None
    if constant(call.keywords.get("required", NOTHING)) or constant(call.keywords.get("multiple", NOTHING)):
        return None
    flag = bool(constant(call.keywords.get("is_flag", NOTHING)))
    if flag and not off and (default.value or "flag_value" in call.keywords):
        return None  # what the flag sets depends on the version of click
    if off or flag:
        return Option(off if off and default.value else on, Const(bool(default.value)), switch=True)
    kind = call.keywords.get("type", NOTHING)
    if isinstance(kind, Plain) and kind.symbol[0] == CHOICE:
        return Option(on, default, str, kind.symbol[1])
    read = TYPES.get(kind.name) if isinstance(kind, Lib) else type(default.value)
    return Option(on, default, read if read in (int, float, str) else None)


def _by_default(name: str, default: Value, spelling: Spelling) -> Option | None:
    """What is known of an option that is a parameter or a field with a default."""
    if not isinstance(default, Const) or not isinstance(default.value, (bool, int, float, str)):
        return None
    spelled = f"--{name.replace('_', spelling.joint)}"
    if isinstance(default.value, bool) and spelling.off is not None:
        return Option(f"{spelling.off}{spelled[2:]}" if default.value else spelled, default, switch=True)
    return Option(spelled, default, type(default.value))
