"""One repository is scanned: what is found there, and how many of its files train."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch_doctor
import torch_doctor_rules
from tests.ecosystem import fingerprints, repositories
from tests.ecosystem.fingerprints import fingerprint
from tests.ecosystem.repositories import Repository, UnscannedError, checkout
from torch_doctor.sources.discovery import SUFFIXES
from torch_doctor.sources.notebook import BrokenNotebookError, read_notebook
from torch_doctor.sources.python import decode
from torch_doctor.sources.relevance import matters
from torch_doctor.sources.source import SourceFile
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = (sys.executable, "-m", "torch_doctor", "scan", "--isolated", "--quiet", "--output-format", "json", ".")
STATUSES = (0, 1, 2)  # nothing found, something found, something went wrong
UNFOLLOWED = re.compile(r"unresolved training loop in (?P<path>.+?)(?::\d+)?: (?P<reason>.+)")
TRAINS = re.compile(r"\.backward\(|\boptim\w*\.step\(|\bdef training_step\(|\btrainer\.(?:fit|train)\(")


@dataclass(frozen=True, slots=True)
class Found:
    """A finding in a repository; `trail` has the places that explain it, each with its note."""

    repository: str
    path: str
    code: str
    fingerprint: str
    level: str
    row: int
    cell: int | None = None
    message: str = ""
    help: str = ""
    trail: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is, as people read it."""
        return f"{self.path}:{'' if self.cell is None else f'cell {self.cell}:'}{self.row}"


@dataclass(frozen=True, slots=True)
class Result:
    """What one scan of a repository gave: its findings, its files that train, and what went wrong.

    `unfollowed` are the files whose training loop was not followed, each with the reason.
    """

    repository: str
    findings: tuple[Found, ...] = ()
    training: int = 0
    errors: tuple[str, ...] = ()
    unfollowed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Workshop:
    """Where the clones are, and where their source and the results are kept between runs."""

    clones: Path
    work: Path

    def checkout(self, repository: Repository) -> Path:
        """The folder with the source of a repository."""
        return checkout(repository, self.clones, self.work / "checkouts")

    def result(self, repository: Repository) -> Result:
        """What a scan of the repository by today's torch-doctor gives; scanned once."""
        kept = self._store / f"{repository.folder}@{repository.commit[:10]}.json"
        if kept.is_file():
            return _loaded(kept.read_text(encoding="utf-8"))
        try:
            result = scanned(repository, self.checkout(repository))
        except UnscannedError as error:
            return Result(repository.name, errors=(str(error),))
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".part")
        unfinished.write_text(json.dumps(asdict(result)), encoding="utf-8")
        unfinished.replace(kept)
        return result

    @cached_property
    def _store(self) -> Path:
        return self.work / "results" / version()


def version() -> str:
    """A name for the torch-doctor that is installed: any change of its source gives another."""
    digest = hashlib.sha256(sys.version.encode())
    for package in (torch_doctor, torch_doctor_rules):
        for file in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            digest.update(file.read_bytes())
    for module in (fingerprints, repositories, sys.modules[__name__]):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]


def scanned(repository: Repository, folder: Path) -> Result:
    """Scan a checkout by the command line, with the default selection and without the repository's configuration.

    Raises:
        UnscannedError: the scan did not end as scans do.
    """
    done = subprocess.run(COMMAND, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode not in STATUSES or not done.stdout:
        message = f"{repository.name}: the scan left with status {done.returncode}: {done.stderr.strip()[-200:]}"
        raise UnscannedError(message)
    errors = [f"{repository.name}: {line}" for line in done.stderr.splitlines()]
    records: list[dict[str, Any]] = json.loads(done.stdout)
    files: dict[str, SourceFile] = {}
    findings: dict[str, Found] = {}
    for record in (each for each in records if each["code"] is not None):
        path = record["filename"]
        if path not in files:
            files[path] = source(folder, path)
        found = _found(repository, files[path], record)
        findings.setdefault(found.fingerprint, found)
    training = sum(trains(text) for text in texts(folder))
    return Result(repository.name, tuple(findings.values()), training, tuple(errors), tuple(_unfollowed(records)))


def _unfollowed(records: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The files whose training loop was not followed, each with the reason."""
    for record in records:
        if record["code"] is None and (found := UNFOLLOWED.match(record["message"])):
            yield found["path"], found["reason"]


def trains(text: str) -> bool:
    """Whether a file trains: it goes backward, steps an optimizer, or has a trainer do so, by its text.

    Its text, and not its trace, because what is divided by their number must not move with the mechanism.
    """
    return TRAINS.search(text) is not None


def texts(folder: Path) -> Iterator[str]:
    """The text of every file that a scan reads, of notebooks that of their code cells."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and matters(path.read_bytes()):
            yield source(folder, path.relative_to(folder).as_posix()).text


def source(folder: Path, path: str) -> SourceFile:
    """A file of a checkout; empty where it cannot be read."""
    file = folder / path
    try:
        raw = file.read_bytes()
        if file.suffix == ".ipynb":
            return read_notebook(file, path, raw)[0]
        return SourceFile(file, path, decode(raw)[0])
    except (BrokenNotebookError, OSError):
        return SourceFile(file, path, "")


def _found(repository: Repository, file: SourceFile, record: dict[str, Any]) -> Found:
    site = _site(record)
    columns = (site.column, site.end_column if site.end_row == site.row else sys.maxsize)
    told = (repository.name, site.path, record["code"])
    return Found(
        repository=repository.name,
        path=site.path,
        code=record["code"],
        fingerprint=fingerprint(file.shown, file.row_of(site), columns, *told),
        level=record["level"],
        row=site.row,
        cell=site.cell,
        message=record["message"],
        help=record["help"],
        trail=tuple(f"{_site(step)}: {step['note']}" for step in record["trail"]),
    )


def _site(record: dict[str, Any]) -> Site:
    start, end = record["location"], record["end_location"]
    return Site(record["filename"], start["row"], start["column"], end["row"], end["column"], record["cell"])


def _loaded(text: str) -> Result:
    kept = json.loads(text)
    findings = tuple(Found(**{**found, "trail": tuple(found["trail"])}) for found in kept["findings"])
    unfollowed = tuple((path, reason) for path, reason in kept["unfollowed"])
    return Result(kept["repository"], findings, kept["training"], tuple(kept["errors"]), unfollowed)
