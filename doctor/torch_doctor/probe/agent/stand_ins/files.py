"""Files that the script reads and that are not there: made up in the scratch folder where their form can be known."""

from __future__ import annotations

import builtins
import functools
import io
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import folders, known_texts, picture_code, settings, told
from .annotations import Annotations
from .pictures import picture, side
from .project_files import meant
from .stand_in import Setting, StandIn
from .tables import Tables
from .texts import SMALL, Texts

if TYPE_CHECKING:
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
XML_READERS = ("xml.etree.ElementTree", "xml.dom.minidom", "lxml.etree", "defusedxml.ElementTree")
NUMBERS = 1_000_000  # bytes of a file of numbers


class Files(StandIn):
    """Makes up files where the script looks for them; each once."""

    replaces = WHY
    voids = (told.FILES, told.VALUES)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.tables = Tables(self.sources, self.teller, self.learnt)
        self._texts = Texts(self.sources, self.learnt)
        self._annotations = Annotations(self.sources, self.learnt)

    def prepare(self) -> None:
        """Patches what reads files."""
        opened = builtins.open

        @functools.wraps(opened)
        def opening(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            try:
                return opened(file, mode, *arguments, **keywords)
            except (FileNotFoundError, IsADirectoryError) as error:
                if "r" not in mode or "+" in mode or not self.sources.called_by_user(by_path=True):
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
        for name in XML_READERS:
            after(name, self._patch_xml)

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
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
        if not isinstance(name, str):
            return False
        ending, form = os.path.splitext(name)[1].lower(), self.learnt.form(name)
        if form == "unread":
            return False
        annotated = known_texts.of(name, self._texts.lines) or self._annotations.of(name) if form is None else None
        if annotated is not None:
            content, how = annotated
        elif self._texts.are_records() and form in (None, "settings"):
            content, how = settings.lines(name), "records with the keys read by the script"
        elif form == "settings":
            content, how = settings.marked(name), "settings with the keys read by the script"
        elif ending in TEXTS or form == "text" or (ending not in NO_TEXTS and self._texts.are_read()):
            content, how = self._texts.of(name), f"{self._texts.lines} lines of synthetic text"
        elif ending in picture_code.READABLE:
            self._picture(name)
            return True
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

    # --- annotations ---

    def _patch_xml(self, module: ModuleType) -> None:
        readers: Any = module
        parse = readers.parse

        @functools.wraps(parse)
        def parsing(file: Any, *arguments: Any, **keywords: Any) -> Any:
            if _is_missing(file) and self.sources.called_by_user():
                self.make(file)
            return parse(file, *arguments, **keywords)

        readers.parse = parsing

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
                if picture_code.decodes(files.sources):
                    files._picture(os.fspath(file))
                else:
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

    def _drawn(self, path: str) -> bytes:
        self.teller.stand_in("images", WHY, f"random images {side()}×{side()}", [told.FILES, told.VALUES])
        return picture(len(path) % 8, mask=picture_code.is_mask(path))

    def _picture(self, path: str) -> None:
        """A file that is read as bytes, of which a picture is made."""
        _write(path, self._drawn(path))

    def _patch_pictures(self, module: ModuleType) -> None:
        pictures: Any = module
        opened = pictures.open

        @functools.wraps(opened)
        def opening(file: Any, *arguments: Any, **keywords: Any) -> Any:
            if _is_missing(file):
                return opened(io.BytesIO(self._drawn(os.fspath(file))), *arguments, **keywords)
            return opened(file, *arguments, **keywords)

        pictures.open = opening

    def _patch_cv2(self, module: ModuleType) -> None:
        cv2: Any = module
        read = cv2.imread

        def imread(filename: Any, flags: int = 1) -> Any:
            if _is_missing(filename):
                import numpy as np

                self.teller.stand_in("images", WHY, f"random images {side()}×{side()}", [told.FILES, told.VALUES])
                draw = np.random.default_rng(len(os.fspath(filename)))
                return draw.integers(0, 256, (side(), side(), 3) if flags else (side(), side()), dtype=np.uint8)
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
