"""Finds and lowers the project files that a script imports; every file is lowered once for all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.lowering import lower
from torch_doctor.static.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_doctor.sources.project import Project


class Imports:
    """The project's files as units, by path and by the dotted name under which a file imports another."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._units: dict[Path, Unit | None] = {}
        self._found: dict[tuple[Path, str], Path | None] = {}
        self._files: dict[Path, bool] = {}
        self._mentioned: dict[tuple[str, ...], bool] = {}

    def unit(self, path: Path) -> Unit | None:
        """The lowered file; None when there is none or it cannot be read."""
        if path not in self._units:
            source = self._project.read(path)
            tree = self._project.tree(path) if source is not None else None
            self._units[path] = None
            if source is not None and tree is not None:
                try:
                    self._units[path] = Unit(source, lower(tree, source.text))
                except RecursionError:
                    self._units[path] = None
        return self._units[path]

    def texts(self, name: str, besides: Path) -> Iterator[str]:
        """The texts of the project's other files that contain an identifier."""
        for path in self._project.mentions((name,), self._project.python_files()):
            source = self._project.read(path) if path != besides else None
            if source is not None:
                yield source.text

    def mentioned(self, *names: str) -> bool:
        """Whether any file of the project contains one of the identifiers."""
        if names not in self._mentioned:
            self._mentioned[names] = bool(self._project.mentions(names, self._project.python_files()))
        return self._mentioned[names]

    def find(self, importer: Path, module: str, level: int = 0) -> Path | None:
        """The project file that `import module` means in the file `importer`; None when it is not the project's.

        A package is its `__init__.py`, or its folder where it has none. As when the script is run, its own folder comes
        first, then the folders around it up to the project's root, and there `src` too.
        """
        key = (importer.parent, "." * level + module)
        if key not in self._found:
            self._found[key] = self._search(importer, module, level)
        return self._found[key]

    def _search(self, importer: Path, module: str, level: int) -> Path | None:
        parts = module.split(".") if module else []
        root = self._project.root
        if level:
            base = importer.parent
            for _ in range(level - 1):
                base = base.parent
            return self._at(base, parts)
        folder = importer.parent
        while True:
            found = self._at(folder, parts)
            if found is not None and found != importer:
                return found
            if folder in (root, folder.parent) or root not in folder.parents:
                break
            folder = folder.parent
        return self._at(root / "src", parts)

    def _at(self, base: Path, parts: list[str]) -> Path | None:
        path = base.joinpath(*parts)
        if parts and self._is_file(path.with_name(path.name + ".py")):
            return path.with_name(path.name + ".py")
        package = path / "__init__.py"
        if self._is_file(package):
            return package
        return path if parts and self._is_folder(path) else None

    def _is_file(self, path: Path) -> bool:
        if path not in self._files:
            self._files[path] = path.is_file() and self._project.root in path.parents
        return self._files[path]

    def _is_folder(self, path: Path) -> bool:
        if path not in self._files:
            self._files[path] = (
                path.is_dir() and self._project.root in path.parents and next(path.glob("*.py"), None) is not None
            )
        return self._files[path]
