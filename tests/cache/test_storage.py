"""A cache that is damaged, foreign, read-only, full or in use disturbs nobody."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.cache import FOLDER, Storage, clean, storage

if TYPE_CHECKING:
    from pathlib import Path


WRITER = """
import sys
from pathlib import Path
from torch_doctor.cache import Storage

for number in range(40):
    storage = Storage(Path(sys.argv[1]))
    storage.put({f"{sys.argv[2]}{number}": b"v" * 500, "shared": sys.argv[2].encode()})
    assert not storage.trouble, storage.trouble
"""
KILLED = """
import os, sqlite3, sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, 0)", [(str(n), b"x" * 5000) for n in range(300)])
connection.execute("UPDATE entries SET value = 'lost'")
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def place(folder: Path) -> Path:
    return folder / FOLDER


def test_what_is_put_is_there_for_the_next(place: Path) -> None:
    Storage(place).put({"a": b"1", "b": b""})
    Storage(place).put({"a": b"2"})
    again = Storage(place)
    assert (again.get("a"), again.get("b"), again.get("c"), again.trouble) == (b"2", b"", None, "")


def test_reading_makes_nothing(place: Path) -> None:
    assert Storage(place).get("a") is None
    assert not place.exists()


def test_git_and_backups_leave_it_alone(place: Path) -> None:
    Storage(place).put({"a": b"1"})
    assert (place / ".gitignore").read_text() == "*\n"
    assert (place / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_no_memory(place: Path, damage: bytes) -> None:
    Storage(place).put({"a": b"1"})
    (place / "scans.sqlite3").write_bytes(damage)
    found = Storage(place)
    assert found.get("a") is None
    found.put({"a": b"2"})
    assert bool(found.trouble) is bool(damage)  # an empty file is a new database
    assert Storage(place).get("a") == (None if damage else b"2")


def test_a_damaged_entry_is_none(place: Path) -> None:
    Storage(place).put({"a": b"a long value that somebody changes"})
    path = place / "scans.sqlite3"
    path.write_bytes(path.read_bytes().replace(b"long", b"last"))
    found = Storage(place)
    assert found.get("a") is None
    assert found.trouble == "an entry is corrupt"


def test_the_file_of_another_version_is_left_as_it_is(place: Path) -> None:
    Storage(place).put({"a": b"1"})
    with sqlite3.connect(place / "scans.sqlite3") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (place / "scans.sqlite3").read_bytes()
    found = Storage(place)
    assert found.get("a") is None
    found.put({"a": b"2"})
    assert found.trouble == "written by another version of torch-doctor"
    assert (place / "scans.sqlite3").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "file").write_text("")
    found = Storage(folder / "file" / FOLDER)
    found.put({"a": b"1"})
    assert found.get("a") is None
    assert found.trouble == "not a directory"


def test_a_full_disk_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = inner(*args, **options)
        connection.execute("PRAGMA max_page_count = 10")
        return connection

    inner: Any = sqlite3.connect
    Storage(place).put({"a": b"1"})
    monkeypatch.setattr(sqlite3, "connect", connect)
    found = Storage(place)
    found.put({"a": b"2" * 100_000})
    assert found.trouble == "database or disk is full"
    monkeypatch.undo()
    assert Storage(place).get("a") == b"1"


def test_who_writes_at_the_same_time_is_waited_for_and_not_for_ever(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_PATIENCE", 0.1)
    Storage(place).put({"a": b"1"})
    other = sqlite3.connect(place / "scans.sqlite3", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    found = Storage(place)
    found.put({"a": b"2"})
    assert found.trouble == "database is locked"
    other.execute("ROLLBACK")
    other.close()
    assert Storage(place).get("a") == b"1"


def test_several_processes_use_it_at_once(place: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(place), name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert Storage(place).get("shared") in (b"a", b"b", b"c")


def test_a_writer_that_is_killed_leaves_what_was_there(place: Path) -> None:
    Storage(place).put({"a": b"1"})
    done = subprocess.run([sys.executable, "-c", KILLED, str(place / "scans.sqlite3")], check=False)
    assert done.returncode == -9
    found = Storage(place)
    assert (found.get("a"), found.get("7"), found.trouble) == (b"1", None, "")


def test_what_nobody_needs_gives_way(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_MOST_ENTRIES", 3)
    times = iter(range(100))
    monkeypatch.setattr(time, "time", lambda: next(times))
    for name in "abcd":
        Storage(place).put({name: b"1"})
    assert [name for name in "abcd" if Storage(place).get(name)] == ["b", "c", "d"]
    monkeypatch.setattr(storage, "_MOST_BYTES", 60)
    Storage(place).put({"e": b"1" * 20})
    assert [name for name in "abcde" if Storage(place).get(name)] == ["d", "e"]


def test_only_a_cache_is_cleaned_away(place: Path, folder: Path) -> None:
    Storage(place).put({"a": b"1"})
    assert clean(place)
    assert not place.exists()
    assert not clean(place)
    (folder / "kept.txt").write_text("")
    assert not clean(folder)
    assert (folder / "kept.txt").exists()
