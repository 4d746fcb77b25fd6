"""TDR131: an operation returns a new tensor, and the statement discards it, or gives it a name that nothing reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.edits import Assign, Delete, Figure, Insert
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, ResultLost, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.wording import message, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.edits import Edit

_REPEATS = re.compile(r"\b(?:expand|expand_as|broadcast_to)\([^()]*\)$")
"""Calls that repeat a tensor to a shape, as arithmetic does with its operands."""


class ResultDiscarded(Rule):
    """The result of a tensor operation that does not work in place is discarded.

    ## Why is this bad?
    `x.squeeze()`, `p.grad.clamp(-1, 1)`, `F.relu(x)` and `mask.masked_fill(...)` return a new tensor and do not change the
    one that they are given. If a statement discards the result, the operation has no effect: the shape is the old one,
    gradients are not clipped, the activation or the mask is missing. No error is raised. In-place operations have a name
    that ends with an underscore.

    The same happens where the result gets a name that nothing reads: after `scaled = (table - mean) / std`, a data set that
    is built from `table` has unscaled rows. Reported are copies that are scaled, masked, normalized, activated, noisy,
    flipped or transformed, while the script goes on with what they were made from.

    A discarded `expand` or `expand_as` is only a warning: arithmetic expands its operands by itself.

    ## Example
    ```python
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        for p in model.parameters():
            p.grad.clamp(-0.1, 0.1)
        optimizer.step()
    ```

    ## Use instead
    ```diff
         for p in model.parameters():
    -        p.grad.clamp(-0.1, 0.1)
    +        p.grad = p.grad.clamp(-0.1, 0.1)
         optimizer.step()
    ```

    ## Fix safety
    The fix assigns the result to the tensor. It is unsafe because the script then computes something else. There is no fix for
    parameters, to which no computed tensor can be assigned, for the items of a list, and for names that nothing reads.

    ## How the probe confirms it
    The probe compares the result with the tensor: another shape or dtype, other values, or no graph. If they are equal in every
    call, the finding is refuted.

    ## When it is not reported
    - For in-place operations, with `out=` or `inplace=True`, and for methods that are called for another effect, such as
      `backward` or `register_hook`. Discarded moves to a device are reported as TDR803.
    - If nothing uses the tensor after the statement.
    - For operations that answer a question about a tensor, such as `sum`, `argmax` or `==`, and for calls of modules.
    - For objects that are not known to be tensors.
    - In a `try`, in a test, and in a context that may catch errors or measure time.
    - In a function that reads a clock and does not train.
    - For names that a function inside, another file or `locals()` may read, that `del` deletes or that begin with `_`, and if
      the function reads the name anywhere at all.
    - For copies that do not take the place of the original: shares and classes of scores, what is computed of the output
      of a model, numbers scaled back for people, differences of two tensors, other shapes, plain copies and moves.
    - For statements that run once outside of loops and of functions with arguments: they may show what an operation does. So may
      the end of a notebook cell, which displays its value.

    ## References
    - https://docs.pytorch.org/docs/stable/tensors.html
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
    """

    code = "TDR131"
    name = "result-discarded"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES, Figure.HERE})
    only_confirms = True  # a run does not show whether a statement is there to test or to time an operation
    yields_to = frozenset(("TDR803", "TDR111", "TDR606"))

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every statement that discards a tensor computed from one that is used further."""
        lost = (each for each in trace.of(ResultLost) if each.differed or not each.calls)
        trains = bool(trace.of(Backward))
        for event in first_per_site(each for each in lost if not in_a_test(each)):
            if event.target:
                if trains or not event.alone:
                    yield self._unread(event)
                continue
            text = "the result of `{call}` is discarded: `{name}` itself does not change"
            yield self.finding(
                event.site,
                message(text, call=event.call, name=event.name),
                help=sentence(
                    "assign the result to `{name}`"
                    if event.bound
                    else "use the result, or an operation that changes `{name}` in place",
                    name=event.name,
                ),
                edits=_edits(event),
                level=Level.WARNING if _REPEATS.search(event.call) else None,  # arithmetic does the same by itself
            )

    def _unread(self, event: ResultLost) -> Finding:
        """Return the finding for a copy that nothing reads."""
        return self.finding(
            event.site,
            message("nothing reads `{target}`: `{name}` is used as it was", target=event.target, name=event.name),
            help=sentence("use `{target}` instead of `{name}`", target=event.target, name=event.name),
            trail=[] if event.read_at is None else [Step(event.read_at, "this is used instead")],
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the result was always the same as the tensor."""
        return bool(at(trace, finding.site, ResultLost))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield in how many calls the result was another than the tensor, and in what."""
        for event in at(trace, finding.site, ResultLost)[:1]:
            if event.differed:
                text = f"in {event.differed} of {count(event.calls, 'call')}, the result differs from `{event.name}`"
                yield fact(f"{text}: {event.difference}", event.differed, "times", event)
            else:
                yield fact(
                    f"the result equals `{event.name}` in {count(event.calls, 'call')}", event.calls, "times", event
                )


def _edits(event: ResultLost) -> Iterable[Edit]:
    """Return the edits that assign the result; none if that would not reach everything that uses the tensor."""
    if not event.bound:
        return ()
    if event.method:
        return (Assign(event.site),)
    one_row = "\n" not in event.call
    return (Insert(event.site, f"{event.name} = {event.call}"), Delete(event.site)) if one_row else ()
