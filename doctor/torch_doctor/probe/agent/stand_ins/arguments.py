"""Command line arguments that must be given and were not: filled from their type, choices and use, or asked for."""

from __future__ import annotations

import argparse
import ast
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .demands import wanted
from .project_files import configuration
from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from .source import Sources
    from .told import Teller

WHY = "an argument that must be given"
PLACES = (
    "dir",
    "path",
    "root",
    "folder",
    "data",
    "file",
    "out",
    "output",
    "save",
    "log",
    "checkpoint",
    "ckpt",
    "cache",
)
NAMES = ("name", "run", "experiment", "exp", "tag", "title", "version", "prefix", "suffix", "project", "id", "comment")
CONFIGURATION = ("config", "configs", "cfg", "conf", "yaml", "yml", "hparams", "opt")
CONFIGURATIONS = ("config", "cfg", "yaml")  # in a longer word, too: `traincfg`
EASY = (
    "fake",
    "dummy",
    "synthetic",
    "random",
    "toy",
    "mnist",
    "cifar10",
    "cifar-10",
    "cifar",
    "small",
    "tiny",
    "train",
    "cpu",
)
TRAINING = ("train", "fit", "run", "main")
# Word in the classes that the code loads → a model that fits.
PRETRAINED = (
    ("Seq2Seq", "t5-small"),
    ("T5", "t5-small"),
    ("Causal", "gpt2"),
    ("GPT2", "gpt2"),
    ("Image", "google/vit-base-patch16-224-in21k"),
    ("ViT", "google/vit-base-patch16-224-in21k"),
    ("Roberta", "roberta-base"),
)
METAVARS: dict[str, Any] = {"INT": int, "FLOAT": float, "BOOL": bool}  # where a library keeps the type to itself
COUNTED = (
    "epochs epoch iters steps batch size num n classes dim dims hidden layers layer heads channels workers seed length depth "
    "width gpu gpus rank k"
).split()
MEASURED = (
    "lr rate dropout decay alpha beta gamma momentum temperature eps epsilon ratio factor weight threshold".split()
)


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches `argparse`, on which most libraries stand, and others when they are imported."""
    _patch_argparse(sources, teller, argparse)
    os.environ["PYTHON_TYRO_BACKEND"] = "argparse"  # a copy of it
    for name in ("tyro._argparse", "tyro._backends._argparse"):
        after(name, functools.partial(_patch_argparse, sources, teller))
    for name in ("click.core", "typer.core"):
        after(name, functools.partial(_patch_click, sources, teller))


# --- argparse ---


def _patch_argparse(sources: Sources, teller: Teller, module: ModuleType) -> None:
    library: Any = module
    parse = library.ArgumentParser.parse_known_args

    @functools.wraps(parse)
    def parse_known_args(self: Any, args: Sequence[str] | None = None, namespace: Any = None, **keywords: Any) -> Any:
        if (args is None or list(args) == sys.argv[1:]) and sources.innermost() is not None:
            args = _filled(self, list(sys.argv[1:]), sources, teller)
        return parse(self, args, namespace, **keywords)

    library.ArgumentParser.parse_known_args = parse_known_args


def _filled(parser: argparse.ArgumentParser, given: list[str], sources: Sources, teller: Teller) -> list[str]:
    """The arguments with those that are missing."""
    needed = [*_required(parser), *_wanted(parser, sources)]
    missing = [action for action in needed if not _is_given(parser, action, given)]
    positional = [action for action in missing if not action.option_strings]
    count = sum(not word.startswith("-") for word in given) if positional else 0
    before: list[str] = []
    for action in missing:
        if not action.option_strings and count:  # what is there may well be its value
            count -= 1
            continue
        if _has_commands(action):
            name = main_command(list(action.choices or ()))
            inner = _filled(dict(action.choices or {})[name], [], sources, teller)
            teller.stand_in(f"the command {name!r}", WHY, "the one that trains", [told.ARGUMENTS])
            return [*given, *before, name, *inner]
        values = _values(action, sources, teller)
        name = action.option_strings[-1] if action.option_strings else action.dest
        teller.stand_in(f"{name} {' '.join(values)}".rstrip(), WHY, "a value made up", [told.ARGUMENTS])
        before += [*([action.option_strings[-1]] if action.option_strings else []), *values]
    return [*given, *before]


def _required(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """What must be given: options, positional arguments, one of each required group."""
    grouped: set[int] = set()
    for group in parser._mutually_exclusive_groups:
        if group.required and group._group_actions:
            grouped.update(id(action) for action in group._group_actions[1:])
    for action in parser._actions:
        optional = action.nargs in ("?", "*", argparse.REMAINDER, argparse.SUPPRESS)
        if _has_commands(action):
            if action.required or action.choices:
                yield action
        elif action.required and id(action) not in grouped and not (optional and not action.option_strings):
            yield action
    for group in parser._mutually_exclusive_groups:
        if group.required and group._group_actions:
            yield group._group_actions[0]


def _wanted(parser: argparse.ArgumentParser, sources: Sources) -> Iterator[argparse.Action]:
    """Configuration files that are optional by their declaration, and without which the script gives up."""
    for action in parser._actions:
        optional = (
            bool(action.option_strings) and not action.required and action.default is None and action.nargs is None
        )
        if optional and _names_configuration(action.dest) and wanted(sources, action.dest) and configuration(sources):
            yield action


def _is_given(parser: argparse.ArgumentParser, action: argparse.Action, given: list[str]) -> bool:
    if _has_commands(action):
        return any(word in (action.choices or ()) for word in given)
    names = action.option_strings
    for group in parser._mutually_exclusive_groups:
        if action in group._group_actions:
            names = [name for each in group._group_actions for name in each.option_strings]
    return any(
        word == name or word.startswith(f"{name}=") or (len(name) == 2 and word.startswith(name))  # noqa: PLR2004 - `-n5`
        for word in given
        for name in names
    )


def _has_commands(action: argparse.Action) -> bool:
    """Whether it takes one of several commands, each with a parser of its own."""
    return isinstance(action.choices, dict) and all(hasattr(each, "_actions") for each in action.choices.values())


def main_command(names: Sequence[str]) -> str:
    """The command that trains, by its name; else the first."""
    return next((name for word in TRAINING for name in names if word in name), names[0])


def _values(action: argparse.Action, sources: Sources, teller: Teller) -> list[str]:
    """Words for an argument; none for one that takes none."""
    if action.nargs == 0:
        return []
    count = action.nargs if isinstance(action.nargs, int) else 1
    name = action.option_strings[-1] if action.option_strings else action.dest
    kind = METAVARS.get(str(action.metavar), action.type)
    value = made_up(name.lstrip("-").replace("-", "_"), kind, list(action.choices or ()), action.help or "", sources)
    if value is None:
        about = f" ({action.help})" if action.help else ""
        entry = {"name": name, "kind": getattr(action.type, "__name__", "str"), "help": action.help or ""}
        text = f"the script needs the argument {name}{about}: give it after `--`"
        raise teller.asked(text, [entry])
    return [value] * count


def made_up(name: str, kind: Any, choices: list[Any], about: str, sources: Sources) -> str | None:  # noqa: C901, PLR0911 - by sort
    """A value for an argument of this name, by its type, its choices, its use, or its name."""
    if choices:
        return str(_easiest([str(choice) for choice in choices]))
    if kind is int:
        return str(_number(name))
    if kind is float:
        return "0.01"
    if kind is bool:
        return "1"
    if isinstance(kind, argparse.FileType):
        return os.devnull
    compared = _compared(name, sources)
    if compared:
        return _easiest(compared)
    pretrained = _pretrained(name, sources)
    if pretrained:
        return pretrained
    words = name.lower().replace("-", "_").split("_")
    if _names_configuration(name):
        found = configuration(sources, name)
        if found:
            return found
    if any(place in word for word in words for place in PLACES) or "path" in about.lower():
        return os.path.join("torch-doctor", name)
    if any(word in NAMES for word in words):
        return "probe"
    return None


def untyped(name: str, sources: Sources) -> str | None:
    """A value for something that has no type: by its use, else a number where its name is one's."""
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    compared = _compared(name, sources, bare=True)
    if compared:
        return _easiest(compared)
    if words[-1] in COUNTED:
        return str(_number(name))
    if words[-1] in MEASURED:
        return "0.01"
    return made_up(name, None, [], "", sources)


