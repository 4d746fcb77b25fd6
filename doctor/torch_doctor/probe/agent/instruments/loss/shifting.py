"""Compares targets with the tokens that a model was given: are they those of their own places, or the next ones?"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ..copies import copied, elements
from ..instrument import Instrument as Base
from .own_losses import OwnLosses

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 2  # losses of one place that are looked at
KEPT = 4  # calls of models that are remembered
LARGEST = 50_000_000  # parameters of a model that is copied
MATRIX = 2  # dimensions of tokens: rows and places
FEWEST = 8  # targets that tell anything
FURTHEST = 2  # places that targets are ahead of
IGNORE_INDEX = 4  # its place among the arguments of the function
IGNORED = -100  # the label that models leave out which compute their loss themselves
LOSSES = frozenset(("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy"))


class Instrument(Base):
    """Remembers the tokens that models get, and looks for them among the targets of losses over classes."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._done: dict[int, int] = {}
        self._own = OwnLosses(watch)
        self._given: deque[tuple[Any, tuple[Any, ...], dict[str, Any], int]] = deque(maxlen=KEPT)
        self._now: tuple[Any, tuple[Any, ...], dict[str, Any], int] | None = None

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model gets tokens; a loss that it computes itself comes before it returns."""
        self._now = (module, arguments, keywords, -1)

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """It has answered."""
        self._now = None
        tokens = self._tokens(arguments, keywords)
        if tokens is not None:
            self._given.append((module, arguments, keywords, event))
            self._labelled(module, arguments, keywords, tokens, output, here)

    def _labelled(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], tokens: Any, output: Any, here: Here
    ) -> None:
        """A model has computed the loss of its labels: it looks ahead by as many places as these, and one more if it moves them."""
        torch, labels, loss = self.watch.torch, keywords.get("labels"), getattr(output, "loss", None)
        if not isinstance(labels, torch.Tensor) or labels.is_floating_point() or labels.dim() != MATRIX:
            return
        if self._done.get(here.site, 0) >= MOST or not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return
        if elements(self.watch, self.watch.modules.family(module).parameters) > LARGEST:
            return
        with self.watch.unwatched(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            found = _ahead(tokens, labels, IGNORED)
            if found is None:
                return
            self._done[here.site] = self._done.get(here.site, 0) + 1
            twin, given = copied(self.watch, module).eval(), copied(self.watch, (arguments, keywords))
            other = labels.clone()
            other[:, 0] = torch.where(labels[:, 0] == tokens[:, 0], tokens[:, 1], tokens[:, 0])
            one, another = (float(twin(*given[0], **{**given[1], "labels": each}).loss) for each in (labels, other))
        if one == another and bool((other != labels).any()):  # the first label is compared with nothing
            recorder = self.watch.recorder
            fields: dict[str, Any] = {
                "name": recorder.caller(here.site),
                "target": recorder.argument(here.site, len(arguments), "labels"),
                "ahead": found[0] + 1,
                "itself": True,
                "same": found[1],
                "of": found[2],
                "loss": float(loss),
            }
            self._own.say(loss, lambda: recorder.event("TokensCompared", here, **fields))

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Gradients have come back, perhaps to the loss of a model."""
        self._own.went_backward()

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed: are its targets the tokens that the model of its scores was given?"""
        if loss not in LOSSES or self._done.get(here.site, 0) >= MOST or value.numel() != 1:
            return
        scores = arguments[0] if arguments else keywords.get("input")
        target = arguments[1] if len(arguments) > 1 else keywords.get("target")
        call = self._call_behind(scores)
        if call is None or target is None or target.is_floating_point() or target.numel() < FEWEST:
            return
        module, given, named, _ = call
        tokens = self._tokens(given, named)
        ignored = keywords.get("ignore_index", arguments[IGNORE_INDEX] if len(arguments) > IGNORE_INDEX else -100)
        with self.watch.unwatched(), self.watch.torch.no_grad(), self.watch.torch.random.fork_rng(devices=[]):
            found = _ahead(tokens, target, ignored)
            if found is None:
                return
            self._done[here.site] = self._done.get(here.site, 0) + 1
            if found[0] == 0 and not self._looks_back_only(module, given, named, tokens):
                return
            shifted = self._shifted(scores, tokens) if found[0] == 0 else None
        recorder = self.watch.recorder
        recorder.event(
            "TokensCompared",
            here,
            name=recorder.caller(here.site),
            target=recorder.argument(here.site, 1, "target"),
            ahead=found[0],
            same=found[1],
            of=found[2],
            loss=float(value.detach()),
            shifted=shifted,
        )

    def _call_behind(self, scores: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any], int] | None:
        """The call of a model that gave these scores: the one that goes on, else the last one in their history."""
        if not isinstance(scores, self.watch.torch.Tensor):
            return None
        if self._now is not None:
            return self._now if self._tokens(self._now[1], self._now[2]) is not None else None
        forwards = self.watch.facts.history(scores)[0]
        return next((call for call in reversed(self._given) if call[3] in forwards), None)

    def _tokens(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The first matrix of whole numbers that a model is given."""
        for tensor in self.watch.marks.tensors((arguments, keywords)):
            if not tensor.is_floating_point() and tensor.dtype != self.watch.torch.bool and tensor.dim() == MATRIX:
                return tensor.detach()
        return None

    def _looks_back_only(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], tokens: Any) -> bool:
        """Whether another last token, of a row or of a column, changes the last scores of a copy and none before them."""
        if elements(self.watch, self.watch.modules.family(module).parameters) > LARGEST:
            return False
        twin = copied(self.watch, module).eval()
        before = self._answer(twin, arguments, keywords, tokens, tokens)
        if before is None:
            return False
        reads = False
        for dim in range(MATRIX):
            place = tokens.shape[dim] - 1
            other = tokens.clone()
            other.select(dim, place).copy_(tokens.roll(1, 1 - dim).roll(1, dim).select(dim, place))
            if bool((other == tokens).all()):
                other.select(dim, place).copy_(tokens.select(dim, 0))
            after = self._answer(twin, arguments, keywords, tokens, other)
            if after is None or place < 1:
                return False
            apart = (after - before).abs()
            if float(apart.narrow(dim, 0, place).max()) > 1e-5 * max(1.0, float(before.abs().max())):
                return False
            reads |= float(apart.select(dim, place).max()) > 0
        return reads

    def _answer(self, twin: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], tokens: Any, given: Any) -> Any:
        """The scores that a copy gives for each place of other tokens; None where its answer has other places."""
        place = next((n for n, each in enumerate(arguments) if self._is(each, tokens)), None)
        name = next((key for key, each in keywords.items() if self._is(each, tokens)), None)
        others = tuple(given if n == place else each for n, each in enumerate(arguments))
        named = {key: given if key == name and place is None else each for key, each in keywords.items()}
        self.watch.torch.manual_seed(1)
        answer = twin(*copied(self.watch, others), **copied(self.watch, named))
        for each in self.watch.marks.tensors(answer):
            if each.is_floating_point() and each.dim() == MATRIX + 1 and each.shape[:2] == tokens.shape:
                return each.detach().double()
        return None

    def _is(self, thing: Any, tokens: Any) -> bool:
        tensor = isinstance(thing, self.watch.torch.Tensor)
        return tensor and thing.shape == tokens.shape and thing.data_ptr() == tokens.data_ptr()

    def _shifted(self, scores: Any, tokens: Any) -> float | None:
        """The loss of the scores for the next tokens in each row; None where the scores are arranged otherwise."""
        rows, places = tokens.shape
        if scores.dim() != MATRIX or scores.shape[0] != rows * places:
            return None
        each = scores.reshape(rows, places, -1)[:, :-1].flatten(0, 1)
        return float(self.watch.torch.nn.functional.cross_entropy(each, tokens[:, 1:].flatten().long()))


def _ahead(tokens: Any, target: Any, ignored: Any) -> tuple[int, int, int] | None:
    """By how many places targets are ahead of tokens, how many of them are such tokens, and of how many.

    None where they are others, or where that cannot be told.
    """
    rows, places = tokens.shape
    found = []
    for wide in (tokens, tokens.T):
        rows, places = wide.shape
        for length in (places, places - 1):
            if length < 1 or target.numel() != rows * length:
                continue
            for ahead in range(FURTHEST + 1):
                if length < places and not ahead:
                    continue
                end = min(length, places - ahead)
                mine = target.reshape(rows, length) if wide is tokens or target.dim() == 1 else target.T
                if mine.shape != (rows, length) or end < 1:
                    continue
                one, other = mine[:, :end], wide[:, ahead : ahead + end].to(target.device)
                counts = one != ignored
                same, of = int(((one == other) & counts).sum()), int(counts.sum())
                if of >= FEWEST and same == of:
                    found.append((ahead, same, of))
    aheads = {ahead for ahead, _, _ in found}
    return found[0] if len(aheads) == 1 else None
