"""Keeps bytes under keys in a SQLite file, which several processes may use at once and none can break."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

T = TypeVar("T")
FOLDER = ".torch_doctor_cache"
_FILE = "scans.sqlite3"
_FORM = 1
"""The form of the file: one of another form is somebody else's."""
_PATIENCE = 2.0
"""Seconds that another process may take to write."""
_MOST_ENTRIES = 64
_MOST_BYTES = 256 << 20
_MAKE = "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB, used REAL)"
_GET = "SELECT value FROM entries WHERE key = ?"
_PUT = "INSERT OR REPLACE INTO entries (key, value, used) VALUES (?, ?, ?)"
_FORGET = """
DELETE FROM entries WHERE key NOT IN (
    SELECT key FROM (
        SELECT key, row_number() OVER newest AS place, sum(length(value)) OVER newest AS bytes
        FROM entries WINDOW newest AS (ORDER BY used DESC, key)
    ) WHERE place <= ? AND bytes <= ?
)
"""
_SEAL = 16
"""Bytes of the digest before each entry: the file system may damage what SQLite does not look at."""
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of torch-doctor (https://bford.info/cachedir/).\n"


class Storage:
    """The entries of one folder. What is wrong with it is `trouble`: then nothing is remembered, and nobody is disturbed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trouble = ""

    def get(self, key: str) -> bytes | None:
        """What was put under a key; None where there is nothing, or nothing that can be trusted."""
        if not (self.folder / _FILE).exists():
            return None
        found = self._with(lambda connection: connection.execute(_GET, (key,)).fetchone())
        value = b"" if found is None else bytes(found[0])
        if found is not None and value[:_SEAL] != _seal(value[_SEAL:]):
            self.trouble = "an entry is corrupt"
            return None
        return None if found is None else value[_SEAL:]

    def put(self, entries: Mapping[str, bytes]) -> None:
        """Keep entries, all of them or none; what nobody has needed for long gives way."""
        if self.trouble or not entries or not self._is_made():
            return
        now = time.time()
        rows = [(key, _seal(value) + value, now) for key, value in entries.items()]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_PUT, rows)
            connection.execute(_FORGET, (_MOST_ENTRIES, _MOST_BYTES))
            connection.execute("COMMIT")

        self._with(write)

    def _is_made(self) -> bool:
        """Whether the folder is there by now, with a note for git and for backups that it is nobody's work."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
                if not (self.folder / name).exists():
                    (self.folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            self.trouble = (error.strerror or str(error)).lower()
        return not self.trouble

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the file; whatever SQLite says against it is the trouble of this storage."""
        try:
            with closing(sqlite3.connect(self.folder / _FILE, timeout=_PATIENCE, isolation_level=None)) as connection:
                form = connection.execute("PRAGMA user_version").fetchone()[0]
                if form == 0:
                    connection.execute(_MAKE)
                    connection.execute(f"PRAGMA user_version = {_FORM}")
                elif form != _FORM:
                    self.trouble = "written by another version of torch-doctor"
                    return None
                return work(connection)
        except sqlite3.Error as error:
            self.trouble = str(error)
            return None


def clean(folder: Path) -> bool:
    """Remove the cache in a folder; whether there was one.

    Raises:
        OSError: it cannot be removed.
    """
    if not (folder / "CACHEDIR.TAG").is_file():
        return False
    import shutil  # noqa: PLC0415 - only here

    shutil.rmtree(folder)
    return True


def _seal(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_SEAL).digest()
