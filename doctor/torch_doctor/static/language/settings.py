"""Settings of a command line or a file, among which scripts keep their objects: `args.optimizer = SGD(…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.language import defaults
from torch_doctor.static.library import library
from torch_doctor.static.options import Options
from torch_doctor.static.values import (
    Call,
    Const,
    Loader,
    Plain,
    Settings,
    Unknown,
    UnknownName,
    Value,
    hashable,
    held,
    symbol_of,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def keep(run: Run, settings: Plain | Settings, key: object, new: Value, node: p.Node) -> bool:
    """Keep an object of the script's among settings; False where what is kept is a setting itself, or this is an array.

    The settings are an object themselves from here on, for all who have them.
    """
    if isinstance(settings, Plain):
        if settings.size is not None or not (held((new,)) or isinstance(new, Loader)):
            defaults.forget(run, settings, key)
            if isinstance(key, str) and not isinstance(key, UnknownName):
                run.of(Options).assign((".", settings.symbol, key), new, sure=run.fork_depth == 0)
            return False
        made = run.own(Settings(settings, run.site(node)))
        run.heap.change(settings, made)
        settings = made
    run.heap.set(settings.fields, key, new)
    return True


@library("types.SimpleNamespace", "argparse.Namespace")
def namespace(run: Run, _: str, call: Call) -> Settings:
    """Settings that the script writes down itself: `SimpleNamespace(device="cpu")`."""
    made = run.own(Settings(Plain(), run.site(call.node)))
    for name, value in call.keywords.items():
        if name != "**":
            made.fields[name] = value
    return made


def key_of(key: Value) -> tuple[str, object]:
    """The key under which an item is kept, as in a dictionary; one that nobody knows is told by its symbol."""
    return ("key", key.value) if isinstance(key, Const) and hashable(key.value) else ("unknown", symbol_of(key))


def kept(settings: Settings, key: object) -> Value | None:
    """What is kept under a key; None where that is a setting."""
    found = settings.fields.get(key)
    if isinstance(found, Value):
        return found
    unknown = isinstance(key, tuple) and (key[0] == "unknown" or any(each[0] == "unknown" for each in settings.fields))
    return everything(settings) if unknown or key == "__dict__" else None


def everything(settings: Settings) -> Value:
    """Something that holds all that is kept there."""
    return Unknown(Flow(graph=None), held((settings,)))
