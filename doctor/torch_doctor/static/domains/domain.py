"""A domain: one kind of question about values, answered from the record of how each was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.values import Either, Making, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import MutableSet

F = TypeVar("F")


class Written(Lasting):
    """Tensors whose numbers were changed in place on this path, each by the record of how it was made."""

    made: MutableSet[Making] = per_path(set)


class Domain(Lasting, Generic[F]):
    """One kind of question about values. `run.ask(Kind, value)` answers it; a domain that nobody asks does not exist.

    A subclass reads the answer for one record (`read`), and asks for those of the record's arguments with `of`. Answers are
    kept by record, so that each record is read once.
    """

    numbers: ClassVar[bool] = False
    """Whether the answer depends on the numbers in a tensor: then it is unknown once they were changed in place."""

    _answers: dict[Making, F] = per_run(dict)
    _written: frozenset[Making] = per_run(frozenset)  # those that the answers were read with

    def unknown(self) -> F:
        """The answer where nothing is known."""
        raise NotImplementedError

    def read(self, made: Making) -> F:
        """The answer for a tensor that was made so."""
        raise NotImplementedError

    def join(self, left: F, right: F) -> F:
        """What holds where a value has one of two answers, by the path: the answer that both share, or unknown."""
        return left if left == right else self.unknown()

    def given(self, value: Value) -> F:
        """The answer for a value that has no record."""
        return self.unknown()

    def record(self, value: Value) -> Making | None:
        """How a value was made, as far as this domain reads it; None for a value without a record."""
        made = value.meta if isinstance(value, Tensor) else None
        return made if isinstance(made, Making) else None

    def ask(self, value: Value, written: MutableSet[Making]) -> F:
        """The answer for a value, where the tensors in `written` were changed in place."""
        if self.numbers and (len(written) != len(self._written) or not self._written.issuperset(written)):
            self._answers.clear()
            self._written = frozenset(written)
        return self.of(value)

    def of(self, value: Value) -> F:
        """The answer for a value that is an argument of a record; of one that is one of several, what holds of all."""
        made = self.record(value)
        if made is None:
            return self._joined(value) if isinstance(value, Either) else self.given(value)
        if made in self._written:
            return self.unknown()
        if made not in self._answers:
            self._answers[made] = self.read(made)
        return self._answers[made]

    def _joined(self, value: Either) -> F:
        answers = [self.of(option) for _, option in value.options]
        result = answers[0]
        for answer in answers[1:]:
            result = self.join(result, answer)
        return result
