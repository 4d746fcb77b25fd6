"""What is remembered while the runs of one file are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.budget import STEPS_FILE
from torch_doctor.static.followed import NOTHING, Followed
from torch_doctor.static.questions import Asked
from torch_doctor.static.tops import Tops

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_doctor.static import program as p
    from torch_doctor.static.choosing import Setting
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Namespace
    from torch_doctor.trace import Site


class Task:
    """The runs of one file; `before` is what those came to that import it.

    `entered` are the functions that some run has entered, `read` the places where one has read a checkpoint. `left` are the
    steps for what nobody calls, `steps` those of all runs together, `asked` what they asked of the rest of the project.
    `settings` are those of options with which the script is executed again, `taken` the steps that its first run took,
    `spent` those of its runs with settings.
    """

    def __init__(self, before: Followed = NOTHING) -> None:
        self.before = before
        self.entered: set[p.Function] = set()
        self.read: set[Site] = set(before.read)
        self.left = 0.0
        self.steps: float = STEPS_FILE
        self.tops = Tops()
        self.chosen: list[Setting] = []
        self.taken = 0.0
        self.spent = 0.0
        self.asked = Asked(set(), set(), set())
        self._imported: dict[Path, None] = {}
        self._others = before.entered  # by the runs of other files

    def begin(self, unit: Unit, imports: Imports) -> None:
        """Note which functions of the file itself were entered before."""
        self.entered |= {each for each in unit.defines if imports.defined(each) in self._others}

    def hear(self, run: Run) -> None:
        """Note what a run has come to."""
        self.entered |= run.entered
        self._imported.update(dict.fromkeys(run.objects.brought))

    def asks(self, asked: Asked) -> None:
        """Note what a run has asked of the rest of the project."""
        self.asked.add(asked)

    def take(self, other: Followed, unit: Unit, imports: Imports) -> None:
        """Note what the run of another script has come to."""
        self._others |= other.entered
        self.read |= other.read
        self.begin(unit, imports)

    def is_entered(self, function: p.Function, imports: Imports) -> bool:
        """Whether some run has entered a function, which may stand in another file."""
        return function in self.entered or imports.defined(function) in self._others

    def followed(self, imports: Imports, shared: Mapping[Path, Namespace]) -> Followed:
        """What all this has come to."""
        return Followed(
            frozenset(defined for each in self.entered if (defined := imports.defined(each)) is not None),
            frozenset(map(str, self._imported)),
            frozenset(str(path) for path in self._imported if path in shared and shared[path].whole),
            frozenset(self.read),
        )
