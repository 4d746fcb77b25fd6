"""Values for what was not given: from its type, its choices, its use in the user's code, or its name."""

from __future__ import annotations

import argparse
import ast
import os
from typing import TYPE_CHECKING, Any

from ..project_files import configuration
from ..source import spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..source import Sources

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
COUNTED = (
    "epochs epoch iters steps batch size num n classes dim dims hidden layers layer heads channels workers seed length depth "
    "width gpu gpus rank k"
).split()
MEASURED = (
    "lr rate dropout decay alpha beta gamma momentum temperature eps epsilon ratio factor weight threshold".split()
)


def main_command(names: Sequence[str]) -> str:
    """The command that trains, by its name; else the first."""
    return next((name for word in TRAINING for name in names if word in name), names[0])


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
    if names_configuration(name):
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


def names_configuration(name: str) -> bool:
    """Whether an argument of this name is a configuration's file."""
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