def _names_configuration(name: str) -> bool:
    words = name.lower().replace("-", "_").split("_")
    return any(word in CONFIGURATION or any(part in word for part in CONFIGURATIONS) for word in words)


def _number(name: str) -> int:
    """A whole number that does no harm: sizes are even, counts are small."""
    lowered = name.lower()
    if any(word in lowered for word in ("local_rank", "rank", "seed", "gpu", "fold", "device")):
        return 0
    if any(word in lowered for word in ("epoch", "iter", "step", "worker", "node", "world")):
        return 2 if "epoch" in lowered or "iter" in lowered or "step" in lowered else 1
    if any(word in lowered for word in ("batch", "bs")):
        return 8
    if any(word in lowered for word in ("class", "label")):
        return 10
    if any(word in lowered for word in ("factor", "scale", "layer", "depth", "head", "level")):
        return 2
    return 4


def _easiest(values: Sequence[str]) -> str:
    """The value that needs least: one that says it is made up, or small; else the first."""
    return next((value for easy in EASY for value in values if value.lower() == easy), values[0])


def _compared(name: str, sources: Sources, *, bare: bool = False) -> list[str]:
    """The words that the user's code compares `args.name` with, or a parameter that is `bare`, in the source's order."""
    found: list[str] = []
    for tree in sources.project_trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and _mentions(node.left, name, bare=bare):
                found += [word for each in ast.walk(node.comparators[0]) if (word := _word(each))]
            elif isinstance(node, ast.Subscript) and _mentions(node.slice, name, bare=bare):
                keys = node.value.keys if isinstance(node.value, ast.Dict) else []
                found += [word for key in keys if key is not None and (word := _word(key))]
    return found


