"""Operations whose derivative is infinite at a value of their operand: is it there, or can it get there?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...watching.loss.reachable import ROW, SINGLE, can_be, stopped
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 40  # calls of one place that are looked at
WAITING = 400  # calls whose gradients have not come yet
PLACES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("sqrt", "rsqrt", "reciprocal", "log", "log2", "log10"), (0.0,)),
    "log1p": (-1.0,),
    **dict.fromkeys(("acos", "arccos", "asin", "arcsin", "atanh", "arctanh"), (1.0, -1.0)),
    **dict.fromkeys(("acosh", "arccosh"), (1.0,)),
}
POWERS = ("pow", "__pow__", "float_power")
QUOTIENTS = ("__truediv__", "div", "divide", "true_divide")
LOGARITHMS = ("log", "log2", "log10", "log1p")
DEVIATIONS = ("std", "var")
SOFTMAX = ("softmax", "log_softmax")
ONE_SIDED = ("sqrt", "rsqrt", "acosh", "arccosh", "pow")


class _Pending:
    """A call whose gradients are waited for."""

    def __init__(self, here: Here, operation: str, place: float, operand: Any, count: int) -> None:
        self.here, self.operation, self.place, self.count, self.of = here, operation, place, count, operand.numel()
        self.why = ""
        self.stopped = False
        self.derivative = ""
        self.came = self.intact = self.bad = False


class Instrument(Base):
    """Wraps roots, powers, logarithms, quotients and arc functions, and waits for gradients to come through them."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._tensor = watch.torch.Tensor
        self._looked: dict[int, int] = {}
        self._calls: list[_Pending] = []
        self._without: dict[int, _Pending] = {}
        self._told: dict[int, int] = {}
        self._finite = True
        for name in (*PLACES, *POWERS, *QUOTIENTS):
            for owner in (watch.torch, self._tensor):
                if hasattr(owner, name):
                    watch.patches.replace(owner, name, self._wrapping(name))
        watch.patches.replace(self._tensor, "__rtruediv__", self._wrapping("__rtruediv__"))
        for name in (*DEVIATIONS, *SOFTMAX):
            for owner in (watch.torch, self._tensor):
                watch.patches.replace(owner, name, self._wrapping(name))
        for name in SOFTMAX:
            watch.patches.replace(watch.torch.nn.functional, name, self._wrapping(name))

    def _wrapping(self, name: str) -> Callable[[Any], Any]:
        recorder, tensor = self.watch.recorder, self._tensor

        def wrap(original: Any) -> Any:
            def compute(*arguments: Any, **keywords: Any) -> Any:
                made = original(*arguments, **keywords)
                if isinstance(made, tensor) and made.grad_fn is not None and not recorder.quiet:
                    found = recorder.safely(self._operand, name, arguments, keywords)
                    if found is not None and self._is_plain(made) and self._is_plain(found[1]):
                        recorder.safely(self._note, made, *found)
                return made

            return compute

        return wrap

    def _is_plain(self, tensor: Any) -> bool:
        """Whether a tensor has numbers that can be read: not one of a transform, a sparse one or one without data."""
        torch = self.watch.torch
        ordinary = (
            type(tensor) in (self._tensor, torch.nn.Parameter) and not torch._C._are_functorch_transforms_active()
        )
        return ordinary and not (tensor.is_nested or tensor.is_meta) and tensor.layout == torch.strided

    def _note(self, made: Any, operation: str, operand: Any, exponent: float) -> None:
        if not operand.is_floating_point() or not operand.numel() or self.watch.recorder.rests():
            return
        here = self.watch.recorder.here()
        if operation in (*DEVIATIONS, *SOFTMAX):
            self._missing(here, operation, operand, made)
            return
        if here.frame is None or self._looked.get(here.site, 0) >= MOST or len(self._calls) >= WAITING:
            return
        self._looked[here.site] = self._looked.get(here.site, 0) + 1
        with self.watch.unwatched(), self.watch.torch.no_grad():
            call = self._examined(here, operation, operand.detach())
        node = operand.grad_fn
        if node is not None:
            why = next(
                ((why, each) for each in _places(operation) if (why := can_be(self.watch.torch, operand, each))), None
            )
            if why is not None:
                call.why = why[0]
                call.place = call.place if call.count else why[1]
            call.stopped = operation != "div" and stopped(node)
        call.derivative = self._derivative(operation, call.place, exponent, operand)
        made.register_hook(lambda gradient: self.watch.recorder.safely(self._came, call, gradient))
        if call.count and operand.requires_grad:
            operand.register_hook(lambda gradient: self.watch.recorder.safely(self._arrived, call, gradient))
        self._calls.append(call)

    def _missing(self, here: Here, operation: str, operand: Any, made: Any) -> None:
        """A deviation of one element, or a softmax with a row that is masked completely: the result is NaN."""
        if here.frame is None or self._looked.get(here.site, 0) >= MOST:
            return
        self._looked[here.site] = self._looked.get(here.site, 0) + 1
        single = operation in DEVIATIONS
        call = _Pending(here, operation, 1.0 if single else 0.0, operand, 0)
        with self.watch.unwatched():
            nan, given = made.detach().isnan(), operand.detach()
            missing = bool(nan.all() and given.isfinite().all()) if single else bool((nan & given.isneginf()).any())
            missing = missing and not bool(given.isnan().any())
        if missing:
            call.why, call.derivative = SINGLE if single else ROW, "nan"
            made.register_hook(lambda gradient: self.watch.recorder.safely(self._came, call, gradient))
            self._calls.append(call)

    def _operand(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[str, Any, float] | None:
        """The operation, the operand that decides, and the exponent; None for operations without such a value."""
        operand, number = arguments[0] if arguments else None, 1.0
        if name in POWERS:
            exponent = arguments[1] if len(arguments) > 1 else keywords.get("exponent")
            if isinstance(exponent, self._tensor):
                exponent = float(exponent.detach()) if exponent.numel() == 1 and not exponent.requires_grad else None
            if not isinstance(exponent, (int, float)) or exponent >= 1 or exponent == 0:
                return None
            name, number = ("reciprocal" if exponent == int(exponent) else "pow"), float(exponent)
        elif name in QUOTIENTS:
            operand, name = (arguments[1] if len(arguments) > 1 else None), "div"
        elif name == "__rtruediv__":
            name = "div"
        return (name, operand, number) if isinstance(operand, self._tensor) else None

    def _examined(self, here: Here, operation: str, values: Any) -> _Pending:
        """How many numbers are at a place where the derivative is infinite, or beyond it."""
        best = _Pending(here, operation, _places(operation)[0], values, 0)
        for place in _places(operation):
            there = values == place
            if operation in ONE_SIDED:
                there = values <= place
            elif operation in PLACES and operation not in (*LOGARITHMS, "reciprocal"):
                there = values.abs() >= 1 if place > 0 else there
            count = int(there.sum())
            if count > best.count:
                best = _Pending(here, operation, place, values, count)
        return best

    def _derivative(self, operation: str, place: float, exponent: float, operand: Any) -> str:
        """The derivative at a place, on a copy."""
        torch = self.watch.torch
        with self.watch.unwatched(), torch.enable_grad():
            value = torch.tensor(place, dtype=operand.dtype, requires_grad=True)
            if operation == "pow":
                made = value**exponent
            elif operation in ("div", "reciprocal"):
                made = value.reciprocal()
            else:
                made = getattr(torch, operation)(value)
            (found,) = torch.autograd.grad(made, value)
        return str(float(found))

    def _came(self, call: _Pending, gradient: Any) -> None:
        call.came = True
        if call.count:
            with self.watch.unwatched():
                call.intact = bool(gradient.isfinite().all())

    def _arrived(self, call: _Pending, gradient: Any) -> None:
        with self.watch.unwatched():
            call.bad = call.intact and not bool(gradient.isfinite().all())

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A backward pass begins: of a loss that is not finite there is nothing to tell."""
        with self.watch.unwatched():
            self._finite = all(math.isfinite(float(loss.detach().sum())) for loss in losses)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Gradients have come: write of the operations that they came through."""
        came = [call for call in self._calls if call.came]
        self._calls = [call for call in self._calls if not call.came]
        bad = self._finite and any(call.bad for call in came) and self._has_bad(got)
        for call in came:
            seen = call.count > 0 and call.bad and bad and not call.stopped
            if seen or call.why:
                self._tell(call, reached=True, count=call.count if seen else 0)
            else:
                self._without.setdefault(call.here.site, call)

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """What no gradients came through until now gets none."""
        self._calls.clear()

    def at_end(self, error: BaseException | None) -> None:
        """Of operations that were never at such a value, that they were looked at."""
        for site, call in self._without.items():
            if site not in self._told:
                self._tell(call, reached=None, count=0)

    def _has_bad(self, got: list[Any]) -> bool:
        with self.watch.unwatched():
            return any(each.grad is not None and not bool(each.grad.isfinite().all()) for each in got)

    def _tell(self, call: _Pending, *, reached: bool | None, count: int) -> None:
        """Write of a place once, and once more when numbers were there."""
        site, more = call.here.site, 2 if count else 1
        if self._told.get(site, 0) >= more:
            return
        self._told[site] = more
        recorder = self.watch.recorder
        recorder.event(
            "DerivativeInfinite",
            call.here,
            operation=call.operation,
            name=self._name(site, call.operation),
            place=call.place,
            why="" if count else call.why,
            reached=reached,
            count=count,
            of=call.of,
            derivative=call.derivative,
        )

    def _name(self, site: int, operation: str) -> str:
        """The text of the operand that decides: of a method its object, or what it is divided by."""
        recorder, call = self.watch.recorder, self.watch.recorder.call(site)
        short = recorder.caller(site).rpartition(".")[2]
        given = 0 if call is None else len(call.args) + len(call.keywords)
        method = given < (2 if short in (*POWERS, *QUOTIENTS) else 1)
        if operation == "div":
            return recorder.argument(site, 0 if method else 1)
        return recorder.owner(site) if method else recorder.argument(site, 0)


def _places(operation: str) -> tuple[float, ...]:
    return PLACES.get(operation, (0.0,))
