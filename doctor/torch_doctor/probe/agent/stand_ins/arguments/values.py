"""Values for what was not given: from its type, its choices, its use in the user's code, or its name."""

from __future__ import annotations

import argparse
import ast
import os
from typing import TYPE_CHECKING, Any

from ..project_files import ENDINGS, between, configuration, settings_file
from ..source import spelled
from ..uses import Use, use_of
from .documented import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..source import Sources

WHY = "required argument"
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
MADE_UP = frozenset(EASY[:5])
"""Choices that need no data."""
CONFIGURING = (*ENDINGS, ".py")
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
COUNTED = (
    "epochs epoch iters steps batch size num n classes dim dims hidden layers layer heads channels workers seed length depth "
    "width gpu gpus rank k"
).split()
MEASURED = (
    "lr rate dropout decay alpha beta gamma momentum temperature eps epsilon ratio factor weight threshold".split()
)


TRIED = (
    "1",
    "0.5",
    "true",
    "train",
    "a",
    "1,2",
    "1,2,3",
    "1:2",
    "1-2",
    "1x1",
    "a=1",
    "a:1",
    "{}",
    "[1]",
    "2020-01-01",
    "cpu",
)
"""Texts of the forms that conversions of the user's take."""


def main_command(names: Sequence[str]) -> str:
    """The command that trains, by its name; else the first."""
    return next((name for word in TRAINING for name in names if word in name), names[0])


def made_up(name: str, kind: Any, choices: list[Any], about: str, sources: Sources) -> str:
    """A value for an argument of this name: a choice that needs no data, a documented value, else a guess."""
    if any(str(choice).lower() in MADE_UP for choice in choices):
        return _chosen(name, choices, sources)
    return value_of(sources, [name], kind, choices) or _guessed(name, kind, choices, about, sources)


def _guessed(name: str, kind: Any, choices: list[Any], about: str, sources: Sources) -> str:  # noqa: PLR0911 - by sort
    """A value by the type of an argument, its choices, its use, or its name."""
    if choices:
        return _chosen(name, choices, sources)
    if kind is int:
        return str(number(name))
    if kind is float:
        return "0.01"
    if kind is bool:
        return "1"
    use = used(name, sources)
    if use.words:
        return _chosen(name, use.words, sources)
    writes = isinstance(kind, argparse.FileType) and "r" not in kind._mode
    file = of_project(use, name, sources) if not writes else None
    if file is not None or isinstance(kind, argparse.FileType):
        return file or os.devnull
    pretrained = _pretrained(name, sources)
    if pretrained:
        return pretrained
    place = _named(name, about, sources)
    if place is not None:
        return place
    if callable(kind) and kind is not str:
        return _accepted(kind, name)
    one = {None: "probe", float: "0.01"}.get(use.kind) or str(number(name))
    separator = " " if use.separator == "" else use.separator
    return one if separator is None else separator.join([one] * max(use.count, 2))


def of_project(use: Use, name: str, sources: Sources) -> str | None:
    """The file of the project from which settings are read, or what its path or name has for a value of this use."""
    for before, after in use.within:
        if use.imported and before.endswith("."):
            before, after = before.replace(".", os.sep), after or ".py"  # noqa: PLW2901 - as a path
        if os.path.dirname(before) and (os.path.splitext(f"-{after}")[1] in CONFIGURING or names_configuration(name)):
            found = between(sources, before, after)
            if found is not None:
                return found
    called = names_configuration(name)
    if use.imported and called:
        module = configuration(sources, name, ending=".py")
        top = os.path.dirname(sources.script)
        return None if module is None else os.path.splitext(os.path.relpath(module, top))[0].replace(os.sep, ".")
    if not use.loaded:
        return None
    return (configuration(sources, name) if called else None) or settings_file(sources)


def _named(name: str, about: str, sources: Sources) -> str | None:
    """What the name of an argument says: a configuration, a place for files, or a name."""
    words = name.lower().replace("-", "_").split("_")
    found = configuration(sources, name) if names_configuration(name) else None
    if found:
        return found
    if any(place in word for word in words for place in PLACES) or "path" in about.lower():
        return os.path.join("torch-doctor", name)
    return "probe" if any(word in NAMES for word in words) else None


def used(name: str, sources: Sources, *, bare: bool = False) -> Use:
    """What the user's code does with `args.name`, and with a name alone where it is `bare`."""
    kinds: Any = (ast.Attribute, ast.Name) if bare else ast.Attribute
    key = name.replace("-", "_")
    return use_of(
        sources.project_trees(),
        lambda node: isinstance(node, kinds) and isinstance(node.ctx, ast.Load) and spelled(node) == key,
    )


def _accepted(kind: Callable[[str], Any], name: str) -> str:
    """The first text that a conversion of the user's takes."""
    for text in (str(number(name)), *TRIED):
        try:
            kind(text)
        except Exception:  # noqa: BLE001, S112 - however it refuses
            continue
        return text
    return "probe"


def untyped(name: str, sources: Sources) -> str:
    """A value for something that has no type: a documented one, by its use, else a number where its name is one's."""
    documented = value_of(sources, [name])
    if documented is not None:
        return documented
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    use = used(name, sources, bare=True)
    if use.words:
        return _chosen(name, use.words, sources)
    file = of_project(use, name, sources)
    if file is not None:
        return file
    if words[-1] in COUNTED:
        return str(number(name))
    if words[-1] in MEASURED:
        return "0.01"
    return made_up(name, None, [], "", sources)


def names_configuration(name: str) -> bool:
    """Whether an argument of this name is a configuration's file."""
    words = name.lower().replace("-", "_").split("_")
    return any(word in CONFIGURATION or any(part in word for part in CONFIGURATIONS) for word in words)


def number(name: str) -> int:
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


def easiest(values: Sequence[str]) -> str:
    """The value that needs least: one that says it is made up, or small; else the first."""
    return next((value for easy in EASY for value in values if value.lower() == easy), values[0])


def _chosen(name: str, words: Sequence[Any], sources: Sources) -> str:
    """One of the words that the script knows for a value of this name."""
    if len(set(words)) > 1:
        sources.chosen.add(name)
    return easiest([str(word) for word in words])


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
