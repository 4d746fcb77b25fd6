"""Files that the script reads and that are not there: made up in the scratch folder where their form can be known."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import os
import random
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import folders, picture_code, settings, told
from .project_files import meant
from .source import spelled
from .stand_in import Setting, StandIn
from .tables import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


WHY = "file not found"
TEXTS = (
    ".txt",
    ".tokens",
    ".text",
    ".raw",
    ".en",
    ".de",
    ".fr",
    ".cs",
    ".src",
    ".tgt",
    ".train",
    ".valid",
    ".test",
    ".corpus",
)
NO_TEXTS = frozenset(
    ".csv .tsv .json .yaml .yml .xml .toml .ini .cfg .conf .py .pkl .pickle .bin .npy .npz .h5 .hdf5 .mat .pt .pth .ckpt "
    ".zip .gz .tar .tgz .png .jpg .jpeg .bmp .tif .tiff .gif .wav .flac .mp3 .mp4 .parquet .lock .md".split()
)
"""Endings of files that are no plain lines."""
TAKING_APART = frozenset({"split", "splitlines", "readlines", "strip", "rstrip"})
PARSING = frozenset(
    "load loads safe_load full_load reader DictReader parse fromstring Unpickler literal_eval frombuffer".split()
)
"""Functions that want a text of a certain form."""
NUMBERED = frozenset({"int", "float"})
FEWEST, FIELDS = 3, 32  # numbers of a line
LINES, WORDS = 2_000, 12
VOCABULARY = (
    "the a one this that some every old young small big red blue green cold warm house tree river road dog cat bird child "
    "man woman king book letter word song story sees takes gives finds loses makes breaks reads writes hears near under over "
    "behind before after with without slowly quickly always never often today and or but"
).split()
VOCABULARY_ALL = 10_000  # above all that a text of these words has: they begin with capitals, and end with a mark
ENDS = (".", ".", "!", "?", ", and so on;", ' - "so it is": 1, 2.')
NUMBERS = 1_000_000  # bytes of a file of numbers
SMALL = 64  # numbers stay below it, so that they are indices of any vocabulary


class Files(StandIn):
    """Makes up files where the script looks for them; each once."""

    replaces = WHY
    voids = (told.FILES, told.VALUES)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.tables, self._lines = Tables(self.sources, self.teller, self.learnt), self.learnt.fewer(LINES)

    def prepare(self) -> None:
        """Patches what reads files."""
        opened = builtins.open

        @functools.wraps(opened)
        def opening(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            try:
                return opened(file, mode, *arguments, **keywords)
            except (FileNotFoundError, IsADirectoryError) as error:
                if "r" not in mode or "+" in mode or not self.sources.called_by_user():
                    raise
                if isinstance(error, IsADirectoryError) and not folders.gave_way(file):
                    raise
                own = self._own(file)
                if own is None and not self.make(file):
                    raise
                return opened(own or file, mode, *arguments, **keywords)

        builtins.open = io.open = opening
        after("numpy", self._patch_numpy)
        after("pandas", self.tables.patch)
        after("PIL.Image", self._patch_pictures)
        after("cv2", self._patch_cv2)

    # --- of the project ---

    def _own(self, path: Any) -> str | None:
        """The project's own file that a path to another place means."""
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
        own = meant(self.sources, name) if isinstance(name, str) else None
        if own is not None:
            how = f"the project's own `{os.path.relpath(own, self.sources.project)}`"
            self.teller.stand_in(name, WHY, how)
        return own

    # --- by their form ---

    def make(self, path: Any) -> bool:
        """Writes a file that is not there; False where nothing can be known of its form."""
        if not isinstance(path, (str, os.PathLike)):
            return False
        name = os.fspath(path)
        if not isinstance(name, str):
            return False
        ending, form = os.path.splitext(name)[1].lower(), self.learnt.form(name)
        if form == "unread":
            return False
        if form == "settings":
            content, how = settings.marked(name), "settings with the keys read by the script"
        elif ending in TEXTS or form == "text" or (ending not in NO_TEXTS and self._is_read_in_lines()):
            content, how = self._text(name), f"{self._lines} lines of synthetic text"
        elif ending in (".csv", ".tsv"):
            made = self.tables.text("\t" if ending == ".tsv" else ",", name)
            if made is None:
                return False
            content, how = made
        else:
            return False
        _write(name, content.encode())
        self.teller.stand_in(name, WHY, how, [told.FILES, told.VALUES])
        return True

    def _text(self, name: str) -> str:
        draw = random.Random(name)  # noqa: S311 - made-up text
        numbers, fields = self._numbers_between(), self.learnt.of("fields", name)
        if numbers is not None:
            between, count = numbers[0], fields or numbers[1]
            small = self.learnt.below(SMALL)
            rows = (between.join(str(draw.randrange(small)) for _ in range(count)) for _ in range(self._lines))
            return "".join(f"{row}\n" for row in rows)
        columns, most = fields or (3 if self._splits_at_tabs() else 1), self.learnt.below(VOCABULARY_ALL)
        known, ends = (VOCABULARY, ENDS) if most == VOCABULARY_ALL else (VOCABULARY[: max(1, most // 3)], ENDS[:1])
        if any(word in os.path.basename(name).lower() for word in ("label", "target", "class")):
            return "".join(f"{draw.randrange(2)}\n" for _ in range(self._lines))
        lines = []
        for _ in range(self._lines):
            parts = [
                " ".join(draw.choices(known, k=draw.randint(4, WORDS))).capitalize() + draw.choice(ends)
                for _ in range(columns)
            ]
            lines.append("\t".join(parts) + "\n")
        return "".join(lines)

    def _numbers_between(self) -> tuple[str, int] | None:
        """What separates the numbers of a line in the function that reads it, and how many it takes; None for words."""
        nodes = list(self._reading_function())
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        splits = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "split"]
        taken = [node.args[0] for node in calls if spelled(node.func) in NUMBERED and node.args]
        taken += [
            node.args[1]
            for node in calls
            if spelled(node.func) == "map" and len(node.args) > 1 and spelled(node.args[0]) in NUMBERED
        ]
        if not splits or not any(isinstance(each, (ast.Subscript, ast.Name)) for each in taken):
            return None
        given = [each.value for node in splits for each in node.args if isinstance(each, ast.Constant)]
        between = next((each for each in given if isinstance(each, str)), "")
        places = [
            node.slice.value
            for node in nodes
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        ]
        return between or " ", max(
            [FEWEST, *(place + 1 for place in places if isinstance(place, int) and place < FIELDS)]
        )

    def _reading_function(self) -> Iterator[ast.AST]:
        """All in the function of the user's that is running; in the module where it is none."""
        frame = self.sources.innermost()
        tree = self.sources.tree(frame.f_code.co_filename) if frame is not None else None
        if frame is None or tree is None:
            return iter(())
        own: list[ast.AST] = [
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == frame.f_code.co_name
        ]
        return (each for node in own or [tree] for each in ast.walk(node))

    def _is_read_in_lines(self) -> bool:
        """Whether the function that reads takes lines apart, or the text as a whole with nothing that parses it."""
        names = {spelled(node) for node in self._reading_function() if isinstance(node, (ast.Attribute, ast.Name))}
        return bool(names & TAKING_APART) or ("read" in names and not names & PARSING)

    def _splits_at_tabs(self) -> bool:
        """Whether the user's code takes lines apart at tabs."""
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "split"
            and any(isinstance(each, ast.Constant) and each.value == "\t" for each in node.args)
            for tree in self.sources.trees()
            for node in ast.walk(tree)
        )

    # --- numbers ---

    def _patch_numpy(self, module: ModuleType) -> None:
        numpy: Any = module
        memmap, fromfile = numpy.memmap, numpy.fromfile
        files = self

        class Memmap(memmap):  # type: ignore[misc, valid-type]
            """As `numpy.memmap`, of numbers that are made up where there is no file."""

            def __new__(cls, filename: Any, dtype: Any = numpy.uint8, mode: Any = "r+", *args: Any, **keys: Any) -> Any:
                if mode in ("r", "readonly", "c") and _is_missing(filename) and files.sources.called_by_user():
                    files._numbers(filename, numpy.dtype(dtype), keys.get("shape"), numpy)
                return memmap.__new__(memmap, filename, dtype, mode, *args, **keys)

        @functools.wraps(fromfile)
        def from_file(file: Any, dtype: Any = float, *arguments: Any, **keywords: Any) -> Any:
            if _is_missing(file) and files.sources.called_by_user():
                files._numbers(file, numpy.dtype(dtype), None, numpy)
            return fromfile(file, dtype, *arguments, **keywords)

        numpy.memmap, numpy.fromfile = Memmap, from_file

    def _numbers(self, path: Any, dtype: Any, shape: Any, numpy: Any) -> None:
        """A file of small whole numbers, or of normal ones."""
        draw = numpy.random.default_rng(0)
        count = int(numpy.prod(shape)) if shape is not None else NUMBERS // dtype.itemsize
        whole, small = dtype.kind in "iu", self.learnt.below(SMALL)
        values = draw.integers(0, small, count).astype(dtype) if whole else draw.standard_normal(count).astype(dtype)
        _write(os.fspath(path), values.tobytes())
        how = f"{count} random numbers {dtype}" + (f" below {small}" if whole else "")
        self.teller.stand_in(os.fspath(path), WHY, how, [told.FILES, told.VALUES])

    # --- pictures ---

    def _patch_pictures(self, module: ModuleType) -> None:
        pictures: Any = module
        opened = pictures.open

        @functools.wraps(opened)
        def opening(file: Any, *arguments: Any, **keywords: Any) -> Any:
            if _is_missing(file) and os.path.splitext(os.fspath(file))[1].lower() in picture_code.READABLE:
                self.teller.stand_in("images", WHY, "random images 256×256", [told.FILES, told.VALUES])
                return opened(
                    io.BytesIO(folders.picture(len(os.fspath(file)) % 8, mask=picture_code.is_mask(os.fspath(file)))),
                    *arguments,
                    **keywords,
                )
            return opened(file, *arguments, **keywords)

        pictures.open = opening

    def _patch_cv2(self, module: ModuleType) -> None:
        cv2: Any = module
        read = cv2.imread

        def imread(filename: Any, flags: int = 1) -> Any:
            if _is_missing(filename):
                import numpy as np

                self.teller.stand_in("images", WHY, "random images 256×256", [told.FILES, told.VALUES])
                draw = np.random.default_rng(len(os.fspath(filename)))
                return draw.integers(0, 256, (256, 256, 3) if flags else (256, 256), dtype=np.uint8)
            return read(filename, flags)

        cv2.imread = imread


def _is_missing(path: Any) -> bool:
    return isinstance(path, (str, os.PathLike)) and not os.path.lexists(path)


def _write(path: str, content: bytes) -> None:
    """Writes into the scratch folder, where the guard sends it."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with io.open(path, "wb") as file:  # noqa: UP020 - the guard's
        file.write(content)
