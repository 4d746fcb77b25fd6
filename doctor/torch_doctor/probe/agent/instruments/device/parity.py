"""Does a model answer on the GPU as it does on the CPU? One tiny step of a copy of it, on both."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ...stand_ins.cuda.devices import needed
from ..copies import duplicate
from ..instrument import Instrument as Base
from ..parts import tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...scopes import Here
    from ...watching.watch import Watch

ROWS = 4  # of each tensor that is as long as the batch
LARGEST = 50_000_000  # parameters of a model that is copied
MOST = 3  # models that are compared
TOLERANCES = {"float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
"""Relative and absolute, as in `torch.testing.assert_close`."""


class Difference(NamedTuple):
    """The largest between two numbers of two answers, what was `allowed` for it, and how many numbers differ too much."""

    largest: float
    allowed: float
    elements: int


class Instrument(Base):
    """Compares each model once, at its first forward; without a GPU it does nothing."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        there = not watch.recorder.plan.get("pretend") and not needed(watch.torch, watch.recorder.plan)
        self._devices = ("cpu", "cuda:0") if there and watch.torch.cuda.is_available() else ()
        self._done: set[int] = set()

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A forward is about to run: its model and its inputs are copied as they are now, to both devices."""
        if not self._devices or id(module) in self._done or len(self._done) >= MOST:
            return
        self._done.add(id(module))
        parameters = self.watch.modules.family(module).parameters
        if not parameters or sum(each.numel() for each in parameters) > LARGEST:
            return
        with self.watch.unwatched():
            found = compared(self.watch.torch, module, arguments, keywords, self._devices)
        if found is not None:
            recorder = self.watch.recorder
            recorder.event(
                "DevicesDiffer",
                here,
                module=recorder.references.number(module),
                name=recorder.caller(here.site),
                largest=found.largest,
                allowed=found.allowed,
                elements=found.elements,
            )


def compared(
    torch: Any, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], devices: Sequence[Any]
) -> Difference | None:
    """How far the answers of copies of a module on two devices are apart; None where they agree, or nobody can tell.

    In evaluation mode, in float32 without TF32. Where another answer comes with other random numbers, nothing is told, nor
    where the answers in float64 agree: that is rounding.
    """
    given = _first_rows(torch, (arguments, keywords))
    first, second = (_answer(torch, module, given, device, torch.float32) for device in devices)
    found = difference(torch, first, second, "float32")
    if found is None:
        return None
    drawn = _answer(torch, module, given, devices[0], torch.float32, seed=1)
    if drawn is None or difference(torch, first, drawn, "float32") is not None:
        return None
    first, second = (_answer(torch, module, given, device, torch.float64) for device in devices)
    return found if difference(torch, first, second, "float64") is not None else None


def difference(torch: Any, first: list[Any] | None, second: list[Any] | None, dtype: str) -> Difference | None:
    """How far two answers are apart, beyond what is allowed; None where they are not, or are not of one form."""
    relative, absolute = TOLERANCES[dtype]
    if first is None or second is None or [each.shape for each in first] != [each.shape for each in second]:
        return None
    worst: Difference | None = None
    for one, other in zip(first, second):  # noqa: B905 - of one length, see above
        apart = (one - other).abs()
        allowed = absolute + relative * other.abs()
        wrong = (apart > allowed) & torch.isfinite(apart)
        count = int(wrong.sum())
        if count:
            at = int(torch.where(wrong, apart, torch.zeros_like(apart)).argmax())
            largest = Difference(float(apart.flatten()[at]), float(allowed.flatten()[at]), count)
            worst = largest if worst is None or largest.largest > worst.largest else worst
    return worst


def _answer(torch: Any, module: Any, given: Any, device: Any, dtype: Any, seed: int = 0) -> list[Any] | None:
    """The numbers that a copy on a device answers with, brought back; None where it cannot run there."""

    def put(thing: Any) -> Any:
        if not isinstance(thing, torch.Tensor):
            return thing
        return thing.detach().to(device=device, dtype=dtype if thing.is_floating_point() else thing.dtype)

    try:
        with torch.no_grad(), _exact(torch):
            torch.manual_seed(seed)
            twin = duplicate(torch, module).eval().to(dtype).to(device)
            arguments, keywords = torch.utils._pytree.tree_map(put, duplicate(torch, given))
            output = twin(*arguments, **keywords)
    except Exception:  # noqa: BLE001 - whatever keeps it from running there is told by others
        return None
    answers = [each.detach().to("cpu", torch.float64) for each in tensors(output) if each.is_floating_point()]
    return answers or None


def _first_rows(torch: Any, given: Any) -> Any:
    """The same arguments, of a few rows where all tensors are equally long."""
    sizes = {each.shape[0] if each.dim() else 0 for each in tensors(given)}
    if len(sizes) != 1 or 0 in sizes:
        return given
    return torch.utils._pytree.tree_map(lambda thing: thing[:ROWS] if isinstance(thing, torch.Tensor) else thing, given)


@contextmanager
def _exact(torch: Any) -> Iterator[None]:
    """No TF32, no autocast, and random numbers are drawn on the side."""
    precision = torch.get_float32_matmul_precision()
    gpus = [0] if torch.cuda.is_initialized() else []
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=gpus))
        stack.enter_context(torch.backends.cudnn.flags(allow_tf32=False, deterministic=True, benchmark=False))
        for kind in ("cpu", *(["cuda"] if gpus else [])):
            stack.enter_context(torch.autocast(kind, enabled=False))
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)
