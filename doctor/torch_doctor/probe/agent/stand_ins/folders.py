"""Folders of pictures where a script looks for them and there are none."""

from __future__ import annotations

import ast
import functools
import glob
import io
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

from . import told
from .source import spelled
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .told import Teller

CLASSES, PICTURES = 2, 256  # two classes are in range for every model
FLAT = 64  # in a folder without classes
SIDE = 256
READABLE = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".tif", ".tiff")
WHY = "data not found"
DATA = frozenset({"train", "training", "val", "valid", "test"})
OF_PICTURES = ("image", "img", "pic", "photo")
MASKS = frozenset({"gt", "groundtruth", "seg"})
READERS = frozenset({"imread", "read_image", "default_loader", "pil_loader"})
LIBRARIES = frozenset({"torchvision", "PIL", "cv2", "skimage", "imageio", "albumentations", "kornia"})
"""Packages of pictures."""
LISTING = frozenset({"listdir", "glob", "iglob", "rglob", "iterdir", "scandir", "walk", "isdir", "is_dir"})
"""Functions that look what is in a folder."""


class PictureFolders(StandIn):
    """Fills folders of pictures that a script lists."""

    replaces = "data not found"
    voids = (told.VALUES, told.FILES)
    installed_after = ("OutputFolders",)

    def prepare(self) -> None:
        """Patches what lists folders, for scripts that read pictures."""
        os.listdir = _listing(os.listdir, self)
        glob.glob = self._globbing(glob.glob, list)
        glob.iglob = self._globbing(glob.iglob, iter)
        path: Any = pathlib.Path
        for name, before in (("glob", ""), ("rglob", "**"), ("iterdir", "")):
            setattr(path, name, self._walking(getattr(path, name), before))
        os.walk = self._descending(os.walk)

    def _globbing(self, found: Callable[..., Iterable[Any]], form: Callable[[Any], Any]) -> Any:
        @functools.wraps(found)
        def globbed(pathname: Any, *arguments: Any, **keywords: Any) -> Any:
            names = list(found(pathname, *arguments, **keywords))
            if not names and isinstance(pathname, str) and self._asks(pathname) and self._filled(pathname):
                names = list(found(pathname, *arguments, **keywords))
            return form(names)

        return globbed

    def _walking(self, found: Callable[..., Iterable[Any]], before: str) -> Any:
        """`Path.glob` and its like; `iterdir` has no pattern."""

        @functools.wraps(found)
        def walked(path: Any, *pattern: Any, **keywords: Any) -> Any:
            try:
                names, missing = list(found(path, *pattern, **keywords)), None
            except FileNotFoundError as error:
                names, missing = [], error
            whole = os.path.join(str(path), before, *map(str, pattern or ("*",)))
            if not names and self._asks(whole) and self._filled(whole):
                names, missing = list(found(path, *pattern, **keywords)), None
            if missing is not None:
                raise missing
            return iter(names)

        return walked

    def _descending(self, walk: Callable[..., Iterable[Any]]) -> Any:
        @functools.wraps(walk)
        def walked(top: Any, *arguments: Any, **keywords: Any) -> Any:
            path = os.fspath(top) if isinstance(top, (str, os.PathLike)) else None
            if isinstance(path, str) and self._asks(path) and (not os.path.isdir(path) or is_data(path)):
                make(path, None, self.teller, "folder")  # which fills none that has anything in it
            return walk(top, *arguments, **keywords)

        return walked

    def _asks(self, path: str) -> bool:
        """Whether code of the user's asks that reads pictures, or for a folder that is called after them."""
        return self.sources.called_by_user(3) and _reads_pictures(self, path)

    def _filled(self, pattern: str) -> bool:
        """Whether pictures were put where a pattern looks for them."""
        folder, last = os.path.split(pattern)
        stem, ending = os.path.splitext(last)
        if ending == ".*" and stem and not glob.has_magic(os.path.join(folder, stem)):
            return _beside(folder, stem, self.teller)
        if ending.lower() not in READABLE and last not in ("*", "*.*"):
            return False
        parts = ["train" if "*" in part else part for part in folder.split(os.sep) if part != "**"]
        return flat(os.sep.join(parts), self.teller, ending if ending.lower() in READABLE else ".jpg")


MADE: set[str] = set()
"""The folders that were filled."""


def _listing(listed: Callable[..., list[str]], stand_in: StandIn) -> Any:
    @functools.wraps(listed)
    def listdir(path: Any = ".") -> list[str]:
        try:
            names = listed(path)
            if any(not str(name).startswith(".") for name in names) or not isinstance(path, (str, os.PathLike)):
                return names
            root = os.fspath(path)
            if not stand_in.sources.called_by_user() or not _reads_pictures(stand_in, root) or not is_data(root):
                return names
            return listed(path) if flat(root, stand_in.teller) else names
        except FileNotFoundError:
            root = os.fspath(path)
            if not stand_in.sources.called_by_user() or not _reads_pictures(stand_in, root):
                raise
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
    return "isdir" in calls or sum(name in LISTING for name in calls) > 1


def _reads_pictures(stand_in: StandIn, path: str) -> bool:
    """Whether the user's code opens pictures, or uses packages for them, or calls a folder after them."""
    if any(word.startswith(OF_PICTURES) for word in re.split(r"[^a-z]+", path.lower())):
        return True
    return any(_is_reader(node) or _imports_one(node) for tree in stand_in.sources.trees() for node in ast.walk(tree))


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


def flat(root: str, teller: Teller, ending: str = ".jpg") -> bool:
    """Writes random pictures, or masks by the folder's name, into a folder that is not there, or is empty."""
    if (
        os.path.isdir(root)
        and not _is_made(root, ending)
        and any(not entry.name.startswith(".") for entry in os.scandir(root))
    ):
        return False
    _write(root, (f"{number:04}{ending}" for number in range(FLAT)))
    _fill_masks(root)
    sort = "masks" if is_mask(root) else "pictures"
    teller.stand_in(root, WHY, f"{FLAT} random {sort} {SIDE}×{SIDE}", [told.VALUES, told.FILES])
    return True


def _beside(folder: str, stem: str, teller: Teller) -> bool:
    """Writes one random picture, or mask, of a name, into a folder that is not there, is empty or was filled."""
    known = os.path.realpath(folder) in MADE
    if not known and os.path.isdir(folder) and any(not entry.name.startswith(".") for entry in os.scandir(folder)):
        return False
    _write(folder, iter((f"{stem}.png",)), len(stem))
    if not known:
        how = f"random {'masks' if is_mask(folder) else 'pictures'} {SIDE}×{SIDE} under the requested names"
        teller.stand_in(folder, WHY, how, [told.VALUES, told.FILES])
    return True


def _is_made(root: str, ending: str) -> bool:
    """Whether all in a folder was made up, and nothing of it has this ending."""
    return os.path.realpath(root) in MADE and not any(entry.name.endswith(ending) for entry in os.scandir(root))


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
    return any(word in DATA or word.startswith(("data", *OF_PICTURES)) for word in words) or is_mask(path)


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
    how = f"{CLASSES * PICTURES} random images {SIDE}×{SIDE}, {CLASSES} classes"
    teller.stand_in(f"{what}({root!r})", WHY, how, [told.VALUES, told.FILES])
    return True


def _write(folder: str, names: Iterator[str], first: int = 0) -> None:
    os.makedirs(folder, exist_ok=True)
    MADE.add(os.path.realpath(folder))
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
