"""Runs copies of models on batches whose padding is another one: do the outputs for the sequences themselves change?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import chance
from ..copies import copied, elements
from ..instrument import Instrument as Base
from .cut import Cut
from .padded import MATRIX, ending, padded_in

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 2  # forwards of one place that are repeated
LARGEST = 50_000_000  # parameters of a model that is copied
LAYERS, EMBEDDINGS, INPUTS = PLACES = "layers", "embeddings", "inputs"
"""Where the padding is changed: what layers get that read whole sequences, else what embeddings give, else what the model gets."""


class Instrument(Base):
    """Changes what layers that read whole sequences get at padded places, in a copy of the model."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._done: dict[int, int] = {}
        self._padded = padded_in(watch)

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is about to get padded sequences: copies of it run with their padding as it is, and with another."""
        if self._done.get(here.site, 0) >= MOST:
            return
        behind = self._behind(module, (arguments, keywords))
        parameters = self.watch.modules.family(module).parameters
        if behind is None or not parameters or elements(self.watch, parameters) > LARGEST:
            return
        self._done[here.site] = self._done.get(here.site, 0) + 1
        torch = self.watch.torch
        with self.watch.unwatched(), torch.no_grad(), chance.undisturbed(torch):
            for place in PLACES:
                first, met = self._answer(module, (arguments, keywords), behind, place, other=False)
                if met:
                    break
            else:
                return
            second, _ = self._answer(module, (arguments, keywords), behind, place, other=True)
            if len(first) != len(second) or not first:
                return
            apart = [self._apart(one, another, behind) for one, another in zip(first, second)]  # noqa: B905 - of one length
        one, another = max(apart, key=lambda pair: abs(pair[1] - pair[0]))
        reads = self._differ(one, another)
        decided = reads or self._as_alone(module, (arguments, keywords), behind, first)
        recorder = self.watch.recorder
        rows, steps = behind.shape
        recorder.event(
            "PaddingRead",
            here,
            name=recorder.caller(here.site).removesuffix(".forward"),
            reads=reads if decided else None,
            positions=int(behind.sum()),
            first=one,
            second=another,
            alone=place == LAYERS
            and len(first) == 1
            and first[0].shape[0] == rows
            and not (first[0].dim() > 1 and first[0].shape[1] == steps),
        )

    @staticmethod
    def _differ(one: float, another: float) -> bool:
        """Whether two answers are further apart than rounding explains."""
        return abs(another - one) > 1e-5 * max(1.0, abs(one))

    def _as_alone(self, module: Any, given: Any, behind: Any, answers: list[Any]) -> bool:
        """Whether the shortest sequence gets the same answers without its padding.

        Other numbers do not show what a mean makes of padding that it gets from elsewhere, or only counts.
        """
        torch = self.watch.torch
        cut = Cut(torch, behind)
        try:
            with self.watch.unwatched(), torch.no_grad(), chance.undisturbed(torch):
                chance.seed(torch, 1)
                arguments, keywords = cut.inputs(copied(self.watch, given))
                alone = self._floats(copied(self.watch, module).eval()(*arguments, **keywords))
                pairs = list(zip(map(cut.answer, answers), alone, strict=True))
        except Exception:  # noqa: BLE001 - the model takes no shorter sequences, or other inputs tell of the padding
            return False
        return all(
            one is not None and one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-4)
            for one, other in pairs
        )

    def _floats(self, answer: Any) -> list[Any]:
        """The tensors in an answer that may depend on padding bit by bit."""
        return [each.detach() for each in self.watch.marks.tensors(answer) if each.is_floating_point() and each.dim()]

    def _tables(self, twin: Any, *, every: bool) -> set[Any]:
        """The embeddings in pretrained models of `transformers`, whose layers attend to all tokens that no mask leaves out.

        `every`: those of other models, too.
        """
        embedding = self.watch.torch.nn.Embedding
        models = [twin] if every else self._pretrained(twin)
        return {each for part in models for each in part.modules() if isinstance(each, embedding)}

    @staticmethod
    def _pretrained(module: Any) -> list[Any]:
        """The parts of a model whose classes are those of `transformers`."""
        return [part for part in module.modules() if type(part).__module__.startswith("transformers.")]

    def _behind(self, module: Any, given: Any) -> Any:
        """Where the sequences among the arguments have ended, a row for each; None where none of them is padded."""
        for tensor in self.watch.marks.tensors(given):
            behind = self._padded.of(tensor)
            if behind is not None and bool(behind.any()):
                return behind
        for part in self._pretrained(module):
            fill = getattr(getattr(part, "config", None), "pad_token_id", None)
            if not isinstance(fill, int):
                continue
            for tensor in self.watch.marks.tensors(given):
                if (
                    tensor.dtype == self.watch.torch.int64
                    and tensor.dim() == MATRIX
                    and bool((tensor[:, -1] == fill).any())
                ):
                    return ending(tensor.detach().cpu(), fill)
        return None

    def _answer(self, module: Any, given: Any, behind: Any, place: str, *, other: bool) -> tuple[list[Any], int]:
        """What a copy in evaluation mode answers, and how many tensors were met whose padding is changed at such a place."""
        torch = self.watch.torch
        reading = (
            torch.nn.RNNBase,
            torch.nn.MultiheadAttention,
            torch.nn.TransformerEncoderLayer,
            torch.nn.TransformerDecoderLayer,
        )
        twin = copied(self.watch, module).eval()
        met: list[Any] = []

        def before(layer: Any, arguments: tuple[Any, ...]) -> Any:
            first = bool(
                getattr(layer, "batch_first", getattr(getattr(layer, "self_attn", None), "batch_first", False))
            )
            changed = [self._changed(each, behind, met, batch_first=first, other=other) for each in arguments]
            return tuple(changed)

        def after(_: Any, __: tuple[Any, ...], embedded: Any) -> Any:
            return self._changed(embedded, behind, met, batch_first=True, other=other)

        for part in twin.modules() if place == LAYERS else ():
            if isinstance(part, reading):
                part.register_forward_pre_hook(before)
        for table in self._tables(twin, every=place == EMBEDDINGS) if place != INPUTS else ():
            table.register_forward_hook(after)
        chance.seed(torch, 1)
        arguments, keywords = copied(self.watch, given)
        if place == INPUTS:
            arguments = tuple(self._changed(each, behind, met, batch_first=True, other=other) for each in arguments)
        answer = twin(*arguments, **keywords)
        return self._floats(answer), len(met)

    def _changed(self, value: Any, behind: Any, met: list[Any], *, batch_first: bool, other: bool) -> Any:
        """An argument of such a layer, with other numbers where it is padding; one that is packed or nested has no such places."""
        torch = self.watch.torch
        packed = isinstance(value, torch.nn.utils.rnn.PackedSequence)
        if packed or (isinstance(value, torch.Tensor) and value.is_nested):
            met.append(True)
            return value
        where = behind if batch_first else behind.T
        whole = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() == where.dim() + 1
        if not whole or value.shape[:2] != where.shape:
            return value
        met.append(True)
        if not other:
            return value
        signs = 1 - 2 * (
            torch.arange(value.shape[-1], device=value.device) % 2
        )  # a layer norm takes away what all features share
        return value + (where[..., None] * signs.cpu()).to(value)

    def _apart(self, one: Any, another: Any, behind: Any) -> tuple[float, float]:
        """Two answers where they are furthest apart, places of padding left out."""
        if one.shape != another.shape or not one.numel():
            return 0.0, 0.0
        away = (another.double() - one.double()).abs().nan_to_num(nan=0.0)
        for where in (behind, behind.T):
            if one.dim() > 1 and one.shape[:2] == where.shape:
                away = away.masked_fill(where.reshape(*where.shape, *[1] * (one.dim() - 2)).to(away.device), 0.0)
            elif one.shape[0] == where.numel():
                away = away.masked_fill(where.reshape(-1, *[1] * (one.dim() - 1)).to(away.device), 0.0)
        at = int(away.argmax())
        return float(one.flatten()[at]), float(another.flatten()[at])
