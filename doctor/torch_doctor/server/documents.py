"""What an editor has open: files and notebooks, as a scan is given them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lsprotocol.types import NotebookCellKind
from msgspec import Struct
from pygls.uris import to_fs_path

from torch_doctor.sources.python import declared_encoding
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from lsprotocol.types import NotebookDocument
    from pygls.workspace import TextDocument, Workspace

NOTEBOOK = ".ipynb"
LANGUAGE = "python"
SUFFIXES = (".py", ".pyw")


class Part(Struct, frozen=True):
    """A text of its own in the editor, with its rows: a file, or a cell of a notebook."""

    uri: str
    lines: list[str]
    version: int | None


class Document(Struct, frozen=True):
    """A file or a notebook as the editor has it: its path, its bytes, and its parts, of a notebook all of its cells."""

    uri: str
    path: Path
    raw: bytes
    parts: tuple[Part, ...]

    def part(self, cell: int | None) -> Part | None:
        """The file, or a cell by its number from 1."""
        number = 1 if cell is None else cell
        return self.parts[number - 1] if 0 < number <= len(self.parts) else None


def document_of(uri: str, workspace: Workspace) -> Document | None:
    """What holds a text: the file itself, or the notebook that it is or is a cell of; None where it is no open Python."""
    notebook = workspace.get_notebook_document(notebook_uri=uri) or workspace.get_notebook_document(cell_uri=uri)
    if notebook is not None:
        return _of_notebook(notebook, workspace)
    text = workspace.text_documents.get(unquote(uri))
    if text is None or not _is_python(text):
        return None
    return Document(text.uri, _path(text.uri), _encoded(text.source), (_part(text.uri, text),))


def folder_of(path: Path, workspace: Workspace) -> Path:
    """The folder of the workspace that a file is in: the innermost; else the first; else that of the file itself."""
    uris = [folder.uri for folder in workspace.folders.values()] or [workspace.root_uri or ""]
    folders = [Path(name) for uri in uris if (name := to_fs_path(uri)) and Path(name).is_dir()]
    around = [folder for folder in folders if path.is_relative_to(folder)]
    if around:
        return max(around, key=lambda folder: len(folder.parts))
    return path.parent if path.parent.is_dir() else next(iter(folders), Path.cwd())


def _of_notebook(notebook: NotebookDocument, workspace: Workspace) -> Document:
    cells: list[dict[str, object]] = []
    parts: list[Part] = []
    for cell in notebook.cells:
        text = workspace.text_documents.get(unquote(cell.document))  # prose need not be sent
        part = _part(cell.document, text)
        source = "" if text is None else text.source
        cells.append({"cell_type": _kind(cell.kind, text), "metadata": {}, "source": source})
        parts.append(part)
    path = _path(notebook.uri)
    if path.suffix != NOTEBOOK:  # an interactive window
        path = path.with_name(path.name + NOTEBOOK)
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return Document(notebook.uri, path, json.dumps(content).encode(), tuple(parts))


def _kind(kind: NotebookCellKind, text: TextDocument | None) -> str:
    """The kind of a cell in the file; cells in other languages are not looked at."""
    if kind is not NotebookCellKind.Code or text is None:
        return "markdown"
    return "code" if text.language_id in (LANGUAGE, None) else "raw"


def _part(uri: str, text: TextDocument | None) -> Part:
    return Part(uri, [""], None) if text is None else Part(uri, NEWLINE.split(text.source), text.version)


def _is_python(text: TextDocument) -> bool:
    return text.language_id == LANGUAGE or (not text.language_id and str(text.path).endswith(SUFFIXES))


def _path(uri: str) -> Path:
    """The file of a URI; of one that is no file yet, one by its name in the working directory."""
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(name) if name else Path.cwd() / (Path(urlsplit(uri).path).name or "untitled")


def _encoded(text: str) -> bytes:
    """The bytes in which the text would be saved: in the encoding that it declares."""
    raw = text.encode("utf-8", "replace")
    try:
        return text.encode(declared_encoding(raw))
    except (LookupError, ValueError):
        return raw
