"""Files and folders that the script asks for and gives up without: created in the scratch folder before it is answered."""

from __future__ import annotations

import ast
import functools
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

from ..guard import real
from . import folders, picture_code, told
from .demands import demanded
from .files import TEXTS, Files
from .named_files import WRITTEN
from .source import spelled
from .stand_in import Setting, StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

QUESTIONS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (os.path, ("exists", "isfile", "isdir")),
    (pathlib.Path, ("exists", "is_file", "is_dir")),
)
OF_FILES = ("isfile", "is_file")
OF_FOLDERS = ("isdir", "is_dir")
READ = frozenset((*TEXTS, ".csv", ".tsv", ".json", ".jsonl", ".xml"))
"""Suffixes of files that are made up when they are read, and that scripts seldom write for themselves."""
OPENING = frozenset({"open", "read_text", "read_bytes", "readlines", "loadtxt", "genfromtxt"})


class AskedPaths(StandIn):
    """Answers yes to the question whether a file or folder exists, where the script raises or exits after a no."""

    replaces = "folder not found"
    installed_after = ("Files",)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._files = Files(setting)

    def prepare(self) -> None:
        """Patches the functions that ask."""
        for owner, names in QUESTIONS:
            for name in names:
                setattr(owner, name, self._asking(getattr(owner, name), name))

    def _asking(self, ask: Callable[[Any], bool], name: str) -> Callable[[Any], bool]:
        sources = self.sources

        @functools.wraps(ask)
        def asked(path: Any, *arguments: Any, **keywords: Any) -> bool:
            if ask(path, *arguments, **keywords):
                return True
            if real.is_inside():
                return False
            frame = sources.innermost()
            if frame is None or not sources.called_by_user():
                return False
            return self._was_learnt(path) or (demanded(sources, frame, name) and self._makes(path, frame, name))

        return asked

    def _was_learnt(self, path: Any) -> bool:
        """Whether an earlier attempt stopped for want of a path; there is nothing, but what reads it makes it up."""
        if not self.learnt or _name(path) not in (self.learnt.of("sought") or ()):
            return False
        self.teller.stand_in(_name(path), self.replaces, "what reads it makes it up", [told.FILES, told.VALUES])
        return True

    def _makes(self, path: Any, frame: FrameType, name: str) -> bool:
        """Whether what the script gives up without was created."""
        if name not in OF_FILES and (name in OF_FOLDERS or self._means_folder(path, name)):
            return demanded(self.sources, frame, name, returning=False) and self._make_folder(path)
        return self._files.make(path) or self._is_as_if_there(path, frame, name)

    def _is_as_if_there(self, path: Any, frame: FrameType, name: str) -> bool:
        """Whether yes is the answer although nothing is there: what reads it goes on with values inferred from their use.

        Where the script returns after a no, only if that ends it: its outermost function asks.
        """
        around = frame.f_back
        ends = (
            around is not None
            and around.f_code.co_name == "<module>"
            and self.sources.is_users(around.f_code.co_filename)
        )
        if not isinstance(path, (str, os.PathLike)) or not demanded(self.sources, frame, name, returning=ends):
            return False
        how = "placeholder values inferred from their use"
        self.teller.stand_in(os.fsdecode(path), "the script gives up without it", how, [told.FILES, told.VALUES])
        return True

    def _means_folder(self, path: Any, name: str) -> bool:
        """Whether a path without a suffix is not one that the user's code opens."""
        if not isinstance(path, (str, os.PathLike)) or os.path.splitext(os.fspath(path))[1]:
            return False
        frame = self.sources.innermost()
        tree = self.sources.tree(frame.f_code.co_filename) if frame is not None else None
        if frame is None or tree is None:
            return True
        asking = {
            each
            for statement in self.sources.statements(frame)[:1]
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and spelled(node.func) == name
            for each in _paths(node)
        }
        opened = {
            each
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and spelled(node.func) in OPENING
            for each in _paths(node)
        }
        return not asking & opened

    def _make_folder(self, path: Any) -> bool:
        """Creates an empty folder; False if there is a file of that name."""
        name = os.fsdecode(path)
        if not name or os.path.lexists(name):
            return False
        os.makedirs(name, exist_ok=True)
        folders.LACKING.add(os.path.realpath(name))
        self.teller.stand_in(name, self.replaces, "an empty folder", [])
        return True


def may_be_data(path: str) -> bool:
    """Whether a file or a folder may be one of data, which a script reads and does not write."""
    ending = os.path.splitext(path)[1].lower()
    written = any(word in part.lower() for part in re.split(r"[\\/]", path) for word in WRITTEN)
    return not written and (picture_code.is_data(path) if not ending else ending in READ)


def _name(path: Any) -> str:
    return str(path) if isinstance(path, (str, os.PathLike)) else ""


def _paths(call: ast.Call) -> list[str]:
    """How the path that a function is given, or whose method it is, is written."""
    given = [ast.unparse(each) for each in call.args[:1]]
    return [*given, ast.unparse(call.func.value)] if isinstance(call.func, ast.Attribute) else given
