"""Changes one input of a model that is trained on the next one, on copies of the model: do earlier outputs change?"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import chance
from ..copies import copied, elements
from ..instrument import Instrument as Base
from . import influence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

LARGEST = 50_000_000  # parameters of a model that is copied
MOST = 2_000_000  # numbers of an input that is compared with targets
KEPT = 4  # calls of models that are remembered
FEWEST = 8  # targets that tell anything
SHORTEST = 3  # places of a sequence
IGNORED = -100
BATCHED = 3  # dimensions of sequences in a batch
LOSSES = frozenset(("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"))
CLASSES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
}


class _Call(NamedTuple):
    """A call of a model; `event` is -1 while it goes on."""

    module: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    event: int


class _Next(NamedTuple):
    """Which tensor of a call the targets are one place ahead of, along which dimension, and which of them count."""

    number: int
    tensor: Any
    dim: int
    counts: Any


class Instrument(Base):
    """Looks for losses whose targets are the inputs one place later."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._done: set[int] = set()
        self._given: deque[_Call] = deque(maxlen=KEPT)
        self._now: _Call | None = None

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is called; a loss that it computes itself comes before it returns."""
        self._now = _Call(module, arguments, keywords, -1)

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """It has answered."""
        self._now = None
        self._given.append(_Call(module, arguments, keywords, event))

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed: are its targets the inputs one place later?"""
        short = loss.rpartition(".")[2]
        name = CLASSES.get(short, short)
        scores = arguments[0] if arguments else keywords.get("input")
        target = arguments[1] if len(arguments) > 1 else keywords.get("target")
        if name not in LOSSES or here.site in self._done or not getattr(value, "requires_grad", False):
            return
        call = self._call_behind(scores)
        if call is None or scores is None or target is None or not FEWEST <= target.numel() <= MOST:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad(), chance.undisturbed(self.watch.torch):
            found = list(self._next(call, target.detach(), keywords.get("ignore_index", IGNORED)))
            if not found or elements(self.watch, self.watch.modules.family(call.module).parameters) > LARGEST:
                return
            self._done.add(here.site)
            tried = [self._tried(call, each, scores.shape) for each in found]
        seen = None if None in tried else min(tried, key=lambda each: each[0])  # type: ignore[index]
        if seen is None:
            return
        many, of, step = seen
        how = "" if not many else "other" if step is None else influence.KINDS.get(step.name, "other")
        self.watch.recorder.event(
            "FutureSeen",
            here,
            site=step.site if many and step is not None and step.site else here.site,
            name="" if step is None else step.name,
            how=how,
            loss_at=here.site,
            changed=many,
            of=of,
        )

    def _call_behind(self, scores: Any) -> _Call | None:
        """The call of a model that gave these scores: the one that goes on, else the last one in their history."""
        if not isinstance(scores, self.watch.torch.Tensor):
            return None
        if self._now is not None:
            return self._now
        forwards = self.watch.facts.history(scores)[0]
        return next((call for call in reversed(self._given) if call.event in forwards), None)

    def _next(self, call: _Call, target: Any, ignored: Any) -> Iterator[_Next]:
        """The inputs that the targets are one place ahead of."""
        for number, tensor in enumerate(self.watch.marks.tensors((call.arguments, call.keywords))):
            if tensor.dim() > 1 and tensor.numel() <= MOST and tensor.is_floating_point() == target.is_floating_point():
                for dim in (1, 0):
                    counts = _counted(tensor.detach(), target, dim, ignored)
                    if counts is not None:
                        yield _Next(number, tensor, dim, counts)
                        break

    def _tried(self, call: _Call, found: _Next, shape: Any) -> tuple[int, int, influence.Ran | None] | None:
        """What `_seen` says of the model as it trains; where norms mix samples or chance decides, in evaluation mode."""
        norms = self.watch.torch.nn.modules.batchnorm._NormBase
        mixes = any(isinstance(part, norms) for part in call.module.modules())
        seen = None if mixes else self._seen(call, found, shape, training=True)
        return self._seen(call, found, shape, training=False) if seen is None else seen

    def _seen(
        self, call: _Call, found: _Next, shape: Any, *, training: bool
    ) -> tuple[int, int, influence.Ran | None] | None:
        """In how many samples outputs change with a later input, of how many, and the step where the change comes to them."""
        places = found.tensor.shape[found.dim]
        twin = copied(self.watch, call.module)
        twin = twin if training else twin.eval()
        steps, before = self._run(twin, call, found, None, shape)
        again = self._run(twin, call, found, None, shape)[1]
        if any(not self.watch.torch.equal(one, other) for one, other in zip(before, again)):  # noqa: B905 - of one model
            return None
        many = of = 0
        step = None
        for place in (places - 1, places // 2):
            others, after = self._run(twin, call, found, place, shape)
            one, other = (_by_place(each, found) for each in (before, after))
            if one is None or other is None or one.shape != other.shape or not bool(one.isfinite().all()):
                return None
            early = influence.changed(one, other)[:, :place].flatten(2).any(2)
            counts = found.counts[:, :place].to(one.device)
            rows = (early & counts).any(1)
            many, of = many + int(rows.sum()), of + int(counts.any(1).sum())
            if place == places - 1 and bool(rows.any()):
                step = influence.crossing(steps, others, place, len(rows))
        return (many, of, step) if of else None

    def _run(
        self, twin: Any, call: _Call, found: _Next, place: int | None, shape: Any
    ) -> tuple[list[influence.Ran], Any]:
        """What a copy computes, with another input at a place: the steps, and the scores."""
        arguments, keywords = copied(self.watch, (call.arguments, call.keywords))
        if place is not None:
            tensor = list(self.watch.marks.tensors((arguments, keywords)))[found.number]
            whole = found.tensor.detach().clone()
            whole.select(found.dim, place).copy_(_another(whole, found.dim, place))
            tensor.data = whole  # others that share its memory stay as they are
        steps, scores = list[influence.Ran](), list[Any]()
        chance.seed(self.watch.torch, 1)
        with influence.followed(self.watch, LOSSES, steps, scores):
            answer = copied(self.watch, twin)(*arguments, **keywords)
        if call.event < 0:
            return steps, [each for each in scores if each.shape == shape]
        return steps, [each.detach() for each in self.watch.marks.tensors(answer) if each.is_floating_point()]


def _counted(tensor: Any, target: Any, dim: int, ignored: Any) -> Any:
    """Which targets count, where each is the input of the next place; None where they are something else."""
    rows = tensor.movedim(dim, 1)
    many, places, rest = rows.shape[0], rows.shape[1], tuple(rows.shape[2:])
    if places < SHORTEST:
        return None
    for length in (places, places - 1):
        wanted = (many, length, *rest)
        if target.shape == wanted or (target.dim() > 1 and dim == 0 and target.movedim(0, 1).shape == wanted):
            mine = target.movedim(dim, 1)
        elif target.numel() == rows[:, :length].numel() and target.dim() == 1:
            mine = target.reshape(wanted) if dim == 1 else target.reshape(length, many, *rest).movedim(0, 1)
        else:
            continue
        if mine.shape != wanted:
            continue
        end = places - 1
        one, other, own = mine[:, :end], rows[:, 1:].to(target.device), rows[:, :end].to(target.device)
        counts = one != ignored
        if int(counts.sum()) >= FEWEST and bool((one == other)[counts].all()) and bool((one != own)[counts].any()):
            return counts.reshape(many, end, -1).all(2)
    return None


def _another(tensor: Any, dim: int, place: int) -> Any:
    """Other numbers for a place, which are there at another one."""
    own = tensor.select(dim, place)
    result = own.clone()
    for other in range(tensor.shape[dim]):
        same = (result == own).reshape(result.shape[0], -1).all(1)
        if other != place and bool(same.any()):
            result[same] = tensor.select(dim, other)[same]
    return result


def _by_place(answers: list[Any], found: _Next) -> Any:
    """The outputs by sample, place and feature; None where none is arranged as the input is."""
    tensor, dim = found.tensor, found.dim
    many, places = tensor.shape[1 - dim], tensor.shape[dim]
    for each in answers:
        for length in (places, places - 1):
            rows = (many, length) if dim == 1 else (length, many)
            if tuple(each.shape[:2]) == rows:
                return each.movedim(dim, 1).unsqueeze(-1)
            if each.dim() == BATCHED and dim == 1 and each.shape[0] == many and each.shape[2] == length:
                return each.movedim(2, 1)
            if each.dim() < BATCHED and each.shape[0] == many * length:
                return each.reshape(*rows, -1).movedim(dim, 1)
    return None
