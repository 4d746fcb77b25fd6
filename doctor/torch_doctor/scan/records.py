"""What was found out about each file of a project, in a compact form that can be stored, and what each depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor.cache import Tree
from torch_doctor.scan.examining import Examined
from torch_doctor.static import Followed
from torch_doctor.trace import Dependencies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Record(Struct, array_like=True):
    """What was found out about a file when the runs of those that import it had come to `before`.

    Paths, names and questions are numbers of words; `answers` are what the questions about the names were answered. `entered`
    are functions: the file, the row and the column.
    """

    before: bytes
    read: list[int]
    absent: list[int]
    names: list[int]
    answers: list[tuple[int, bytes]]
    pins: dict[int, list[str]]
    installed: list[tuple[str, str]]
    entered: list[tuple[int, int, int]]
    imported: list[int]
    whole: list[int]
    found: msgspec.Raw


class Records(Struct):
    """The records of a project's files, and the state in which it was.

    `mentions`: which files contain a name. `worked_out` is what is known of their texts, by the kind and the file.
    """

    tree: Tree = field(default_factory=Tree)
    words: list[str] = field(default_factory=list)
    mentions: dict[int, list[int]] = field(default_factory=dict)
    worked_out: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    records: dict[int, Record] = field(default_factory=dict)


class Words:
    """Words by their numbers, and numbers by their words."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.all = list(words)
        self._numbers = {word: number for number, word in enumerate(self.all)}

    def number(self, word: str) -> int:
        """The number of a word, a new one where it had none."""
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.all)
            self.all.append(word)
        return number

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The numbers of words, in their order."""
        return sorted(map(self.number, words))

    def of(self, numbers: Iterable[int]) -> Iterator[str]:
        """The words of these numbers."""
        return (self.all[number] for number in numbers)


def recorded(
    words: Words, before: bytes, found: Examined, answers: dict[str, bytes], pins: dict[str, list[str]]
) -> Record:
    """The record of what was found out about a file; `pins` are the versions of torch in the folders that matter."""
    depends = all_dependencies(found)
    followed = found.followed
    return Record(
        before,
        words.numbers(depends.read),
        words.numbers(depends.absent),
        words.numbers(depends.asked),
        sorted((words.number(question), told) for question, told in answers.items()),
        {words.number(folder): versions for folder, versions in sorted(pins.items())},
        sorted(depends.installed),
        sorted((words.number(path), row, column) for path, row, column in followed.entered),
        words.numbers(followed.imported),
        words.numbers(followed.whole),
        msgspec.Raw(msgspec.msgpack.encode(replace(found, followed=Followed(read=followed.read), depends=None))),
    )


def examined(words: Words, record: Record) -> Examined:
    """What a record says was found out.

    Raises:
        msgspec.MsgspecError: it is of another form.
    """
    found = msgspec.msgpack.decode(record.found, type=Examined)
    found.followed = Followed(
        frozenset((words.all[path], row, column) for path, row, column in record.entered),
        frozenset(words.of(record.imported)),
        frozenset(words.of(record.whole)),
        found.followed.read,
    )
    return found


def all_dependencies(found: Examined) -> Dependencies:
    """What was found out about a file depends on this; on what other scripts depend on, too, where they were run for it."""
    each = [one.depends for one in (found, *found.callers.values()) if one.depends is not None]
    return Dependencies(
        frozenset().union(*(one.read for one in each)),
        frozenset().union(*(one.absent for one in each)),
        frozenset().union(*(one.asked for one in each)),
        frozenset().union(*(one.installed for one in each)),
        frozenset().union(*(one.pins for one in each)),
        frozenset().union(*(one.questions for one in each)),
    )
