"""Running a script: switches of the whole process, seeds, checks, and source that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.words import Tri


class SettingSet(Event, frozen=True, kw_only=True):
    """A switch of the whole process was set; leaving the context that set it sets it again.

    `setting` is its dotted torch name, or the name of the environment variable; `name` the user's text. `value` is None
    where it is not known.
    """

    setting: str
    name: str
    value: Tri = None

    def words(self, _: Names, /) -> str:
        value = {True: "on", False: "off", None: "to an unknown value"}[self.value]
        return f"switch {quoted(self.setting)} {value}"


class Seeded(Event, frozen=True, kw_only=True):
    """A source of random numbers was given a seed, or may have been where that is not sure: `function` is what was called."""

    function: str
    surely: bool = True

    def words(self, _: Names, /) -> str:
        return f"{'' if self.surely else 'maybe '}seed random numbers with {quoted(self.function)}"


class FiniteChecked(Event, frozen=True, kw_only=True):
    """Something was tested for NaN or Inf, or may have been: `function` is what was called."""

    function: str

    def words(self, _: Names, /) -> str:
        return f"check for NaN or Inf with {quoted(self.function)}"


class RunAsScript(Event, frozen=True, kw_only=True):
    """`if __name__ == "__main__":`, where the file is run and not imported."""

    def words(self, _: Names, /) -> str:
        return "the file is run as a script"


class ValueRead(Event, frozen=True, kw_only=True):
    """The numbers of a tensor became Python's, in a loop: whoever reads those of a tensor on a GPU waits until they are there.

    `how` is what reads them: the method (`item`, `tolist`, `cpu`), the function (`float`, `print`, ...), or `format`.
    `name` is the user's expression. `on_gpu` is where the tensor is, as a run with a GPU shows it; None where that is not known.
    """

    name: str
    how: str
    value: TensorFact
    on_gpu: Tri = None

    def words(self, _: Names, /) -> str:
        return f"read the values of {quoted(self.name)}"


class Unreadable(Event, frozen=True, kw_only=True):
    """The source, or one cell of it, is not valid Python; `reason` is the parser's own word.

    `older`: it is valid for an older Python, and the rest of it was checked.
    """

    reason: str
    older: bool = False

    def words(self, _: Names, /) -> str:
        return f"not valid Python: {self.reason}"


class SuppressionUnused(Event, frozen=True, kw_only=True):
    """A comment at `site` names rules and suppresses nothing of them.

    `names` are those that nothing was found of where the comment counts, `whole_file` that it counts in the whole file.
    `unknown` are what no rule is called, each with the name that is nearest ("": none is near). `instead` is what stays of
    the comment at `site` without all that has no nearest name (None: there is nothing of the kind).
    """

    names: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    whole_file: bool = False
    instead: str | None = None

    def words(self, _: Names, /) -> str:
        names = [*self.names, *(name for name, _ in self.unknown)]
        return f"unused suppression of {', '.join(map(quoted, names))}"
