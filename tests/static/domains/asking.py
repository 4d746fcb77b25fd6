"""Asks domains about the variables of a script, at its end."""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static.runs import Witness
from torch_doctor.static.values import Value
from torch_doctor.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.domains.domain import Domain
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit

F = TypeVar("F")
SCRIPT = Path("/nowhere/train.py")


class Asking(Witness):
    """Executes a script, and asks a domain about variables before what the run did is undone."""

    def answers(self, domain: type[Domain[F]], names: tuple[str, ...]) -> list[F]:
        """What the domain answers for these variables."""
        self._found: list[F] = []
        self._ask = partial(_ask, domain, names)
        file = self._project.read(SCRIPT)
        assert file is not None
        assert all(isinstance(each, Trace) for each in self.caller(file))
        return self._found

    def _script(self, unit: Unit) -> Iterator[Trace]:
        with self._executing(unit) as run:
            run.run()
            self._found = self._ask(run)
            yield run.trace


def _ask(domain: type[Domain[F]], names: tuple[str, ...], run: Run) -> list[F]:
    return [run.ask(domain, _variable(run, name)) for name in names]


def _variable(run: Run, name: str) -> Value:
    value = run.home.fields[name]
    assert isinstance(value, Value)
    return run.heap.current(value)


def asked(domain: type[Domain[F]], source: str, *names: str) -> list[F]:
    """What a domain answers for variables of a script."""
    text = textwrap.dedent(source).encode()
    witness = Asking(Project(SCRIPT.parent, Ignores(frozenset((SCRIPT.parent,))), {SCRIPT: text}))
    try:
        return witness.answers(domain, names)
    finally:
        witness.close()
