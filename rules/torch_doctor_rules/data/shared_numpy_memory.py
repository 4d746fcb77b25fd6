"""TDR709: an array that shares memory with a tensor is modified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import BatchTaken, MemoryChanged, StoredRowChanged, claims
from torch_doctor_rules.judging.evidence import count, counted, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_ROUNDS = 2
_UNCOPIED = (
    "the probe could not compare the stored samples of the dataset: it reads a small copy of one that stores arrays"
)
COPIED = "copy the sample before you modify it, or use an operation that returns a new one"
UNCHANGED = claims.SHARED_NUMBERS_STAYED


class SharedNumpyMemory(Rule):
    """An array is modified in place after `torch.from_numpy`, which changes the tensor, too.

    ## Why is this bad?
    `from_numpy` and `as_tensor` do not copy: the tensor and the array share memory. So do slices of an array: `rows[10:]`
    is a view, and `view += noise` changes `rows`. If a buffer is reused for every frame, all tensors created from it end
    up as the last frame. If noise is added to an input array, a target that shares its memory changes, too, and so does
    a dataset that was created from it. No error is raised, and the loss looks plausible.

    The same holds for a sample that `__getitem__` takes from a stored array or tensor: `row -= mean` changes the stored
    sample, and in the next epoch the mean is subtracted again.

    ## Example
    ```python
    import numpy as np

    buffer, frames = np.zeros(4, dtype=np.float32), []
    for number in range(6):
        buffer[:] = number
        frames.append(torch.from_numpy(buffer))
    inputs, targets = torch.stack(frames), torch.arange(6.0).unsqueeze(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(2):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         buffer[:] = number
    -    frames.append(torch.from_numpy(buffer))
    +    frames.append(torch.from_numpy(buffer.copy()))
     inputs, targets = torch.stack(frames), torch.arange(6.0).unsqueeze(1)
    ```

    ## How the probe confirms it
    When the tensor is used, some of its values differ from those at its creation. For the stored samples of a dataset, the
    probe reads some of them from a copy of the dataset, twice: the finding is confirmed if both rounds change what the copy
    stores, and refuted if none does.

    ## When it is not reported
    - If the tensor is not used after the change, for example if a batch is consumed before its buffer is filled again.
    - If the tensor is created once, before a loop that fills the array on purpose. The rows of a loader are reported even
      then, if an arithmetic assignment (`+=`) changes a slice that has a name of its own.
    - If `__getitem__` modifies a stored sample under a condition that is unknown, or by assigning to its items.
    - If another part of the array changes, or it is uncertain whether the parts overlap.
    - For copies: `torch.tensor`, `clone`, a conversion to another dtype, or an array indexed by a mask or by numbers.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
    - https://docs.pytorch.org/docs/stable/generated/torch.as_tensor.html
    """

    code = "TDR709"
    name = "shared-numpy-memory"
    level = Level.WARNING
    witness = "SP"
    only_confirms = True
    needs = frozenset({"stored_samples"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every change of an array that shares memory with a tensor used later."""
        for event in first_per_site(trace.of(MemoryChanged)):
            yield self.finding(
                event.site,
                message(
                    "`{name}` is modified, but shares memory with a tensor: the tensor changes, too", name=event.name
                ),
                help="copy the array when you create the tensor: use `torch.tensor(...)`, or `.copy()` the array first",
                trail=[
                    Step(event.shared_at, "the tensor is created here and shares memory with the array"),
                    Step(event.used_at, "the tensor is used here, with changed values"),
                ],
            )
        read = {event.loader: event for event in trace.of(BatchTaken) if len(event.scope.iterations()) > 1}
        stored = (each for each in trace.of(StoredRowChanged) if each.changed and each.loader in read)
        for changed in first_per_site(stored):
            yield self.finding(
                changed.site,
                message("`{name}` is a stored sample: it is modified again in every epoch", name=changed.name),
                help=COPIED,
                trail=[Step(read[changed.loader].site, "a loader reads the samples in every epoch here")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the tensor was used with its original values."""
        if finding.help == COPIED:
            return any(not each.changed for each in _stored(trace, finding)) or _UNCOPIED
        return any(counted(trace, step.site, UNCHANGED) for step in finding.trail[:1])

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many values of the tensor changed."""
        for stored in [each for each in _stored(trace, finding) if finding.help == COPIED][:1]:
            rounds = _ROUNDS if stored.changed else 0
            text = f"{rounds} of {_ROUNDS} rounds of reads changed what a copy of the dataset stores"
            yield fact(text, rounds, "rounds", stored)
        for event in trace.of(MemoryChanged):
            if any(same_place(step.site, event.shared_at) for step in finding.trail[:1]):
                text = f"{event.changed} of {count(event.elements, 'value')} of the tensor had changed when it was used"
                yield fact(text, event.changed, "numbers", event)
                return

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether the probe reports the same tensor, or a dataset that is read in the same loop."""
        if finding.help == COPIED:
            return any(same_place(step.site, each.site) for step in finding.trail for each in seen.trail)
        return any(same_place(step.site, seen.site) for step in finding.trail[:1])


def _stored(trace: Trace, finding: Finding) -> list[StoredRowChanged]:
    """Return what reads did to the stored samples of the dataset that is read in the loop of a finding."""
    places = [step.site for step in finding.trail]
    loaders = {each.loader for each in trace.of(BatchTaken) if any(same_place(each.site, place) for place in places)}
    return [each for each in trace.of(StoredRowChanged) if each.loader in loaders]
