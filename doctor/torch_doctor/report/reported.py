"""What every output format is given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_doctor.report.paint import Paint
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.trace import Site


CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")
"""Where GitHub, GitLab and Azure Pipelines say that the repository lies."""


class Source(Protocol):
    """A file that a finding lies in, as people see it."""

    @property
    def shown(self) -> list[str]:
        """Its rows; of a notebook, those of all its code cells."""

    def row_of(self, site: Site) -> int:
        """The row in `shown`, from 1, where a site begins."""

    def row_range(self, site: Site) -> range:
        """The rows that may be shown with a site: those of its cell."""

    def row_in_file(self, site: Site) -> int:
        """The row of the file itself, from 1, where a site begins: of a notebook, in its JSON."""

    def place_in_file(self, cell: int, row: int, column: int) -> tuple[int, int] | None:
        """Return line and column of a place in a cell in the JSON of the notebook; None where that is unknown."""

    @property
    def lines_in_file(self) -> list[str]:
        """The lines of the file itself: of a notebook, of its JSON, or none if that cannot be read."""


class Incomplete(Protocol):
    """A file of which not everything was analyzed: in which place, and why; as text, one line."""

    @property
    def site(self) -> Site:
        """The place, which may lie in another file."""

    @property
    def reason(self) -> str:
        """Why the analysis stopped there, without the place."""


INCOMPLETE = "incomplete-analysis"
"""What a file that was not analyzed completely is called where findings have the code of a rule."""


class Reported(Struct, frozen=True):
    """The findings in order, the files they lie in, and the rules that spoke; `errors` says what went wrong.

    `left_out`: findings that are not to be reported, as they were known before. `incomplete` are the files of which not
    everything was analyzed.
    """

    findings: Sequence[Finding]
    sources: Mapping[str, Source] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    errors: Sequence[str] = ()
    left_out: Sequence[Finding] = ()
    incomplete: Sequence[Incomplete] = ()

    def row_in_file(self, site: Site) -> int:
        """The row of the file itself, from 1, where a site begins; 1 where that of a cell cannot be told."""
        source = self.sources.get(site.path)
        if site.cell is None or source is None:
            return site.row if site.cell is None else 1
        return source.row_in_file(site)

    def last_row_in_file(self, site: Site) -> int:
        """The row of the file itself where a site ends."""
        return max(self.row_in_file(site), self.row_in_file(site._replace(row=site.end_row)))


class Look(Struct, frozen=True):
    """How text is to look: in colours or not, and how wide at most (None: as wide as it is)."""

    paint: Paint
    width: int | None = None


def from_checkout(filename: str) -> str:
    """A file's path from where the CI service has checked out the repository, else from the working directory."""
    path = Path.cwd() / filename
    for variable in CHECKOUTS:
        checkout = os.environ.get(variable)
        if checkout and path.is_relative_to(checkout):
            return path.relative_to(checkout).as_posix()
    return filename
