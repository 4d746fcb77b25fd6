"""TDR209: the constructor of a loss gets the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Construct, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import LossBuilt, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, fact, number
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

GIVEN = claims.TENSOR_SETTINGS


class LossModuleGivenTensors(Rule):
    """The prediction and the targets are passed to the constructor of a loss.

    ## Why is this bad?
    `nn.CrossEntropyLoss` is a class. Its constructor takes settings such as class weights and a reduction. If it gets
    the batch instead, no loss is computed. The constructor raises an error about the truth value of a tensor, or
    returns a module, which has no value and no `backward()`.

    ## Example
    ```python
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for _ in range(10):
        inputs, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))
        loss = nn.CrossEntropyLoss(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    +criterion = nn.CrossEntropyLoss()
    ...
         inputs, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))
    -    loss = nn.CrossEntropyLoss(model(inputs), labels)
    +    loss = criterion(model(inputs), labels)
         optimizer.zero_grad()
    ```

    ## How the probe confirms it
    It counts the tensors that the constructor gets in place of flags and numbers.

    ## When it is not reported
    - The tensors are weights (`weight`, `pos_weight`, also as positional arguments).
    - It is unknown whether the arguments are tensors.
    - The loss belongs to the project or to another library.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/nn.html#loss-functions
    """

    code = "TDR209"
    name = "loss-module-given-tensors"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.LOSS})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every construction that gets the batch, or whose result is used as the loss's value."""
        for built in first_per_site(e for e in trace.of(LossBuilt) if _wrong(e)):
            trail = [Step(forward.site, "the model computes its output here") for forward in trace.at(*_behind(built))]
            if not built.given and built.used_at is not None:
                trail.append(Step(built.used_at, "the loss module is used as a value here"))
            yield self.finding(
                built.site,
                message("the constructor of `{name}` gets the batch: no loss is computed", name=built.name),
                help="construct the loss first, then call it with the predictions and the targets",
                trail=trail,
                edits=[Construct(built.site)] if built.given else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was constructed there, and got settings alone."""
        return bool(at(trace, finding.site, LossBuilt))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many tensors the constructor got."""
        found = at(trace, finding.site, LossBuilt)
        for built in [e for e in found if _wrong(e)][:1] or found[:1]:
            given = int(number(trace, GIVEN, built) or len(built.given))
            yield fact(f"its constructor gets {count(given, 'tensor')} in place of settings", given, "tensors", built)


def _wrong(built: LossBuilt) -> bool:
    return bool(built.given) or (built.doubtful > 1 and built.used_at is not None)


def _behind(built: LossBuilt) -> list[int]:
    """The last forward whose output was given."""
    return sorted({number for fact in built.given for number in fact.forwards})[-1:]
