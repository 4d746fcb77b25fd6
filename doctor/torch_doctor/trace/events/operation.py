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
    """A setting of the process is changed, by an assignment, a call, or a context that is entered or exited."""

    setting: str
    """The torch name of the setting, or the name of the environment variable."""
    name: str
    """The expression."""
    value: Tri = None
    """Whether it is switched on; None if unknown."""

    def words(self, _: Names, /) -> str:
        value = {True: "on", False: "off", None: "to an unknown value"}[self.value]
        return f"switch {quoted(self.setting)} {value}"


class Seeded(Event, frozen=True, kw_only=True):
    """A random number generator is seeded."""

    function: str
    """The function that is called."""
    surely: bool = True
    """Whether it is certain."""

    def words(self, _: Names, /) -> str:
        return f"{'' if self.surely else 'maybe '}seed random numbers with {quoted(self.function)}"


class FiniteChecked(Event, frozen=True, kw_only=True):
    """A value is, or may be, tested for NaN or infinity."""

    function: str
    """The function that is called."""

    def words(self, _: Names, /) -> str:
        return f"check for NaN or Inf with {quoted(self.function)}"


class RunAsScript(Event, frozen=True, kw_only=True):
    """`if __name__ == "__main__":` is reached in a file that is run and not imported."""

    def words(self, _: Names, /) -> str:
        return "the file is run as a script"


class ValueRead(Event, frozen=True, kw_only=True):
    """The elements of a tensor become Python numbers in a loop. For a tensor on a GPU, this waits for the computation."""

    name: str
    """The expression for the tensor."""
    how: str
    """The method or function that reads them (`item`, `cpu`, `float`, `print`), or `format`."""
    value: TensorFact
    """The tensor."""
    on_gpu: Tri = None
    """Whether the tensor is on a GPU; None if unknown."""

    def words(self, _: Names, /) -> str:
        return f"read the values of {quoted(self.name)}"


class Unreadable(Event, frozen=True, kw_only=True):
    """A file, or a cell of a notebook, is not valid Python."""

    reason: str
    """The message of the parser."""
    older: bool = False
    """Whether it is valid for an older Python, and the rest of the file is checked."""

    def words(self, _: Names, /) -> str:
        return f"not valid Python: {self.reason}"


class SuppressionUnused(Event, frozen=True, kw_only=True):
    """A comment suppresses rules that report nothing there."""

    names: tuple[str, ...] = ()
    """The codes and names in the comment that suppress nothing."""
    unknown: tuple[tuple[str, str], ...] = ()
    """The words in the comment that are not rules, each with the most similar name; "" if there is none."""
    whole_file: bool = False
    """Whether the comment applies to the complete file."""
    instead: str | None = None
    """The comment without the words that have no similar name; None if all words have one."""

    def words(self, _: Names, /) -> str:
        names = [*self.names, *(name for name, _ in self.unknown)]
        return f"unused suppression of {', '.join(map(quoted, names))}"
