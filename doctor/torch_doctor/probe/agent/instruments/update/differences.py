"""Functions with a `backward` of their own, on copies: what it gives is compared with differences of what `forward` gives."""

from __future__ import annotations

import gc
import re
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = 8  # of the numbers, each compared by itself
WRONG = 7  # of these: where only few numbers disagree, they are kept within bounds on purpose
FAR = 0.05  # disagreement, by the larger of the two
STEP = 1e-6
CLOSE = 1e-3
TINY = 1e-9  # what is less is rounding
SAMPLE = 50_000  # numbers among which those of a result are looked for
REFUSED = re.compile(r"\bincorrect number of gradients \(expected (\d+), got (\d+)\)")
NO_NUMBERS = "it gives no floating numbers"
RANDOM = "it draws random numbers"
OTHER_NUMBERS = "it does not compute in float64"
ALIVE = "torch-doctor: alive"  # where a node keeps a mark that goes with it
INDEPENDENT = "its result does not depend on one of its inputs"


class CannotTell(Exception):  # noqa: N818 - it ends a comparison, and the reason is written
    """Nothing can be compared."""


class Wrong(Exception):  # noqa: N818 - as CannotTell
    """`backward` returns another number of gradients, or others: the fields of the event."""

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self.fields = fields


class _Mark:
    """Lives as long as what it is put on."""


