"""What `os.scandir` gives for a folder whose names come from the mirror and from the disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import real

if TYPE_CHECKING:
    from .overlay import Overlay


class FolderEntries:
    """What `os.scandir` gives for a merged folder: an iterator that can be closed."""

    def __init__(self, overlay: Overlay, path: str, *, as_bytes: bool) -> None:
        self._entries = iter([Entry(overlay, path, name, as_bytes=as_bytes) for name in overlay.names(path)])

    def __iter__(self) -> FolderEntries:
        return self

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> FolderEntries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the iteration."""
        self._entries = iter(())


class Entry:
    """An `os.DirEntry` of a merged folder."""

    def __init__(self, overlay: Overlay, folder: str, name: str, *, as_bytes: bool) -> None:
        self._seen = overlay.seen(os.path.join(folder, name))
        whole = os.path.join(folder, name)
        self.name: Any = os.fsencode(name) if as_bytes else name
        self.path: Any = os.fsencode(whole) if as_bytes else whole

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As `os.DirEntry.stat`."""
        found: os.stat_result = real.functions["stat" if follow_symlinks else "lstat"](self._seen)
        return found

    def inode(self) -> int:
        """As `os.DirEntry.inode`."""
        return self.stat(follow_symlinks=False).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """As `os.DirEntry.is_dir`."""
        with real.inside():
            return os.path.isdir(self._seen) and (follow_symlinks or not os.path.islink(self._seen))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """As `os.DirEntry.is_file`."""
        with real.inside():
            return os.path.isfile(self._seen) and (follow_symlinks or not os.path.islink(self._seen))

    def is_symlink(self) -> bool:
        """As `os.DirEntry.is_symlink`."""
        with real.inside():
            return os.path.islink(self._seen)

    def is_junction(self) -> bool:
        """As `os.DirEntry.is_junction`: the mirror has none."""
        return False
