"""TDR124: the `backward` of a custom `autograd.Function` is not the derivative of its `forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import HandWrittenBackward, Trace
from torch_doctor_rules.judging.evidence import at, count, fact, two
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class CustomBackwardWrong(Rule):
    """The `backward` of a custom `autograd.Function` does not match its `forward`.

    ## Why is this bad?
    torch takes the return value of a custom `backward` as the gradient and checks only its shape. A missing factor, a
    wrong sign, or an incoming gradient that is not multiplied in trains everything before the function in a wrong
    direction. The loss may still fall, only less. If `backward` returns another number of gradients than `forward` has
    inputs, the first backward pass fails. A result of `forward` that is stored as an attribute of the context keeps
    itself alive: the memory of each call is held until Python's garbage collector runs.

    ## Example
    ```python
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * x


    layer = nn.Linear(4, 1)
    Square.apply(layer(torch.randn(8, 4))).mean().backward()
    ```

    ## Use instead
    ```diff
             (x,) = ctx.saved_tensors
    -        return grad_output * x
    +        return grad_output * 2 * x
    ```

    ## How the probe confirms it
    The probe calls the function with float64 copies of the script's inputs, and compares the gradients of `backward`
    with finite differences of `forward`. It does so separately for eight parts of the values, of which at least seven
    must disagree. torch itself checks the number of gradients.

    ## When it is not reported
    - `backward` is intentionally not the derivative: `forward` passes its input on (gradient reversal, scaling and
      clipping), selects some of its values (clamps, masks), goes in steps (straight-through estimators, surrogate
      gradients of spikes), draws random numbers, or does not depend on one of its inputs.
    - Gradients are None or zero, differ in a few values only (clamps for safety), or are scaled per sample.
    - A result is stored on the context, but all calls are compiled with `fullgraph=True`.

    Without the probe, only functions that do arithmetic on single values are reported.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    - https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
    """

    code = "TDR124"
    name = "custom-backward-wrong"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"gradcheck"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such `backward`."""
        for event in first_per_site(e for e in trace.of(HandWrittenBackward) if _wrong(e)):
            text, remedy = _said(event)
            trail = (
                [Step(event.kept_at, "the context stores the result here")] if event.kept_at and _keeps(event) else []
            )
            cause = f"{event.class_name}: {event.argument}" if event.argument else ""
            yield self.finding(event.site, text, help=remedy, trail=trail, cause=cause)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether its gradients were compared."""
        found = at(trace, finding.site, HandWrittenBackward)
        compared = {f"{event.class_name}: {name}" for event in found for name in event.compared}
        if finding.cause in compared or (compared and not finding.cause):
            return True
        return next((event.because for event in found if event.because), bool(found) and "nothing could be compared")

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether no result is stored, or the run compiles nothing: only the source shows which calls are compiled."""
        keeps = any(_keeps(event) for event in at(trace, finding.site, HandWrittenBackward) if _wrong(event))
        return not keeps or trace.run is None or trace.run.voids("compile") is None

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The two gradients, or how many came."""
        found = at(trace, finding.site, HandWrittenBackward)
        for event in sorted(found, key=lambda each: not _wrong(each))[:1]:
            if event.gradients != event.inputs:
                text = f"it returned {count(event.gradients, 'gradient')} for {count(event.inputs, 'input')}"
                yield fact(text, event.gradients, "gradients", event)
            elif event.argument:
                text = f"`backward` and finite differences of `forward` give {two(event.given, event.slope)}"
                yield fact(text, event.given, "", event)
            elif event.kept:
                text = f"{count(event.stayed, 'call')} on a copy stayed in memory after the results were discarded"
                yield fact(text, event.stayed, "calls", event)
            elif event.compared:
                text = f"{count(len(event.compared), 'gradient')} compared: none is wrong"
                yield fact(text, len(event.compared), "gradients", event)


def _wrong(event: HandWrittenBackward) -> bool:
    return event.gradients != event.inputs or bool(event.argument or event.kept)


def _keeps(event: HandWrittenBackward) -> bool:
    return event.gradients == event.inputs and not event.argument


def _said(event: HandWrittenBackward) -> tuple[str, str]:
    """The message and the remedy."""
    name = f"{event.class_name}.backward"
    if event.gradients != event.inputs:
        counts = f"{count(event.gradients, 'gradient')} for {count(event.inputs, 'input')}"
        return message(
            f"`{{name}}` returns {counts}: the backward pass fails", name=name
        ), "return one gradient for each input of `forward`, or None for inputs that need none"
    if event.argument:
        text = "`{name}` is not the derivative of `forward`: `{argument}` gets a wrong gradient"
        remedy = "return the incoming gradient times the derivative, and verify it with `torch.autograd.gradcheck`"
        return message(text, name=name, argument=event.argument), remedy
    text = "`{kept}` stores the result of `{cls}`: the memory of each call is not freed"
    return message(text, kept=event.kept, cls=event.class_name), "pass it to `save_for_backward()` of the context"
