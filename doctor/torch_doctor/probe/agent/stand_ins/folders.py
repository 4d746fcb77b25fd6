"""Folders of pictures where a script looks for them and there are none."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

from ..guard import real
from . import layouts, picture_code, told
from .annotations import MARKED, Annotations
from .pictures import have_side, picture, side
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .stand_in import Setting
    from .told import Teller

CLASSES, PICTURES = 2, 256  # two classes are in range for every model
FLAT, FEWEST = 64, 8  # in a folder without classes, and of one class, where there are many
MOST = 16  # classes whose names are known
DEEPEST = 3  # folders below one that is looked through
WHY = "data not found"
MADE: set[str] = set()
"""The folders that were filled."""
LACKING: set[str] = set()
"""Folders that were not there either and were created empty, because the script gives up without them."""


class PictureFolders(StandIn):
    """Fills folders of pictures that a script lists."""

    replaces = "data not found"
    voids = (told.VALUES, told.FILES)
    installed_after = ("OutputFolders",)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._annotations = Annotations(self.sources, self.learnt)

    def prepare(self) -> None:
        """Patches what lists folders, for scripts that read pictures."""
        have_side((self.learnt and self.learnt.of("side", "pictures")) or side())
        os.listdir = _listing(os.listdir, self)
        glob.glob = self._globbing(glob.glob, list)
        glob.iglob = self._globbing(glob.iglob, iter)
        path: Any = pathlib.Path
        for name, before in (("glob", ""), ("rglob", "**"), ("iterdir", "")):
            setattr(path, name, self._walking(getattr(path, name), before))
        os.walk = self._descending(os.walk)
        os.scandir = _scanning(os.scandir, self)

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
            except NotADirectoryError:
                if not _given_way(path):
                    raise
                names, missing = list(found(path, *pattern, **keywords)), None
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
            if isinstance(path, str) and self._asks(path) and self.may_fill(path):
                make(path, None, self, "folder")  # which fills none that has anything in it
            return walk(top, *arguments, **keywords)

        return walked

    def _asks(self, path: str) -> bool:
        """Whether code of the user's asks that reads pictures, or for a folder that is called after them."""
        return self.sources.called_by_user(3) and picture_code.reads_pictures(self.sources, path)

    def may_fill(self, root: str) -> bool:
        """Whether a folder is one for data, if there is nothing in it: an output folder may be empty as well."""
        if not os.path.isdir(root) or os.path.realpath(root) in LACKING or picture_code.is_data(root):
            return True
        return real.lexists(os.path.abspath(root)) and picture_code.reads_here(self.sources)

    def filled(self, root: Any) -> bool:
        """Whether pictures were put into a folder that is listed, if the code reads any and nothing is in it."""
        if not (isinstance(root, str) and picture_code.reads_pictures(self.sources, root) and self.may_fill(root)):
            return False
        if self.annotated(root):
            return True
        deep = picture_code.levels(self.sources)
        drawn = layouts.within(self.sources, root)
        endings = [ending for name in drawn if (ending := os.path.splitext(name)[1]).lower() in picture_code.READABLE]
        inside = [name for name in drawn if not os.path.splitext(name)[1]]
        if deep or (inside and not endings):
            return make(root, None, self, "folder", max(deep, 1), inside)
        return flat(root, self.teller, endings[0] if endings else picture_code.suffix(self.sources))

    def _filled(self, pattern: str) -> bool:
        """Whether pictures were put where a pattern looks for them."""
        folder, last = os.path.split(pattern)
        stem, ending = os.path.splitext(last)
        if ending == ".*" and stem and not glob.has_magic(os.path.join(folder, stem)):
            return _beside(folder, stem, self.teller)
        if stem == "*" and self.annotated(folder, ending):
            return True
        if ending.lower() not in picture_code.READABLE and last not in ("*", "*.*"):
            return False
        parts = ["train" if "*" in part else part for part in folder.split(os.sep) if part != "**"]
        root = os.sep.join(parts)
        chosen = ending if ending.lower() in picture_code.READABLE else picture_code.suffix(self.sources)
        return self.may_fill(root) and flat(root, self.teller, chosen)

    def annotated(self, folder: str, ending: str = "") -> bool:
        """Whether annotations were put into a folder of them."""
        chosen = ending or self._annotations.ending(folder)
        if chosen not in MARKED or not self.may_fill(folder) or not self._annotations.fill(folder, chosen, FLAT):
            return False
        self.tell(folder, f"synthetic annotations of objects in {FLAT} pictures")
        return True


def _listing(listed: Callable[..., list[str]], stand_in: PictureFolders) -> Any:
    sources = stand_in.sources

    @functools.wraps(listed)
    def listdir(path: Any = ".") -> list[str]:
        try:
            names, missing = listed(path), None
        except FileNotFoundError as error:
            names, missing = [], error
        except NotADirectoryError:
            if not _given_way(path):
                raise
            return listed(path)
        if any(not str(name).startswith(".") for name in names) or not isinstance(path, (str, os.PathLike)):
            return names
        if sources.called_by_user() and stand_in.filled(os.fspath(path)):
            return [name for name in listed(path) if not name.startswith(".")]
        if missing is not None:
            raise missing
        return names

    return listdir


