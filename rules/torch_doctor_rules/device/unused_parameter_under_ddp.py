"""TDR816: a parameter without a gradient, for which DDP waits."""

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
    """A parameter of a `DistributedDataParallel` model gets no gradient, so the next training step fails.

    ## Why is this bad?
    `DistributedDataParallel` averages the gradients of a bucket as soon as all of them are available. If `forward` does not
    call a layer, or the loss does not depend on its output, its parameters get no gradient and the bucket is never sent. The
    next forward fails with "Expected to have finished reduction in the prior iteration". Without the wrapper, the same
    script works, so the bug appears only when you pay for several GPUs.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.auxiliary = nn.Linear(4, 1)

        def forward(self, x):
            return self.layer(x)


    torch.distributed.init_process_group("gloo")
    net = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(16, 4)).square().mean().backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             self.layer = nn.Linear(4, 1)
    -        self.auxiliary = nn.Linear(4, 1)
    ```

    ## How the probe confirms it
    torch itself raises the error at the second forward through the wrapper, even with a single process. The probe then counts
    the parameters without a gradient. It also finds cases that the source does not show: an output that the loss does not
    depend on, or a layer that some steps skip.

    ## When it is not reported
    - With `find_unused_parameters=True` or `static_graph=True`, or if these settings are unknown.
    - For frozen parameters.
    - If the wrapper is called only once.
    - For FSDP, and for accelerate, Lightning and other frameworks that wrap the model themselves.

    Without the probe, only layers that are never mentioned after their construction are reported. TDR310 does not report
    these layers again.

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
        """Yield a finding for every wrapper that waits for a gradient that never arrives."""
        yield from first_per_site(self._report(trace, wrapped, layers) for wrapped, layers in waiting(trace))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the wrapper reached its second step, where torch would have raised the error."""
        wraps = [event for event in at(trace, finding.site, Wrapped) if event.wrapper == WAITS]
        if any(len(through(trace, wrapped)) >= ENOUGH for wrapped in wraps):
            return True
        return "fewer than two training steps used the wrapper" if wraps else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield torch's error, and how many parameters got no gradient."""
        for wrapped in at(trace, finding.site, Wrapped)[:1]:
            steps = len(through(trace, wrapped))
            if trace.run is None or STUCK not in trace.run.end.exception:
                yield fact(
                    f"no gradient was missing in {count(steps, 'step')} with the wrapper", steps, "steps", wrapped
                )
                return
            yield fact(f"the forward fails after {count(steps, 'step')}: {STUCK}", steps, "steps", wrapped)
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
            help="use it in the loss, freeze it, remove it, or pass `find_unused_parameters=True` to the wrapper",
            trail=[Step(layer.site, f"`{layer.name}` is created here and never called") for layer in layers],
        )


def _without_gradient(trace: Trace, wrapped: Wrapped) -> list[ParameterSeen]:
    """Return the parameters of a wrapped module that had no gradient in the run."""
    inside = trace.view(Family).within((wrapped.module,))
    return [each for each in trace.of(ParameterSeen) if each.module in inside and not each.gradients]
