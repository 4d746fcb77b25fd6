"""What the user's code says of the pictures that it reads: whether there are any, their suffix, and folders of classes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from .source import spelled, targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from .source import Sources

READABLE = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".pgm", ".pbm", ".tif", ".tiff", ".gif", ".jfif")
DATA = frozenset({"train", "training", "val", "valid", "test"})
OF_PICTURES = ("image", "img", "pic", "photo")
MASKS = frozenset({"gt", "groundtruth", "seg"})
READERS = frozenset({"imread", "read_image", "decode_image", "default_loader", "pil_loader"})
LIBRARIES = frozenset({"torchvision", "PIL", "cv2", "skimage", "imageio", "albumentations", "kornia"})
"""Packages of pictures."""
LISTING = frozenset({"listdir", "glob", "iglob", "rglob", "iterdir", "scandir", "walk", "isdir", "is_dir"})
"""Functions that look what is in a folder."""
GOING_THROUGH = frozenset({"listdir", "glob", "iglob", "iterdir", "scandir"})
"""Functions whose result a loop goes through to find what is in one folder."""
USUAL = ".jpg"


def is_data(path: str) -> bool:
    """Whether an empty folder is one for data, by its name or by the one around it."""
    words = re.split(r"[^a-z]+", path.lower())
    return any(word in DATA or word.startswith(("data", *OF_PICTURES)) for word in words) or _are_masks(words)


def is_mask(path: str) -> bool:
    """Whether pictures of this path are masks, by the innermost name in it that says what is there.

    Files in a folder of masks may be called after the pictures.
    """
    *folders, last = path.lower().replace("\\", "/").split("/")
    for place, part in enumerate([last, *reversed(folders)]):
        words = re.split(r"[^a-z]+", part)
        if _are_masks(words):
            return True
        if (place or "." not in part) and any(word.startswith(OF_PICTURES) for word in words):
            return False
    return False


def _are_masks(words: Iterable[str]) -> bool:
    return any(word in MASKS or word.startswith(("mask", "segm", "annot", "label")) for word in words)


def reads_pictures(sources: Sources, path: str) -> bool:
    """Whether the user's code opens pictures, or uses packages for them, or calls a folder after them."""
    if any(word.startswith(OF_PICTURES) for word in re.split(r"[^a-z]+", path.lower())):
        return True
    return any(_is_reader(node) or _imports_one(node) for tree in sources.trees() for node in ast.walk(tree))


def reads_here(sources: Sources) -> bool:
    """Whether the class or function that runs opens pictures itself, or names their suffixes."""
    return any(_is_reader(node) or _suffix(node) for node in _around(sources))


def decodes(sources: Sources) -> bool:
    """Whether the statement that runs makes a picture of bytes, or the function around it does."""
    frame = sources.innermost()
    around = sources.statements(frame) if frame is not None else []
    return any(
        isinstance(node, ast.Call) and spelled(node.func) in ("imdecode", "decode_image")
        for statement in around
        if not isinstance(statement, ast.ClassDef)
        for node in ast.walk(statement)
    )


def levels(sources: Sources) -> int:
    """How many folders lie in one another below that which a function lists, before there are pictures: 0 for none.

    The code lists what is in a folder that it has listed, or asks whether that is a folder: one for each class.
    """
    frame = sources.innermost()
    if frame is None:
        return 0
    own = _running(sources, frame)
    calls = [spelled(node.func) for each in own for node in ast.walk(each) if isinstance(node, ast.Call)]
    nested = _nested(own, 0)
    if "isdir" not in calls and (sum(map(LISTING.__contains__, calls)) <= 1 or (not nested and _lists_apart(own))):
        return 0
    return max(1, nested)


def _running(sources: Sources, frame: FrameType) -> list[ast.AST]:
    """The function that a frame runs, of those that have its name the one with its line; the module where it is in none."""
    name = frame.f_code.co_name
    if name == "<module>":
        tree = sources.tree(frame.f_code.co_filename)
        return [tree] if tree is not None else []
    found: list[ast.AST] = [each for each in sources.statements(frame) if _is_function(each, name)]
    return found[:1]


def _is_function(node: ast.AST, name: str) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name


def _lists_apart(nodes: Iterable[ast.AST]) -> bool:
    """Whether what is listed lies in no folder that was listed before: pictures, and masks beside them."""
    every = [each for node in nodes for each in ast.walk(node)]
    held: set[str] = set()
    for each in every:
        if isinstance(each, ast.Assign) and _names(each.value) & LISTING:
            held.update(filter(None, targets(each)))
        if isinstance(each, (ast.For, ast.comprehension)):
            held |= _names(each.target)
    calls = [each for each in every if isinstance(each, ast.Call) and spelled(each.func) in LISTING]
    return not any(held & _names(part) for each in calls for part in each.args)


def _nested(nodes: Iterable[ast.AST], around: int) -> int:
    """How many folders loops in each other go through, within so many, that list folders themselves."""
    deepest = 0
    for node in nodes:
        over, within = _loop(node)
        lists = bool(set().union(*map(_names, over)) & GOING_THROUGH)
        inside = _nested(within, around + lists)
        if lists and not inside:
            inside = around + bool(_names(node) & {"isdir", "is_dir"})
        deepest = max(deepest, inside)
    return deepest


def _loop(node: ast.AST) -> tuple[list[ast.expr], list[ast.AST]]:
    """What a loop goes through, and what it does; of anything else, its parts."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter], [*node.body]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return [each.iter for each in node.generators], [node.elt]
    return [], [*ast.iter_child_nodes(node)]


def _names(node: ast.AST) -> set[str]:
    return {spelled(each) for each in ast.walk(node) if isinstance(each, (ast.Attribute, ast.Name))}


def suffix(sources: Sources) -> str:
    """The suffix that the code asks for where it lists a folder, else anywhere; the usual one where that is among them."""
    for nodes in (_around(sources), (node for tree in sources.trees() for node in ast.walk(tree))):
        found = _suffixes(nodes)
        if found:
            return USUAL if USUAL in found else found[0]
    return USUAL


def _suffixes(nodes: Iterable[ast.AST]) -> list[str]:
    return [found for node in nodes if (found := _suffix(node))]


def _suffix(node: ast.AST) -> str:
    """The suffix of pictures that a text is, or ends with (`*.png`), with its dot; empty for any other."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ""
    *_, pattern = node.value.rpartition("/")
    before, _, ending = pattern.rpartition(".")
    return f".{ending}" if not before.strip("*?") and f".{ending.lower()}" in READABLE else ""


def _around(sources: Sources) -> Iterator[ast.AST]:
    """All in the class whose code is running, or in the function where it is in none; nothing of a module."""
    frame = sources.innermost()
    statements = sources.statements(frame) if frame is not None else []
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    around = [each for each in statements if isinstance(each, kinds)]
    return ast.walk(around[-1]) if around else iter(())


def _imports_one(node: ast.AST) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
    return any(name.partition(".")[0] in LIBRARIES for name in names)


def _is_reader(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = spelled(node.func)
    owner = spelled(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    return name in READERS or (name == "open" and owner == "Image")
