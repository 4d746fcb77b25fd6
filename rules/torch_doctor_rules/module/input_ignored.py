"""TDR316: an input of a model, or a slice of one, has no influence on what it gives."""

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
    """An input of a model, or a slice of one, has no influence on what it gives.

    ## Why is this bad?
    A mask that `forward` takes and never passes on, a product with it that is not kept, a second encoder that gets the first
    one's input, a slice of the features whose name is never used: the model trains without what it was meant to learn
    from. Nothing fails, and its score is merely lower than it could be.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

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
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, a, b):
            return self.left(a) + self.right(b)

    net = Net()
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 4), torch.randn(64, 1)), batch_size=16)
    optimizer = torch.optim.Adam(net.parameters())
    for a, b, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(a, b), y).backward()
        optimizer.step()
    ```

    ## How the probe confirms it
    A copy of the model, whose weights are moved a little so that none is zero, gets other rows in one input, or in one slice,
    with the same random numbers: in another order, and one row for all. Nothing that it returns or keeps changes, although it
    does with another input. It looks at two calls, some updates apart.

    ## When it is not reported
    For parameters that have a default or begin with an underscore; where a base class, or another class of the file or of a
    table of the script, has a `forward` with the same parameter, so that one call may be of either, or where it is; for what
    is not a tensor of a loader's batch; for what decides, is kept, changes something in place or goes to a function that may
    keep it, or to a method that is defined more than once where its class is named; by the run alone, for what a branch that
    is not taken may read, or a part that is no layer of torch's. Of a slice it tells where it has a name and nothing else
    reads the same features (`a, b = x[:, :4], x[:, 4:]`); features that no line takes may be left out on purpose. TDR310
    reports a layer that is never reached.

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
            text = "`{name}` has no influence on what `{module}` gives: it learns nothing from it"
            yield self.finding(
                event.site,
                message(text, name=event.name, module=event.module),
                help=f"use `{event.name}` in `forward`, or leave it out",
                trail=[] if event.used_at is None else [Step(event.used_at, "it is given here")],
                cause=f"{event.module}.{event.name}",
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether other rows in it changed what the model gives."""
        if any(event.changed for event in _tried(trace, finding.site, _input_of(finding))):
            return True
        return "the run does not tell it apart from what is the same in all rows"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often it was tried, and how often something changed."""
        found = _tried(trace, finding.site, _input_of(finding)) or _through_others(trace, finding)
        if found:
            changed = sum(bool(event.changed) for event in found)
            tries = count(len(found), "try", "tries")
            yield fact(f"other rows in it changed the results in {changed:,} of {tries}", changed, "tries", found[0])

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
