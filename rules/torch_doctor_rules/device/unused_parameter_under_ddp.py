"""TDR816: a parameter without a gradient, for which the exchange between processes waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import ParameterSeen, Wrapped
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.exchanges import ENOUGH, STUCK, WAITS, through, waiting
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import WRAPPERS
from torch_doctor_rules.judging.wording import Phrase, message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import LayerRegistered, Trace


class UnusedParameterUnderDdp(Rule):
    """A parameter of a model in `DistributedDataParallel` gets no gradient in a step, and the exchange waits for it.

    ## Why is this bad?
    `DistributedDataParallel` averages gradients as soon as those of a whole bucket are there. A layer that `forward` does not
    call, or whose output is not in the loss, never has one, and the bucket is never sent. The next forward fails with
    "Expected to have finished reduction in the prior iteration". The same script trains without the wrapper, so this is
    found only when several GPUs are paid for.

    ## Example
    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.auxiliary = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.layer(x)


    torch.distributed.init_process_group("gloo")
    net = torch.nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(16, 4)).square().mean().backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.layer(x)


    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    net = torch.nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(16, 4)).square().mean().backward()
        optimizer.step()
    torch.distributed.destroy_process_group()
    ```

    ## How the probe confirms it
    torch itself says so at the second forward through the wrapper, in one process as in many. The parameters that got no
    gradient until then are counted. A run also finds what the source leaves open: an output that is not in the loss, a layer
    that some steps leave out.

    ## When it is not reported
    With `find_unused_parameters=True`, `static_graph=True`, or settings out of sight; for frozen parameters; where the model
    goes through the wrapper only once; for FSDP, and for accelerate, Lightning and others who wrap the model themselves. The
    source alone speaks only of layers that nothing names after their construction; of these TDR310 is then silent.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    - https://docs.pytorch.org/docs/stable/notes/ddp.html
    """

    code = "TDR816"
    name = "unused-parameter-under-ddp"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"parameters", "reach"})
    voided_by = frozenset({"shapes", "bases", "inside"})
    subject = WRAPPERS

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every wrapping that waits for a gradient that never comes."""
        yield from first_per_site(self._report(trace, wrapped, layers) for wrapped, layers in waiting(trace))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the wrapper came to its second step, where torch would have said it."""
        wraps = [event for event in at(trace, finding.site, Wrapped) if event.wrapper == WAITS]
        if any(len(through(trace, wrapped)) >= ENOUGH for wrapped in wraps):
            return True
        return "fewer than two steps went through the wrapper" if wraps else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What torch said, and how many parameters got no gradient."""
        for wrapped in at(trace, finding.site, Wrapped)[:1]:
            steps = len(through(trace, wrapped))
            if trace.run is None or STUCK not in trace.run.end.exception:
                yield fact(f"all gradients came in {count(steps, 'step')} through the wrapper", steps, "steps", wrapped)
                return
            yield fact(f"torch refuses the forward after {count(steps, 'step')}: {STUCK}", steps, "steps", wrapped)
            bare = _without_gradient(trace, wrapped)
            if bare:
                elements = sum(each.elements for each in bare)
                yield fact(f"{count(elements, 'parameter')} got no gradient", elements, "parameters", wrapped)

    def _report(self, trace: Trace, wrapped: Wrapped, layers: list[LayerRegistered]) -> Finding:
        paths = [each.name.rpartition(".")[0] or each.name for each in _without_gradient(trace, wrapped)]
        names = list(dict.fromkeys([layer.name for layer in layers] or paths))
        what = names[0] if names else Phrase("a parameter")
        text = "`{name}` gets no gradient: DDP waits for it, and the next step fails"
        if len(names) > 1:
            text = "`{name}` and {others} more get no gradient: DDP waits for them, and the next step fails"
        return self.finding(
            wrapped.site,
            message(text, name=what, others=Phrase(len(names) - 1)),
            help="use it in the loss, freeze or remove it, or let the wrapper look for unused parameters",
            trail=[Step(layer.site, f"`{layer.name}` is built here, and nothing calls it") for layer in layers],
        )


def _without_gradient(trace: Trace, wrapped: Wrapped) -> list[ParameterSeen]:
    """The parameters of a wrapped module that a run saw without a gradient."""
    inside = trace.view(Family).within((wrapped.module,))
    return [each for each in trace.of(ParameterSeen) if each.module in inside and not each.gradients]
