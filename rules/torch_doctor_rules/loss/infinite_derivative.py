"""TDR219: an operation whose derivative is infinite at a value that its operand takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import DerivativeInfinite, LogTaken, Trace
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = {
    "epsilon": "`{name}` can be {place}, since its epsilon rounds away: the gradient of `{operation}` is then infinite",
    "test": "`{operation}` gets {place} too, where the choice omits the result: its gradient is then NaN",
    "pair": "`{name}` is {place} for equal pairs: the gradient of `{operation}` is then NaN",
    "single": "`{operation}` of one element is NaN: it divides by the number of elements less one, of `{name}`",
    "row": "`{operation}` gets a row of `{name}` that is masked completely: its result is NaN",
    "mask": "`{name}` is {place} where the mask is 0: the gradient of `{operation}` is then NaN",
}
"""The message for each reason why the operand has the value."""
OTHERWISE = "`{name}` can be exactly {place}, where the derivative of `{operation}` is infinite"
NOTES = {
    "clamp": "the values are bounded here",
    "epsilon": "the epsilon here is lost in the precision of the tensor",
    "mask": "the zeros of the mask come from here",
    "pair": "a set is compared with itself here: the diagonal is 0",
    "row": "this mask leaves out the diagonal, and with it all of the first row",
    "rounding": "rounding makes this exact for large inputs",
    "test": "the choice comes after the operation, whose derivative is multiplied by 0",
}
"""The step of the trail for each reason."""
HELPS = {
    "epsilon": "use a larger epsilon, such as 1e-6 in float32",
    "row": "leave one element of each row unmasked, such as the diagonal",
    "single": "use a dimension with more elements, or leave the term out where there is only one",
    "test": "replace the values before the operation, with `torch.where` inside it",
}
ROOTS = ("sqrt", "rsqrt", "pow", "log", "log2", "log10", "reciprocal")
BOUNDED = "keep the values away from {place}, for example with a bound that is {side} by at least 1e-6"


class InfiniteDerivative(Rule):
    """The derivative of an operation is infinite at a value that its operand takes.

    ## Why is this bad?
    The derivative of `sqrt` is infinite at 0, and that of `acos` at -1 and 1. The loss is finite there, but one such value
    makes a gradient infinite. The chain rule multiplies it by 0, which gives NaN, and one step makes all weights NaN. A
    mask after the operation does not help, since the derivative is multiplied by the zeros of the mask.

    Values that are exactly there by construction are reported:

    - the end of a clamp before a root, a power below 1, a logarithm, a quotient or an arc function;
    - an epsilon that the precision swallows: `1 - 1e-8` is 1 in float32;
    - the diagonal of distances of a set to itself that are computed with `sqrt`, and roots of masked values;
    - `(1 - p) ** g` with a `g` below 1, where `p` comes from a sigmoid or a softmax;
    - the deviation of one element, and a softmax over a row that a mask leaves out completely;
    - `torch.where(v > 0, v.sqrt(), 0)`: the arm that is not chosen is differentiated, too.

    ## Example
    ```python
    def distances(points):
        squares = ((points[:, None] - points[None, :]) ** 2).sum(-1)
        return squares.sqrt()


    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (1 - distances(model(torch.randn(16, 4)))).relu().mean()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         squares = ((points[:, None] - points[None, :]) ** 2).sum(-1)
    -    return squares.sqrt()
    +    return squares.clamp(min=1e-6).sqrt()
    ```

    ## Fix safety
    The fix clamps the operand of a root, a power or a logarithm to at least 1e-6. Smaller values then get no gradient.

    ## How the probe confirms it
    When a loss goes backward, the probe checks roots, powers below 1, logarithms, quotients and arc functions in its graph.
    It counts the values of the operand at which the derivative is infinite. If there is none yet, it looks at the clamp, the
    sigmoid or the softmax that gives the operand, and computes on a copy what the operation gets at the end of its range.
    The evidence is the derivative there.

    ## When it is not reported
    - The value may come near the critical value, but only by chance, as in the root of a mean squared error. The probe
      reports such a value when it has seen it.
    - No gradient arrives at the parameters: metrics, evaluation, `detach()` or `no_grad`, or a ReLU directly before a root.
    - `torch.linalg.vector_norm`, `torch.cdist` and `std`, whose derivatives torch defines as 0.
    - A `torch.where` replaces the values before the operation, or `masked_fill` the result of a masked row.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
    - https://docs.pytorch.org/docs/stable/generated/torch.where.html
    - https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html
    """

    code = "TDR219"
    name = "infinite-derivative"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"derivatives"})
    voided_by = frozenset({"inside"})
    yields_to = frozenset({"TDR210"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES, Figure.HERE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every operation whose operand takes such a value."""
        logs = {log.site for log in trace.of(LogTaken)}
        for event in first_per_site(each for each in trace.of(DerivativeInfinite) if each.reached is not None):
            why = event.why
            if not why and event.site in logs:
                continue
            shown = f"{event.place:g}"
            yield self.finding(
                event.site,
                message(
                    TEXTS.get(why, OTHERWISE),
                    name=named(event.name, "the operand"),
                    place=shown,
                    operation=event.operation,
                ),
                help=HELPS.get(why) or BOUNDED.format(place=shown, side="smaller" if event.place > 0 else "larger"),
                trail=[Step(event.made_at, NOTES[why].format(place=shown))]
                if event.made_at not in (None, event.site) and why in NOTES
                else [],
                cause=place(event.made_at),
                edits=_edits(event),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the operation was computed, but never with such a value."""
        found = at(trace, finding.site, DerivativeInfinite)
        return "no value in the run was at the end of its range" if found else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The derivative, and how many values were there."""
        found = sorted(at(trace, finding.site, DerivativeInfinite), key=lambda event: event.count, reverse=True)
        for event in found[:1]:
            yield fact(_seen(event), event.count, "", event)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether such values made the gradients of the run infinite or NaN; the source shows none that only can be there."""
        made_up = trace.run is not None and trace.run.voids("values", "weights", "files") is not None
        return not made_up and any(event.count for event in at(trace, finding.site, DerivativeInfinite))


def _seen(event: DerivativeInfinite) -> str:
    """What the run has seen, in words."""
    if event.why == "row":
        return f"a row was masked completely, and its {event.operation} is {event.derivative}"
    if event.why == "single":
        return f"{event.operation} got one element for each result and is {event.derivative}"
    seen = f"{event.count} of {event.of} values were {event.place:g}" if event.count else "its operand can get there"
    return f"the derivative of {event.operation} at {event.place:g} is {event.derivative}; {seen}"


def _edits(event: DerivativeInfinite) -> list[Wrap]:
    """A clamp around the operand of a call, where it is to be larger than 0."""
    if (
        not event.by_call
        or event.place != 0
        or event.operation not in ROOTS
        or event.why not in ("clamp", "pair", "rounding")
    ):
        return []
    return [Wrap(event.site, "{}.clamp(min=1e-6)", argument=0)]
