"""TDR316: an input of a model has no effect on its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Forward, InputTried, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site

ENOUGH = 2
"""Tries, some updates apart: what counts for nothing at first may do so later."""


class InputIgnored(Rule):
    """An input of a model, or a slice of one, has no effect on its output.

    ## Why is this bad?
    Examples are a mask that `forward` takes and never passes on, a product whose result is discarded, a second encoder
    that gets the first one's input, or a slice of the features whose name is never used. The model trains without data
    that it was meant to use. No error is raised, and its score is lower than it could be.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, a, b):
            return self.left(a) + self.right(a)

    net = Net()
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 4), torch.randn(64, 1)), batch_size=16)
    optimizer = torch.optim.Adam(net.parameters())
    for a, b, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(a, b), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         def forward(self, a, b):
    -        return self.left(a) + self.right(a)
    +        return self.left(a) + self.right(b)
    ```

    ## How the probe confirms it
    A copy of the model, whose weights are perturbed so that none is zero, gets different samples in one input or slice,
    with the same random numbers: once permuted, and once the same sample everywhere. Neither the output nor the state
    of the model changes, although both depend on another input. The probe checks two calls, some updates apart.

    ## When it is not reported
    - The parameter has a default, or its name starts with an underscore.
    - A base class, or another class of the same file or table, has a `forward` with the same parameter, so one call may
      reach either; or the base class is unresolved.
    - The argument is not a tensor from a loader's batch, or another parameter that the result depends on gets the same tensor.
    - The input decides a branch, is stored, is used to change something in place, or is passed to a function that may
      store it, or to a method that is defined more than once in the file of the class.
    - Only the run shows it, and a branch that is not taken, or a layer that is not torch's, may use the input.
    - For a slice: it has no name, or other code reads the same features (`a, b = x[:, :4], x[:, 4:]`). Features that no
      line uses may be left out on purpose.

    TDR310 reports layers that are never called.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.forward
    """

    code = "TDR316"
    name = "input-ignored"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"shuffled"})
    needs_end = True
    voided_by = frozenset({"inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every input that goes into nothing, or that changed nothing whenever it was tried."""
        found = [event for event in trace.of(InputTried) if event.changed is None or _comes_to_nothing(trace, event)]
        tried = [event for event in found if not _is_shared(trace, event)]
        for event in first_per_site(tried):
            text = "`{name}` has no effect on the output of `{module}`, which learns nothing from it"
            yield self.finding(
                event.site,
                message(text, name=event.name, module=event.module),
                help=f"use `{event.name}` in `forward`, or remove it",
                trail=[] if event.used_at is None else [Step(event.used_at, "it is passed here")],
                cause=f"{event.module}.{event.name}",
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether other rows in it changed what the model gives."""
        if any(event.changed for event in _tried(trace, finding.site, _input_of(finding))):
            return True
        return "the probe run cannot distinguish it from an input that is equal for all samples"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often it was tried, and how often something changed."""
        found = _tried(trace, finding.site, _input_of(finding)) or _through_others(trace, finding)
        if found:
            changed = sum(bool(event.changed) for event in found)
            tries = count(len(found), "try", "tries")
            yield fact(f"other values in it changed the output in {changed:,} of {tries}", changed, "tries", found[0])

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether nothing that a setting may switch on reads it."""
        return not any(event.optional for event in _tried(trace, finding.site, _input_of(finding)))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both are of one input, which a whole model may hand to a part under the same name."""
        return _input_of(finding) == _input_of(seen)


def _tried(trace: Trace, site: Site, name: str) -> list[InputTried]:
    """What a run tells of one of the parameters in a row."""
    return [event for event in at(trace, site, InputTried) if event.name == name]


def _input_of(finding: Finding) -> str:
    return finding.cause.rpartition(".")[2]


def _through_others(trace: Trace, finding: Finding) -> list[InputTried]:
    """Where a model that hands an input of this name to the part was tried, and nothing changed."""
    name = _input_of(finding)
    return [event for event in trace.of(InputTried) if event.name == name and _comes_to_nothing(trace, event)]


def _comes_to_nothing(trace: Trace, event: InputTried) -> bool:
    found = _tried(trace, event.site, event.name)
    return len(found) >= ENOUGH and not any(each.changed for each in found) and all(each.others for each in found)


def _is_shared(trace: Trace, event: InputTried) -> bool:
    """Whether modules of several classes get it from one call: they have one interface, and one of them need not read all."""
    if event.changed is None:
        return event.shared
    return len({forward.class_name for forward in trace.of(Forward) if forward.site == event.used_at}) > 1
