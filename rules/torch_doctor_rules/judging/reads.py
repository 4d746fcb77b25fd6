"""Numbers that a training loop reads from the GPU at every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Backward, FiniteChecked, Forward, Handed, LoopKind, Source, Stepped, ValueRead
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.moves import on_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope, Trace


class Reads:
    """The reads of one trace, and the loops that train on a GPU."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._moved = on_gpu(trace)
        handed = [each for each in trace.of(Handed) if each.optimizers]
        self._stepped = {scope.loop for step in (*trace.of(Stepped), *handed) for scope in step.scope.iterations()}
        tested = {scope for event in trace.of(FiniteChecked) for scope in event.scope.iterations()}
        self._passes: dict[Scope, list[Backward]] = {}
        last: dict[int, int] = {}
        for backward in trace.of(Backward):
            scopes = backward.scope.iterations()
            if scopes and fills(backward) and self._over_batches(scopes[-1], backward):
                self._passes.setdefault(scopes[-1], []).append(backward)
                last[scopes[-1].loop] = scopes[-1].number
        self._late = {
            batch for batch in self._passes if batch not in tested and (batch.number > 1 or last[batch.loop] == 1)
        }

    def at_every_step(self) -> Iterator[tuple[ValueRead, Scope]]:
        """The reads of what is trained on a GPU, each with the pass through the loop that it lies in.

        What is read in the first pass alone does not count, nor where numbers are tested for NaN or Inf.
        """
        for read in self.trace.of(ValueRead):
            for batch in read.scope.iterations():
                trained = self._passes[batch] if batch in self._late else ()
                if any(self.trace.implies(each, read) and self._of(read, each) for each in trained):
                    yield read, batch

    def _over_batches(self, scope: Scope, backward: Backward) -> bool:
        """Whether it is a step of training on data of its own: with all data at once, each step is an epoch."""
        if scope.loop not in self._stepped:
            return False
        forwards = [each for each in self.trace.at(*backward.loss.forwards) if isinstance(each, Forward)]
        drawn = any(each.inputs.source in (Source.NOISE, Source.LOADER) for each in forwards)
        return scope.loop_kind is LoopKind.BATCHES or (drawn and scope.loop_kind is LoopKind.PLAIN)

    def _of(self, read: ValueRead, backward: Backward) -> bool:
        """Whether what is read comes, on a GPU, from the forward that is trained; a run does not always know its history."""
        behind = read.value.forwards & (backward.loss.forwards | backward.forwards)
        if self.trace.observed and not read.value.forwards:
            behind = backward.loss.forwards
        forwards = (each for each in self.trace.at(*behind) if isinstance(each, Forward))
        return read.on_gpu is not False and any(each.module in self._moved for each in forwards)
