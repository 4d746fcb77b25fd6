"""Sends what is opened below Python, by a path, through the overlay: torch's own files, OpenCV, sqlite3, Arrow, HDF5."""

from __future__ import annotations

import contextlib
import functools
import os
import urllib.parse
from typing import TYPE_CHECKING, Any

from ..imports import after

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .overlay import Overlay

# Module → function → (place, keyword) of the path and what is done to it.
READS = "r"
WRITES = "w"
CHANGES = "a"
FOLDERS = "d"  # files are written to it, and their paths returned
MAPS = "m"  # what is written to the tensor is written to the file, where it is `shared`
NATIVE: dict[str, dict[str, tuple[int, str, str]]] = {
    "torch": {
        "save": (1, "f", WRITES),
        "load": (0, "f", READS),
        "from_file": (0, "filename", MAPS),
        "jit.save": (1, "f", WRITES),
        "jit.load": (0, "f", READS),
        "_C.ScriptModule.save": (1, "filename", WRITES),  # of scripted and of traced modules
        "jit.ScriptFunction.save": (1, "filename", WRITES),
        "UntypedStorage.from_file": (0, "filename", MAPS),
        "_C.PyTorchFileWriter": (0, "name", WRITES),
    },
    "torch.autograd.profiler": {"profile.export_chrome_trace": (1, "path", WRITES)},
    "torch.profiler": {"profile.export_chrome_trace": (1, "path", WRITES)},
    "_dbm": {"open": (0, "filename", CHANGES)},
    "_gdbm": {"open": (0, "filename", CHANGES)},
    "soundfile": {"write": (0, "file", WRITES), "read": (0, "file", READS)},
    "faiss": {"write_index": (1, "fname", WRITES), "read_index": (0, "fname", READS)},
    "torch.onnx": {"export": (2, "f", WRITES)},
    "torch.distributed": {"FileStore": (0, "file_name", CHANGES)},
    "torchvision.io.image": {"read_file": (0, "path", READS), "write_file": (0, "filename", WRITES)},
    "cv2": {
        "imread": (0, "filename", READS),
        "imwrite": (0, "filename", WRITES),
        "VideoWriter": (0, "filename", WRITES),
    },
    "sqlite3": {"connect": (0, "database", CHANGES)},
    "safetensors": {
        "serialize_file": (1, "filename", WRITES),
        "safe_open": (0, "filename", READS),
    },
    "safetensors.torch": {
        "serialize_file": (1, "filename", WRITES),
        "safe_open": (0, "filename", READS),
    },
    "h5py": {"File": (0, "name", CHANGES)},
    "tokenizers": {"Tokenizer.save": (1, "path", WRITES), "Tokenizer.from_file": (0, "path", READS)},
    "tokenizers.models": {"Model.save": (1, "folder", FOLDERS)},
    "sentencepiece": {"SentencePieceProcessor.LoadFromFile": (1, "arg", READS)},
    "pyarrow": {"memory_map": (0, "path", READS), "OSFile": (0, "path", CHANGES)},
    "pyarrow.parquet": {"write_table": (1, "where", WRITES), "read_table": (0, "source", READS)},
}


def database(name: str) -> str:
    """The path of what SQLite opens by a name, which may be a URI; empty where it is in memory. Other paths are what they are."""
    if name == ":memory:":
        return ""
    if not name.startswith("file:"):
        return name
    path, _, query = name[5:].partition("?")
    if "mode=memory" in query or path == ":memory:":
        return ""
    plain = urllib.parse.unquote(path)
    return f"/{plain.lstrip('/')}" if plain.startswith("/") else plain


def install(overlay: Overlay) -> None:
    """Patches each module of `NATIVE` when it is imported."""
    for name, functions in NATIVE.items():
        after(name, functools.partial(_patch, overlay, functions))
    after("lmdb", functools.partial(_without_locks, overlay))


def _without_locks(overlay: Overlay, module: ModuleType) -> None:
    """LMDB writes to a file of locks even where it only reads: what the disk has is read without them, and not written."""
    database: Any = module
    opened = database.open

    @functools.wraps(opened)
    def through(path: Any, *arguments: Any, **keywords: Any) -> Any:
        spelled = os.fsdecode(path)
        if not overlay.exists(spelled):
            return opened(overlay.own(spelled, keep=False), *arguments, **keywords)
        where = overlay.seen(spelled)
        if where.startswith(overlay.scratch) or len(arguments) > 1:
            return opened(where, *arguments, **keywords)
        return opened(where, *arguments, **{**keywords, "readonly": True, "lock": False})

    database.open = through


def _patch(overlay: Overlay, functions: dict[str, tuple[int, str, str]], module: ModuleType) -> None:
    for dotted, (place, keyword, doing) in functions.items():
        *owners, name = dotted.split(".")
        owner: Any = module
        for part in owners:
            owner = getattr(owner, part, None)
        original = getattr(owner, name, None)
        if original is None:
            continue
        if isinstance(original, type) and "__init__" in vars(original):
            with contextlib.suppress(TypeError):  # a class that cannot be changed is called through a function
                original.__init__ = _through(overlay, original.__init__, place + 1, keyword, doing)  # type: ignore[misc]
                continue
        setattr(owner, name, _through(overlay, original, place, keyword, doing))


def _through(
    overlay: Overlay, function: Callable[..., Any], place: int, keyword: str, doing: str
) -> Callable[..., Any]:
    @functools.wraps(function)
    def through(*arguments: Any, **keywords: Any) -> Any:
        given = _moved(overlay, list(arguments), keywords, place, keyword, doing)
        result = function(*given, **keywords)
        return [overlay.original(path) for path in result] if doing == FOLDERS else result

    return through


def _moved(
    overlay: Overlay, given: list[Any], keywords: dict[str, Any], place: int, keyword: str, doing: str
) -> list[Any]:
    path = given[place] if len(given) > place else keywords.get(keyword)
    if not isinstance(path, (str, os.PathLike)) or not database(os.fspath(path)):
        return given
    if doing == MAPS:
        shared = keywords.get("shared", given[place + 1] if len(given) > place + 1 else False)
        doing = CHANGES if shared else READS
    mode = keywords.get("mode", given[place + 1] if len(given) > place + 1 else None)
    if doing == CHANGES and isinstance(mode, str) and mode.startswith("r") and "+" not in mode:
        doing = READS
    whole = os.fspath(path)
    spelled = database(whole)
    try:
        where = overlay.seen(spelled) if doing == READS else overlay.own(spelled, keep=doing in (CHANGES, FOLDERS))
    except FileNotFoundError:  # no such folder: the function says so in its own way
        where = overlay.place(overlay.absolute(spelled))
    where = where if spelled == whole else whole.replace(whole[5:].partition("?")[0], urllib.parse.quote(where), 1)
    if len(given) > place:
        given[place] = where
    else:
        keywords[keyword] = where
    return given