def _pretrained(name: str, sources: Sources) -> str | None:
    """A model of the sort that the user's code loads, where what is loaded is called so."""
    calls = [
        (spelled(node.func.value), node)
        for tree in sources.project_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "from_pretrained"
    ]
    key = name.replace("-", "_")
    if not any(spelled(part) == key for _, call in calls for given in call.args[:1] for part in ast.walk(given)):
        return None
    classes = " ".join(owner for owner, _ in calls)
    return next((model for word, model in PRETRAINED if word in classes), "bert-base-uncased")


def _word(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _mentions(node: ast.expr, name: str, *, bare: bool) -> bool:
    """Whether it is `args.name`, or `args.name.lower()`; a name alone, too, where it is `bare`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return isinstance(node, (ast.Attribute, ast.Name) if bare else ast.Attribute) and spelled(node) == name


# --- click ---


def _patch_click(sources: Sources, teller: Teller, module: ModuleType) -> None:
    parameter: Any = getattr(module, "_TyperParameter", getattr(module, "Parameter", None))  # typer has its own click
    if parameter is None:
        return
    missing: Callable[..., Any] = parameter.process_value

    @functools.wraps(missing)
    def process_value(self: Any, context: Any, value: Any) -> Any:
        if value in (None, ()) and self.required:
            sort = getattr(self, "type", None) or self.type_descriptor  # typer's
            word = getattr(sort, "name", "str")
            kind = {"integer": int, "float": float, "boolean": bool}.get(word, getattr(sort, "annotation", None))
            choices = list(getattr(sort, "choices", None) or ())
            about = getattr(self, "help", None) or ""
            made = made_up(self.name, kind, choices, about, sources)
            if made is None:
                entry = {"name": self.name, "kind": word, "help": about}
                text = f"the script needs the argument {self.name}: give it after `--`"
                raise teller.asked(text, [entry])
            teller.stand_in(f"{self.name} {made}", WHY, "a value made up", [told.ARGUMENTS])
            value = made
        return missing(self, context, value)

    parameter.process_value = process_value
