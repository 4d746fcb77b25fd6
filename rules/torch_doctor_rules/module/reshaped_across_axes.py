"""TDR317: a reshape hands elements to other dimensions than those that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import LossCalled, Reshaped, ReshapedAlike, Trace
from torch_doctor.trace.amounts import amount, crossed, kept_order
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.loss_inputs import ELEMENTWISE
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace.amounts import Amount

HELP = "bring the dimensions into that order first (transpose or permute), then merge or split neighbours"


class ReshapedAcrossAxes(Rule):
    """A `view` or `reshape` is used where the dimensions have to change places.

    ## Why is this bad?
    `view` and `reshape` leave all elements in the order in which they are stored, and only divide them in another way. They
    can merge neighbouring dimensions and split one. They cannot move a dimension: if they get its size in another place,
    elements of different channels, steps, heads or samples end up in the same row. The sizes fit, no error is raised, and
    the loss falls, because the model learns from whatever is left of the input.

    From a feature map of `[B, C, H, W]`, both of these give `[B, H * W, C]`:

    - `view(B, H * W, C)`: each row has C neighbouring pixels of one channel.
    - `flatten(2).transpose(1, 2)`: `[B, C, H * W]` is the step between, and each row has the C channels of one pixel.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(1, 6, 3)
            self.head = nn.Linear(6, 3)

        def forward(self, pictures):
            x = self.stem(pictures)
            b, c, h, w = x.shape
            return self.head(x.view(b, h * w, c)).mean(dim=1)

    net = Net()
    data = TensorDataset(torch.randn(64, 1, 8, 10), torch.randint(0, 3, (64,)))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters())
    for pictures, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(pictures), labels).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             b, c, h, w = x.shape
    -        return self.head(x.view(b, h * w, c)).mean(dim=1)
    +        return self.head(x.flatten(2).transpose(1, 2)).mean(dim=1)
    ```

    ## How the probe confirms it
    It compares the sizes before and after the reshape: those after it are the sizes of dimensions before, or products or
    factors of one of them, in another order. The finding is refuted if all dimensions differ in size and none changes
    its place.

    ## When it is not reported
    - The sizes are unknown, or fit the dimensions in their order as well: a square image, as many steps as features.
    - The elements are random numbers, or a loss compares two tensors element by element that were reshaped alike.
    - The reshape undoes one that is reported, or another one takes it back before anything is computed (relative shifts).
    - Constants were just put beside the elements (`pad`, or `cat` with zeros), which shifts them on purpose.
    - One of the dimensions may have a single element: what a convolution leaves of an image, what is repeated, nobody knows
      how often, or what a test says (`if steps == 1`).

    ## References
    - https://docs.pytorch.org/docs/stable/tensor_view.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html
    - https://docs.pytorch.org/docs/stable/generated/torch.permute.html
    """

    code = "TDR317"
    name = "reshaped-across-axes"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every reshape whose sizes are those of dimensions in another order."""
        alike = {
            index
            for event in trace.of(ReshapedAlike)
            if event.restored or _elementwise(trace, event)
            for index in event.reshaped
        }
        for event in first_per_site(e for e in trace.of(Reshaped) if e.index not in alike and _moved(e)):
            sizes = f"{_shown(event.before)} as {_shown(event.after)}"
            text = "`{name}` reads {sizes} without moving elements"
            yield self.finding(event.site, message(text, name=event.name, sizes=sizes), help=HELP)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether a tensor came there, and all its dimensions stayed where they were."""
        found = at(trace, finding.site, Reshaped)
        if any(map(_keeps_places, found)):
            return True
        return "the sizes in this run do not show which dimension is which" if found else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Which dimensions changed places, by the sizes before and after."""
        for event in sorted(at(trace, finding.site, Reshaped), key=_moved, reverse=True)[:1]:
            moved = _moved(event)
            sizes = f"{_shown(event.before)} becomes {_shown(event.after)}"
            yield fact(f"{moved} groups of dimensions in another order: {sizes}", moved, "groups", event)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as all rules
        """No: only the source shows that one size was meant for another dimension."""
        return False


def _elementwise(trace: Trace, event: ReshapedAlike) -> bool:
    return any(loss.site == event.site and loss.loss in ELEMENTWISE for loss in trace.of(LossCalled))


def _moved(event: Reshaped) -> int:
    """Into how many groups a reshape divides the dimensions, of which some change places; 0 where that is not certain."""
    if event.meant:
        return len(event.meant)
    meant = crossed(_amounts(event.before), _amounts(event.after))
    return len(meant.groups) if meant is not None else 0


def _keeps_places(event: Reshaped) -> bool:
    """Whether each dimension is still there, alone, split, or merged with its neighbours, and no other has its size."""
    sizes = event.before
    pieces = kept_order(_amounts(sizes), _amounts(event.after))
    return len({*sizes}) == len(sizes) and 1 not in sizes and pieces == max(len(sizes), len(event.after))


def _amounts(sizes: tuple[int | str, ...]) -> list[Amount]:
    return [amount(size) for size in sizes]


def _shown(sizes: tuple[int | str, ...]) -> str:
    return f"[{', '.join(map(str, sizes))}]"
