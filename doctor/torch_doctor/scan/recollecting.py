"""What is remembered of the files of one project, file by file, and which of it still holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from torch_doctor.cache import digest, look, now
from torch_doctor.scan.records import Records, Words, all_dependencies, examined, recorded
from torch_doctor.scan.surroundings import existing
from torch_doctor.static import Installed, dispatch, is_there, questions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.cache import Storage
    from torch_doctor.scan.examining import Examined
    from torch_doctor.scan.gathering import Turn
    from torch_doctor.scan.options import Options
    from torch_doctor.sources.project import Project


class Recollection:
    """What is remembered of the files of one project, as far as it still holds; what is new is added.

    `files` are those that anything depends on, `absent` those that were looked for, `installed` packages with their
    versions. `complete`: the time of no file was over.
    """

    def __init__(self, project: Project, given: Sequence[Path], options: Options, storage: Storage, key: str) -> None:
        self.project = project
        self.key = key
        self.files: set[str] = set(map(str, given))
        self.absent: set[str] = set()
        self.installed: set[tuple[str, str]] = set()
        self.complete = True
        self._storage = storage
        self._since = now()
        self._libraries = Installed(options.environment, project.root)
        dispatch.load()  # some of those that ask are there only then
        self._old = self._read()
        self._words = Words(self._old.words)
        self._new = Records(words=self._words.all)
        self._listing = {str(path) for path in project.python_files()} if self._old.records else set()
        self._changed, self._touched = self._changes(given)
        self._let_know()
        self._answers: dict[questions.Question, bytes] = {}
        self._there: dict[str, bool] = {}

    def recall(self, turn: Turn) -> Examined | None:
        """What was found out about a file, if that still holds."""
        number = self._words.number(str(turn.path))
        record = self._old.records.get(number)
        if record is None or record.before != _before(turn):
            return None
        if not (
            self._changed.isdisjoint(record.read)
            and (self._touched.isdisjoint(record.names) or all(self._told(*each) for each in record.answers))
            and not any(map(self._appeared, record.absent))
            and all(self._libraries.version(package) == version for package, version in record.installed)
            and all(self._pinned(self._words.all[folder]) == pins for folder, pins in record.pins.items())
        ):
            return None
        try:
            found = examined(self._words, record)
        except msgspec.MsgspecError:
            self._storage.trouble = "an entry is corrupt"
            return None
        self._new.records[number] = record
        self.files.update(self._words.of(record.read))
        self.absent.update(self._words.of(record.absent))
        self.installed.update(record.installed)
        return found

    def add(self, turn: Turn, found: Examined) -> None:
        """Remember what was found out about a file, unless something of ours failed, or its time was over."""
        depends = all_dependencies(found)
        self.files |= depends.read
        self.absent |= depends.absent
        self.installed |= depends.installed
        self.complete = self.complete and not found.ended
        if not (found.errors or found.ended):
            pins = {folder: self._pinned(folder) for folder in depends.pins}
            answers = {"\n".join(question): self._answer(question) for question in depends.questions}
            record = recorded(self._words, _before(turn), found, answers, pins)
            self._new.records[self._words.number(str(turn.path))] = record

    def folders(self) -> set[str]:
        """The folders in which a new file may change something."""
        return {*self.project.folders, *map(existing, self.absent), *map(existing, self.files)}

    def packed(self) -> bytes | None:
        """All that is remembered, to be stored; None where nothing is new."""
        listing = self.project.python_files() if any(record.names for record in self._new.records.values()) else []
        self.files.update(map(str, listing))
        if self._new.records == self._old.records and not self._changed:
            return None
        self._new.tree = look(self.files, (), self._since, self._old.tree)
        self._new.mentions = self._mentions(listing)
        for (kind, path), texts in self.project.worked_out.items():
            if str(path) in self._new.tree.files:
                self._new.worked_out.setdefault(kind, {})[self._words.number(str(path))] = texts
        self._new.words = self._words.all
        return msgspec.msgpack.encode(self._new)

    def _read(self) -> Records:
        raw = self._storage.get(self.key)
        try:
            return Records() if raw is None else msgspec.msgpack.decode(raw, type=Records)
        except msgspec.MsgspecError:
            self._storage.trouble = "an entry is corrupt"
            return Records()

    def _changes(self, given: Sequence[Path]) -> tuple[frozenset[int], frozenset[int]]:
        """The files that are new, gone or have changed since, and the names that they contained or contain now."""
        if not self._old.records:
            return frozenset(), frozenset()
        before = self._old.tree.files
        tree = look({*before, *self._listing, *map(str, given)}, (), self._since, self._old.tree)
        changed = {
            path for path, stamp in tree.files.items() if path not in before or stamp.digest != before[path].digest
        }
        numbers = self._words.numbers(changed)
        touched = {name for name, paths in self._old.mentions.items() if not set(paths).isdisjoint(numbers)}
        for path in changed:
            contained = self.project.identifiers(Path(path))
            touched |= {name for name in self._old.mentions if self._words.all[name].encode() in contained}
        if any(path not in before or not Path(path).exists() for path in changed):
            touched.add(self._words.number(questions.LISTING))
        return frozenset(numbers), frozenset(touched)

    def _let_know(self) -> None:
        """Let the project know what was worked out of files that are as they were."""
        for kind, texts in self._old.worked_out.items():
            for number in texts.keys() - self._changed:
                self.project.worked_out[kind, Path(self._words.all[number])] = texts[number]

    def _told(self, number: int, told: bytes) -> bool:
        """Whether the project answers a question as it did."""
        question = tuple(self._words.all[number].split("\n"))
        about = self._words.numbers(questions.names(question))
        return self._touched.isdisjoint(about) or self._answer(question) == told

    def _answer(self, question: questions.Question) -> bytes:
        """What stands for the answer to a question."""
        if question not in self._answers:
            self._answers[question] = digest(
                "\n".join(questions.answer(question, self.project)).encode("utf-8", "replace")
            )
        return self._answers[question]

    def _appeared(self, number: int) -> bool:
        """Whether a file, or a folder of modules, that was looked for in vain is there now."""
        name = self._words.all[number]
        if name not in self._there:
            self._there[name] = is_there(name)
        return self._there[name]

    def _pinned(self, folder: str) -> list[str]:
        return [str(version) for version in self.project.torch(Path(folder))]

    def _mentions(self, listing: Sequence[Path]) -> dict[int, list[int]]:
        """Which files contain the names that were asked for."""
        asked = {name for record in self._new.records.values() for name in record.names}
        known = asked & self._old.mentions.keys() - self._touched
        mentions = {name: self._old.mentions[name] for name in known}
        for name in asked - known:
            word = self._words.all[name]
            found = self.project.mentions((word,), listing) if word else ()
            mentions[name] = self._words.numbers(map(str, found))
        return mentions


def _before(turn: Turn) -> bytes:
    """What stands for what was known of a file before its turn."""
    known = turn.before
    return digest(repr([sorted(known.entered), sorted(known.whole), sorted(known.read)]).encode())
