"""Folders of pictures where a script looks for them and there are none."""

from __future__ import annotations

import ast
import functools
import glob
import io
import os
import re
from typing import TYPE_CHECKING, Any

from . import told
from .source import spelled
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .told import Teller

CLASSES, PICTURES = 2, 256  # two classes are in range for every model
FLAT = 64  # in a folder without classes
SIDE = 256
READABLE = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".tif", ".tiff")
WHY = "data that is not there"
DATA = frozenset({"train", "training", "val", "valid", "test"})
MASKS = frozenset({"gt", "groundtruth", "seg"})
READERS = frozenset({"imread", "read_image", "default_loader", "pil_loader"})


class PictureFolders(StandIn):
    """Fills folders of pictures that a script lists."""

    replaces = "data that is not there"
    voids = (told.VALUES,)
    installed_after = ("OutputFolders",)

    def prepare(self) -> None:
        """Patches what lists folders, for scripts that read pictures."""
        os.listdir = _listing(os.listdir, self)
        found = glob.glob

        @functools.wraps(found)
        def globbed(pathname: Any, *arguments: Any, **keywords: Any) -> list[Any]:
            names = found(pathname, *arguments, **keywords)
            if names or not isinstance(pathname, str) or not self.sources.called_by_user() or not _reads_pictures(self):
                return names
            folder, last = os.path.split(pathname)
            ending = os.path.splitext(last)[1]
            if ending.lower() not in READABLE and last not in ("*", "*.*"):
                return names
            parts = ["train" if "*" in part else part for part in folder.split(os.sep)]
            if not flat(os.sep.join(parts), self.teller, ending if ending.lower() in READABLE else ".jpg"):
                return names
            return found(pathname, *arguments, **keywords)

        glob.glob = globbed


def _listing(listed: Callable[..., list[str]], stand_in: StandIn) -> Any:
    @functools.wraps(listed)
    def listdir(path: Any = ".") -> list[str]:
        try:
            names = listed(path)
            if any(not str(name).startswith(".") for name in names) or not isinstance(path, (str, os.PathLike)):
                return names
            if not stand_in.sources.called_by_user() or not _reads_pictures(stand_in) or not is_data(os.fspath(path)):
                return names
            return listed(path) if flat(os.fspath(path), stand_in.teller) else names
        except FileNotFoundError:
            if not stand_in.sources.called_by_user() or not _reads_pictures(stand_in):
                raise
            root = os.fspath(path)
            made = (
                make(root, None, stand_in.teller, "folder") if _goes_deeper(stand_in) else flat(root, stand_in.teller)
            )
            if not made:
                raise
            return listed(path)

    return listdir


def _goes_deeper(stand_in: StandIn) -> bool:
    """Whether the function that lists a folder looks for folders in it: one for each class."""
    frame = stand_in.sources.innermost()
    if frame is None:
        return False
    tree = stand_in.sources.tree(frame.f_code.co_filename)
    own = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, (ast.FunctionDef, ast.Module)) and getattr(node, "name", "<module>") == frame.f_code.co_name
    ]
    calls = [spelled(node.func) for each in own for node in ast.walk(each) if isinstance(node, ast.Call)]
    return "isdir" in calls or calls.count("listdir") > 1


def _reads_pictures(stand_in: StandIn) -> bool:
    """Whether the user's code opens pictures."""
    return any(_is_reader(node) for tree in stand_in.sources.trees() for node in ast.walk(tree))


def _is_reader(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = spelled(node.func)
    owner = spelled(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    return name in READERS or (name == "open" and owner == "Image")


def flat(root: str, teller: Teller, ending: str = ".jpg") -> bool:
    """Writes random pictures, or masks by the folder's name, into a folder that is not there, or is empty."""
    if os.path.isdir(root) and any(not entry.name.startswith(".") for entry in os.scandir(root)):
        return False
    _write(root, (f"{number:04}{ending}" for number in range(FLAT)))
    _fill_masks(root)
    sort = "masks" if is_mask(root) else "pictures"
    teller.stand_in(root, WHY, f"{FLAT} random {sort} {SIDE}×{SIDE}", [told.VALUES, told.FILES])
    return True


def _fill_masks(root: str) -> None:
    """Masks of the same names, in a folder beside one of pictures that is there for them and empty."""
    around = os.path.dirname(os.path.abspath(root))
    for entry in os.scandir(around):
        empty = entry.is_dir() and all(each.name.startswith(".") for each in os.scandir(entry.path))
        if empty and is_mask(entry.name) and not is_mask(root):
            _write(entry.path, (f"{number:04}.png" for number in range(FLAT)))


def is_data(path: str) -> bool:
    """Whether an empty folder is one for data, by its name or by the one around it."""
    words = re.split(r"[^a-z]+", path.lower())
    return any(word in DATA or word.startswith(("data", "image", "img", "pic")) for word in words) or is_mask(path)


def make(root: str, extensions: Any, teller: Teller, what: str) -> bool:
    """Writes random pictures below `root`, a folder for each class; False where pictures would not do.

    They land in the scratch folder. A folder that has anything in it is none to fill.
    """
    if extensions is not None and not any(extension in READABLE for extension in extensions):
        return False
    if os.path.isdir(root) and any(os.scandir(root)):
        return False
    for number in range(CLASSES):
        _write(os.path.join(root, f"class_{number:02}"), (f"{place:03}.jpg" for place in range(PICTURES)), number)
    how = f"{CLASSES * PICTURES} random pictures {SIDE}×{SIDE}, {CLASSES} classes"
    teller.stand_in(f"{what}({root!r})", WHY, how, [told.VALUES])
    return True


def _write(folder: str, names: Iterator[str], first: int = 0) -> None:
    os.makedirs(folder, exist_ok=True)
    for number, name in enumerate(names, start=first):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(picture(number % 8, mask=is_mask(folder)))


def is_mask(path: str) -> bool:
    """Whether pictures of this path are masks, by its name."""
    words = re.split(r"[^a-z]+", path.lower())
    return any(word in MASKS or word.startswith(("mask", "segm", "annot", "label")) for word in words)


@functools.lru_cache(maxsize=16)
def picture(seed: int, *, mask: bool = False) -> bytes:
    """A random picture as a JPEG file, or a mask of 0 and 1 as PNG: what reads pictures goes by their first bytes."""
    import numpy as np
    from PIL import Image

    draw = np.random.default_rng(seed)
    shape = (16, 16) if mask else (16, 16, 3)
    small = draw.integers(0, 2 if mask else 256, shape, dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.NEAREST).save(file, "PNG" if mask else "JPEG")
    return file.getvalue()