class Copied:
    """A function with copies of what it was given."""

    def __init__(self, torch: Any, function: Callable[..., Any], given: list[Any]) -> None:
        self._torch = torch
        self._function = function
        self._given = given
        self._random = torch.Generator().manual_seed(0)
        self._base: list[Any] = []

    def begin(self) -> None:
        """Calls it twice: is what it gives the same, and in float64?"""
        self._base, again = self._values(self._given), self._values(self._given)
        if not self._base:
            raise CannotTell(NO_NUMBERS)
        if not all(self._torch.equal(one, other) for one, other in zip(self._base, again)):  # noqa: B905 - as many
            raise CannotTell(RANDOM)

    def kept(self) -> str:
        """The attribute by which the context keeps what `forward` gave, where the graph of a call stays for that."""
        on = gc.isenabled()
        gc.disable()
        try:
            outputs = self._outputs(self._given)
            context = outputs[0].grad_fn
            name = next((name for name, value in vars(context).items() if any(value is each for each in outputs)), "")
            mark = context.metadata[ALIVE] = _Mark()
            alive = weakref.ref(mark)
            del outputs, context, mark
            return f"ctx.{name}" if name and alive() is not None else ""
        finally:
            if on:
                gc.enable()

    def _outputs(self, given: list[Any]) -> list[Any]:
        """The tensors that it gives and that have gradients, from clones that it may change."""
        copies = [each.clone() if isinstance(each, self._torch.Tensor) else each for each in given]
        result = self._function(*copies)
        results = result if isinstance(result, tuple) else (result,)
        return [each for each in results if isinstance(each, self._torch.Tensor) and each.requires_grad]

    def _values(self, given: list[Any]) -> list[Any]:
        values = [each.detach() for each in self._outputs(given)]
        if not all(each.dtype == self._torch.float64 for each in values):
            raise CannotTell(OTHER_NUMBERS)
        return values

    def _flat(self, values: list[Any]) -> Any:
        return self._torch.cat([each.reshape(-1) for each in values]) if values else self._torch.zeros(0)

    def _moved(self, place: int, by: Any) -> Any:
        """What it gives when one of its inputs is moved, all numbers in a row."""
        given = list(self._given)
        given[place] = (given[place].detach() + by).requires_grad_(given[place].requires_grad)
        return self._flat(self._values(given))

    def _direction(self, like: Any) -> Any:
        return self._torch.randn(like.shape, generator=self._random, dtype=self._torch.float64).to(like.device)

    def matters(self, place: int) -> bool:
        """Whether what it gives depends on an input that gets no gradient; what is no floating number counts as that it does."""
        value = self._given[place]
        if isinstance(value, float):
            given = [each * 1.25 + 0.01 if number == place else each for number, each in enumerate(self._given)]
            return not self._torch.equal(self._flat(self._values(given)), self._flat(self._base))
        if not (isinstance(value, self._torch.Tensor) and value.is_floating_point() and value.numel()):
            return True
        return not self._torch.equal(self._moved(place, 0.01 * self._direction(value)), self._flat(self._base))

    def compared(self, place: int) -> bool | tuple[float, float] | None:
        """Whether a gradient is right; where it is not, the sums along one direction that differ; None where it may be any."""
        direction = self._direction(self._given[place])
        slope, smooth = self._slope(place, direction)
        if not slope.any():
            raise CannotTell(INDEPENDENT)
        if smooth.float().mean() < 0.5 or self._passes_on(slope, smooth, direction):  # noqa: PLR2004 - half of them
            return None
        weights = self._direction(slope) * smooth
        if not self._gradient(place, weights).any():
            return None  # left out on purpose
        if slope.numel() >= PARTS * 2:
            part = self._torch.arange(slope.numel(), device=slope.device) % PARTS
            pairs = [self._pair(place, slope, weights * (part == each), direction) for each in range(PARTS)]
        else:
            part = self._torch.arange(direction.numel(), device=slope.device).reshape(direction.shape) % PARTS
            moves = [direction * (part == each) for each in range(min(PARTS, direction.numel()))]
            pairs = [self._pair(place, self._slope(place, each)[0], weights, each) for each in moves]
        apart = [abs(one - other) > FAR * max(abs(one), abs(other)) for one, other in pairs]
        if sum(apart) < min(WRONG, len(apart)) or self._scaled_by_rows(place, weights):
            return True
        return pairs[apart.index(True)]

    def _slope(self, place: int, direction: Any) -> tuple[Any, Any]:
        """The differences of what it gives along a direction, and at which numbers these are no step and no bend."""
        base = self._flat(self._base)
        before, after = self._moved(place, -STEP * direction) - base, self._moved(place, STEP * direction) - base
        wide = self._moved(place, 2 * STEP * direction) - self._moved(place, -2 * STEP * direction)
        slope = (after - before) / (2 * STEP)
        apart = self._torch.maximum((after + before).abs() / STEP, (wide / (4 * STEP) - slope).abs())
        smooth = slope.isfinite() & (apart <= CLOSE * slope.abs() + STEP * (1 + base.abs()))
        return slope.nan_to_num(), smooth

    def _passes_on(self, slope: Any, smooth: Any, direction: Any) -> bool:
        """Whether each number of what it gives follows one number of the input, times the same factor, or none at all.

        It does not where a number goes to several places: its gradient is a sum.
        """
        moves = direction.reshape(-1).abs()
        moved = slope[smooth & (slope.abs() > TINY)].abs()
        if moves.numel() == slope.numel():
            ratio = (slope.abs() / moves)[smooth & (slope.abs() > TINY)]
            if not ratio.numel() or ratio.max() - ratio.min() <= CLOSE * ratio.max():
                return True
        if moves.numel() > SAMPLE or moved.numel() > moves.numel():
            return False
        among = self._torch.cat([moves.sort().values, moves.new_full((1,), float("inf"))])
        above = self._torch.searchsorted(among, moved).clamp(max=len(among) - 1)
        near = self._torch.minimum((among[above] - moved).abs(), (among[(above - 1).clamp(min=0)] - moved).abs())
        return bool((near <= 1e-7 * (1 + moved)).all())

    def _gradient(self, place: int, weights: Any) -> Any:
        """What `backward` gives an input, for such gradients of what `forward` gives."""
        leaves = [
            each.detach().requires_grad_(each.requires_grad) if isinstance(each, self._torch.Tensor) else each
            for each in self._given
        ]
        outputs = self._outputs(leaves)
        parts = weights.split([each.numel() for each in outputs])
        shaped = [part.reshape(each.shape) for part, each in zip(parts, outputs)]  # noqa: B905 - as many
        try:
            (found,) = self._torch.autograd.grad(outputs, [leaves[place]], shaped, allow_unused=True)
        except RuntimeError as error:
            refused = REFUSED.search(str(error))
            if refused is None:
                raise
            raise Wrong(inputs=int(refused[1]), gradients=int(refused[2])) from None
        return self._torch.zeros_like(leaves[place]) if found is None else found

    def _pair(self, place: int, slope: Any, weights: Any, direction: Any) -> tuple[float, float]:
        expected = float((weights * slope).sum())
        return expected, float((self._gradient(place, weights) * direction).sum())

    def _scaled_by_rows(self, place: int, weights: Any) -> bool:
        """Whether each row of a gradient has the right direction, and its own length: a step of its own for each row."""
        value = self._given[place]
        if value.dim() < 2 or len(value) < 2 or value[0].numel() < 2:  # noqa: PLR2004 - rows of several numbers
            return False
        ratios = []
        for row in range(min(len(value), PARTS)):
            for _ in range(2):
                direction = self._torch.zeros_like(value).detach()
                direction[row] = self._direction(value[row])
                expected, given = self._pair(place, self._slope(place, direction)[0], weights, direction)
                ratios.append(given / expected if expected else 0.0)
        alike = all(abs(one - other) <= CLOSE * abs(one) for one, other in zip(ratios[::2], ratios[1::2]))  # noqa: B905 - pairs
        nonzero = [each for each in ratios if each]
        return (
            alike
            and all(each > 0 for each in nonzero)
            and max(nonzero, default=0) > (1 + FAR) * min(nonzero, default=0)
        )
