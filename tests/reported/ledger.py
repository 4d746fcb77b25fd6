"""The ledger of bugs that people reported and fixed, the queries that found them, and what became of every hit."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).parent
QUERIES, HITS, READ, SEALED = (HERE / f"{name}.tsv" for name in ("queries", "hits", "read", "sealed"))
FAMILIES = ("update", "loss", "module", "evaluation", "graph", "checkpoint", "data", "device", "operation")
TAKEN = "taken"
NO_CODE = "-"
NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Query:
    """A query, written down before it was asked: of commit messages (`log`) or of issues, neutral or about a family."""

    name: str
    source: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What a query found at a rank: a commit or an issue, and why it was taken or left."""

    query: str
    rank: int
    repository: str
    what: str
    """The commit that fixes something, or `#` and the number of an issue or pull request."""
    why: str
    """`taken`, or why it was left."""

    @property
    def sealed(self) -> bool:
        """Whether it belongs to the sealed half: its name decides, before it is opened."""
        return sealed(self.repository, self.what)


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug of a public repository that its authors fixed."""

    repository: str
    commit: str
    """The last commit that has the bug."""
    path: str
    line: int
    codes: str
    """The code of the catalogue that fits, others that would do after commas, or `-` if there is none."""
    family: str
    hit: str
    """The commit that fixes it, or the issue that reports it."""
    static: str
    """What the last recorded scan said: `named`, `with a condition` or `missed`; nothing in the sealed half."""
    probe: str
    """What the last recorded run said, or `not run`."""
    miss: str
    """Why the scan missed it in a few words, the same for the same reason; nothing in the sealed half."""
    cause: str

    @property
    def accepted(self) -> frozenset[str]:
        """The codes that name it."""
        return frozenset(self.codes.split(",")) - {NO_CODE}


Row = TypeVar("Row", Query, Hit, Bug)


def sealed(repository: str, what: str) -> bool:
    """Return whether a hit belongs to the sealed half."""
    return hashlib.sha256(f"{repository} {what}".encode()).hexdigest()[0] < "8"


def read(kind: type[Row], path: Path) -> list[Row]:
    """Return the rows of a table: a heading, and a line for each row with tabs between its fields."""
    heading, *lines = path.read_text(encoding="utf-8").splitlines()
    names = heading.split("\t")
    return [kind(**_typed(dict(zip(names, line.split("\t"), strict=True)))) for line in lines]


def write(rows: Iterable[Row], kind: type[Row], path: Path) -> None:
    """Write a table in the form that `read` reads."""
    lines = [tuple(kind.__dataclass_fields__), *(astuple(row) for row in rows)]
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: int(value) if name in {"rank", "line"} else value for name, value in fields.items()}