def _scanning(scan: Callable[..., Any], stand_in: PictureFolders) -> Any:
    @functools.wraps(scan)
    def scandir(path: Any = ".") -> Any:
        asks = isinstance(path, (str, os.PathLike)) and stand_in.sources.is_users(sys._getframe(1).f_code.co_filename)
        try:
            if not asks or any(not entry.name.startswith(".") for entry in scan(path)):
                return scan(path)
        except FileNotFoundError:
            if not asks:
                raise
        stand_in.filled(os.fspath(path))
        return scan(path)

    return scandir


def gave_way(path: Any) -> bool:
    """Whether an empty folder was created because the script gives up without it; it is removed for a file in its place."""
    whole = os.path.realpath(path) if isinstance(path, (str, os.PathLike)) else ""
    if whole not in LACKING or os.listdir(path):
        return False
    os.rmdir(path)
    return True


def flat(root: str, teller: Teller, ending: str = ".jpg") -> bool:
    """Writes random pictures, or masks by the folder's name, into a folder that is not there, or is empty."""
    if (
        os.path.isdir(root)
        and not _is_made(root, ending)
        and any(not entry.name.startswith(".") for entry in os.scandir(root))
    ):
        return False
    _given_way(root)
    _write(root, (f"{number:04}{ending}" for number in range(FLAT)))
    _fill_masks(root)
    sort = "masks" if picture_code.is_mask(root) else "pictures"
    teller.stand_in(root, WHY, f"{FLAT} random {sort} {side()}×{side()}", [told.VALUES, told.FILES])
    return True


def _beside(folder: str, stem: str, teller: Teller) -> bool:
    """Writes one random picture, or mask, of a name, into a folder that is not there, is empty or was filled."""
    known = os.path.realpath(folder) in MADE
    if not known and os.path.isdir(folder) and any(not entry.name.startswith(".") for entry in os.scandir(folder)):
        return False
    _write(folder, iter((f"{stem}.png",)), len(stem))
    if not known:
        how = f"random {'masks' if picture_code.is_mask(folder) else 'pictures'} {side()}×{side()} under the requested names"
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
        if empty and picture_code.is_mask(entry.name) and not picture_code.is_mask(root):
            _write(entry.path, (f"{number:04}.png" for number in range(FLAT)))


def make(root: str, extensions: Any, stand_in: StandIn, what: str, levels: int = 1, drawn: Sequence[str] = ()) -> bool:
    """Writes random pictures below `root`, a folder for each class, with folders in it for each of further `levels`.

    The classes are those that are there, those that the documentation has `drawn`, or made up. False where pictures would not do.

    They land in the scratch folder. A folder that has anything in it is none to fill.
    """
    if extensions is not None and not any(extension in picture_code.READABLE for extension in extensions):
        return False
    if _holds_files(root):
        return False
    own = sorted(each.name for each in os.scandir(root) if _is_seen(each)) if os.path.isdir(root) else []
    whole = f"{what}({root!r})"
    names = [f"class_{number:02}" for number in range(stand_in.learnt.of("count", whole) or CLASSES)]
    known = stand_in.learnt.of("words", names[0]) or stand_in.learnt.of("words", names[1])
    classes = own or (drawn or known or [])[:MOST] or names
    count = max(FEWEST, CLASSES * PICTURES // len(classes))
    usual = picture_code.suffix(stand_in.sources) if extensions is None else picture_code.USUAL
    ending = next((each for each in extensions or () if each in picture_code.READABLE), usual)
    ending = picture_code.USUAL if picture_code.USUAL in (extensions or (ending,)) else ending
    numbers = [f"{place:02}" for place in range(FEWEST)]
    below = list(itertools.product(numbers, repeat=levels - 1))
    count = max(FEWEST, count // len(below))
    for number, name in enumerate(classes):
        for inner in below:
            _write(os.path.join(root, name, *inner), (f"{place:03}{ending}" for place in range(count)), number)
    count *= len(below)
    how = f"{len(classes) * count} random images {side()}×{side()}, {len(classes)} classes"
    stand_in.teller.stand_in(whole, WHY, how, [told.VALUES, told.FILES])
    return True


def _holds_files(root: str, depth: int = DEEPEST) -> bool:
    """Whether there is a file below a folder, but for those that version control needs to keep it (`.gitkeep`)."""
    if not os.path.isdir(root):
        return False
    seen = [entry for entry in os.scandir(root) if _is_seen(entry)]
    return any(not depth or not entry.is_dir() or _holds_files(entry.path, depth - 1) for entry in seen)


def _is_seen(entry: Any) -> bool:
    return not entry.name.startswith(".")


def _given_way(path: Any) -> bool:
    """Whether a picture that was made up was listed as a folder, and gave way to one of this name, with pictures of its suffix."""
    whole = os.path.realpath(path) if isinstance(path, (str, os.PathLike)) else ""
    if not os.path.isfile(whole) or os.path.dirname(whole) not in MADE:
        return False
    os.remove(path)
    ending = os.path.splitext(whole)[1]
    _write(os.fspath(path), (f"{number:04}{ending}" for number in range(FEWEST)))
    return True


def _write(folder: str, names: Iterator[str], first: int = 0) -> None:
    os.makedirs(folder, exist_ok=True)
    MADE.add(os.path.realpath(folder))
    for number, name in enumerate(names, start=first):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(picture(number % 8, os.path.splitext(name)[1].lower(), mask=picture_code.is_mask(folder)))
