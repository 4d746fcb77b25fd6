"""What a scan is asked for, and what it reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from torch_doctor.sources.ignores import Ignores
from torch_doctor.trace import Site  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_doctor.probing import Probing
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.scan.sharding import Shard
    from torch_doctor.sources.ignores import Patterns
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static import Environment
    from torch_doctor.trace import Versions


class FileIgnore(Struct, frozen=True):
    """Rules that do not speak in some files; `negated`: in all files but these."""

    patterns: Patterns
    codes: frozenset[str]
    negated: bool = False


class Narrowing(Protocol):
    """Leaves findings out of a report: those that were there before, say."""

    def reported(self, findings: Sequence[Finding], sources: Mapping[str, SourceFile]) -> list[tuple[Finding, bool]]:
        """The findings, each with whether it is reported; one that stands for several may be taken apart."""


class Options(Struct, frozen=True, kw_only=True):
    """What to scan and what to report. Paths are absolute; `overlay` holds files that are not read from the disk.

    `quiet` are the codes of rules whose advice nobody has asked for.
    `named_only`: findings elsewhere than in files under the paths are reported only where their trail runs through one.
    `narrowing` decides what else of the findings is not reported.
    `expected`: what was found before the source was changed; the probe says of it whether it is still so.
    """

    paths: tuple[Path, ...]
    rules: tuple[Rule, ...]
    hiding: tuple[Rule, ...] = ()  # they tell what is broken so that other bugs hide behind it, and report nothing
    quiet: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()  # every code and name, to check what comments say
    exclude: tuple[Patterns, ...] | None = None
    extend_exclude: tuple[Patterns, ...] = ()
    respect_gitignore: bool = True
    include: Patterns | None = None  # the files to scan in folders; None: all
    force_exclude: bool = False  # the patterns apply to files that are named, too
    file_ignores: tuple[FileIgnore, ...] = ()
    heeds_comments: bool = True  # comments that suppress findings count
    named_only: bool = False
    narrowing: tuple[Narrowing, ...] = ()
    overlay: Mapping[Path, bytes] = field(default_factory=dict)
    names: Mapping[Path, str] = field(default_factory=dict)
    torch: Versions | None = None  # as the user says; else the project's pins are read
    environment: Environment | None = None  # whose libraries are read; None: none
    probe: Probing | None = None
    expected: tuple[Finding, ...] = ()
    cache: Path | None = None  # the folder in which results are kept; None: nowhere
    shard: Shard | None = None  # of the scan only this part is done
    executor: str = ""  # the cluster that does the scan, as `dask:ADDRESS`; "": this process
    jobs: int = 0  # processes that examine files side by side; 0: as many as are worth it

    def ignores(self, root: Path) -> Ignores:
        """Return which files are left out; gitignore files above `root` do not count."""
        return Ignores(
            frozenset({root}), self.exclude, self.extend_exclude, self.respect_gitignore, include=self.include
        )


class Incomplete(Struct, frozen=True):
    """A file of which not everything was analyzed: in which place, and why.

    `loop`: its training loop could not be followed.
    """

    path: str
    site: Site
    reason: str
    loop: bool = False

    def __str__(self) -> str:
        """Return it as one line."""
        place = f"{self.path}:{self.site.row}" if self.site.path == self.path and self.site.cell is None else self.path
        return f"unresolved training loop in {place}: {self.reason}" if self.loop else f"{place}: {self.reason}"


class Told(Struct):
    """What there is to say beside findings: errors make the exit status 2, notes are for `-v`.

    `seconds` are those of each stage.
    """

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def remark(self, note: str) -> None:
        """Say something for `-v`; a place that is passed several times is named once."""
        if note not in self.notes:
            self.notes.append(note)

    def failed(self, what: str, error: Exception) -> None:
        """Say that something of ours failed: in one line, and whole for `-v`."""
        line, whole = failure(what, error)
        if line not in self.errors:
            self.errors.append(line)
            self.notes.append(whole)


class Report(Told, kw_only=True):
    """The findings in order, and what else there is to say.

    `remarks` are what the probe has to say of its runs, and `outputs` what each script printed, by its name; `unseen` says of
    runs that they showed no training, or not all of it. `interrupted`: somebody ended the runs with Ctrl-C. `left_out`: what
    was found and, as the options want it, is not reported. `incomplete` are the files of which not everything was analyzed; the
    warnings name them, too.
    """

    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    files: int = 0
    interrupted: bool = False
    sources: dict[str, SourceFile] = field(default_factory=dict)
    left_out: list[Finding] = field(default_factory=list)
    incomplete: list[Incomplete] = field(default_factory=list)

    def left(self, files: Iterable[Incomplete]) -> None:
        """Report that not everything of some files was analyzed."""
        for each in files:
            self.incomplete.append(each)
            self.warnings.append(f"{each}")

    @property
    def unfollowed(self) -> int:
        """How many scripts train in a loop that was not followed."""
        return sum(each.loop for each in self.incomplete)

    def narrow(self, by: Iterable[Narrowing], witness: str = "") -> None:
        """Leave out what is not to be reported of the findings, or of those of one witness."""
        kept = [finding for finding in self.findings if witness in ("", finding.witness)]
        rest = [finding for finding in self.findings if witness not in ("", finding.witness)]
        for each in by:
            told = each.reported(kept, self.sources)
            kept = [finding for finding, reported in told if reported]
            self.left_out += [finding for finding, reported in told if not reported]
        self.findings[:] = [*rest, *kept]

    def take_errors(self, errors: Iterable[str]) -> None:
        """Take in what was found to be wrong elsewhere; what comes up in many places is said once."""
        self.errors += [line for line in dict.fromkeys(errors) if line not in self.errors]


def failure(what: str, error: Exception) -> tuple[str, str]:
    """That something of ours failed, in one line and whole."""
    import traceback  # noqa: PLC0415 - only for an error of ours

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    said = f": {error}" if str(error) else ""
    line = f"internal error while scanning {what}: {type(error).__name__}{said}{where}; please report it"
    return line, "".join(traceback.format_exception(error)).rstrip()
