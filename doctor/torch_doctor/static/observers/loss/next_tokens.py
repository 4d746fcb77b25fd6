"""Losses that compare the scores of a language model with the tokens that it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import shifting, unmasked
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables.canonical import among
from torch_doctor.static.tables.language import NEXT
from torch_doctor.static.training import cross_device
from torch_doctor.static.training.frameworks import trainers
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import Lib, Making, Method, Module, Sequence, Tensor, Unknown, Value
from torch_doctor.trace import TokensCompared

if TYPE_CHECKING:
    from collections.abc import MutableSet

    from torch_doctor.static import program as p
    from torch_doctor.static.domains.shifting import Line, Tokens
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

_LOSSES: Final = frozenset(("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy"))
_SEQUENCES: Final = frozenset(
    ("torch.nn.TransformerEncoder", "torch.nn.TransformerEncoderLayer", "torch.nn.MultiheadAttention")
)
_MASKS: Final = {"torch.nn.MultiheadAttention": ((5, "attn_mask"), (7, "is_causal"))}
_ENCODER_MASKS: Final = ((1, "mask"), (1, "src_mask"), (3, "is_causal"))


class NextTokens(
    Observer,
    invoked=(Named(Module, _LOSSES), Named(Lib, among(_LOSSES))),
    called=(Named(Module, _SEQUENCES), Named(Method, ("train",))),
    made=lambda name: name.endswith("_"),
):
    """By how many places targets are ahead of the tokens that a model was given, where nothing in it looks ahead."""

    writes = (TokensCompared,)

    _masked: MutableSet[Making] = per_path(set)
    _touched: MutableSet[Tokens] = per_path(set)
    _lines: dict[int, Line] = per_run(dict)  # by the numbers of forward events
    _put: dict[Making, Value] = per_run(
        dict
    )  # what all places but the last of a tensor were overwritten with, by how it was made

    @override
    def item_set(self, _: Run, holder: Value, key: Value, value: Value, _node: p.Node) -> None:
        """Some tokens are overwritten, perhaps with those of the next places."""
        made = holder.meta if isinstance(holder, Tensor) else None
        if isinstance(made, Making) and made not in self._touched and shifting.all_but_the_last(key):
            self._put[made] = value
        elif isinstance(made, Making):
            self._put.pop(made, None)
        self._touch(holder)

    @override
    def made(self, _: Run, __: str, call: Call, _result: Value) -> None:
        """A method changes its tensor in place."""
        if call.args:
            self._touch(call.args[0])

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Attention has got a mask, or a trainer trains a model that moves its labels by itself."""
        if isinstance(func, Method):
            given = trainers.labelled(run, func.of)
            if given is not None and given.model == NEXT and given.tokens is not None:
                self._labelled(run, call, given.tokens, given.labels, place=given.place)
            return
        name = func.layer if isinstance(func, Module) else ""
        if "**" not in call.keywords:
            masks = (call.argument(*mask) for mask in _MASKS.get(name, _ENCODER_MASKS))
            first = result.content.items[0] if isinstance(result, Sequence) and result.content.items else result
            if any(map(unmasked.is_given, masks)) and isinstance(first, Tensor) and isinstance(first.meta, Making):
                self._masked.add(first.meta)

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A model has answered: what the scores of a whole one are made of, and whether labels for its own loss were moved."""
        tokens = call.argument(0, "input_ids")
        if (
            language_models.has_loss(run, result)
            and language_models.loss_of(module) == NEXT
            and tokens is not None
            and (event := self._labelled(run, call, tokens, call.keywords["labels"], used=False)) is not None
        ):
            language_models.speaks(run, result, event)
        forward = written_forwards.last(run)
        if run.modules_called or forward is None or forward.site != run.site(call.node):
            return
        scores = [
            each for each in (result.content.items if isinstance(result, Sequence) else (result,)) if _scores(each)
        ]
        found = shifting.line(scores[0], self._masked) if len(scores) == 1 else None
        if found is not None:
            self._lines[forward.index] = found

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write how far a loss looks ahead."""
        scores, target = call.argument(0, "input"), call.argument(1, "target")
        if not isinstance(scores, Tensor) or not isinstance(target, (Tensor, Unknown)):
            return
        compared = shifting.line(target, self._masked, through=False)
        own = self._scored(scores)
        if compared is None or own is None or not own.causal:
            return
        found = shifting.ahead(own, compared, self._touched)
        if found is None or not (found[0] == 0 or (found[0] > 1 and found[1] > 1)):
            return
        given_at, model = run.of(cross_device.Meetings).outer_call if run.modules_called else (None, "")
        for forward in written_forwards.numbered(run, scores.flow.forwards)[-1:]:
            given_at, model = forward.site, forward.name
        run.emit(
            TokensCompared,
            call.node,
            name=call.name,
            target=run.text_of_argument(call.node, 1, "target"),
            ahead=found[0],
            model=model,
            given_at=given_at,
        )

    def _labelled(
        self, run: Run, call: Call, tokens: Value, labels: Value, *, used: bool = True, place: Site | None = None
    ) -> TokensCompared | None:
        """Write how far a model looks ahead that moves its labels by itself, and gets labels that had been moved.

        `place` is where the labels are written if the call that hands them to the model is not the script's.
        """
        made = labels.meta if isinstance(labels, Tensor) else None
        labels = self._put.get(made, labels) if isinstance(made, Making) else labels
        own, target = (shifting.line(each, self._masked, through=False) for each in (tokens, labels))
        found = None if own is None or target is None else shifting.ahead(own, target, self._touched)
        if found is None or found[0] <= 0:
            return None
        event: TokensCompared = run.emit(
            TokensCompared,
            call.node if place is None else place,
            name=call.name,
            target=run.text_of_argument(call.node, len(call.args), "labels"),
            ahead=found[0] + 1,
            model=call.name,
            itself=True,
            used=used,
            given_at=None if place is None else run.site(call.node),
        )
        return event

    def _scored(self, scores: Tensor) -> Line | None:
        """What scores are made of, behind the border of the model that gave them."""
        outer = shifting.line(scores, self._masked)
        if outer is None or outer.causal:
            return outer
        number = max((each for each in scores.flow.forwards if each in self._lines), default=None)
        inner = None if number is None else self._lines[number]
        ends = [start for tokens, start in outer.starts.items() if isinstance(tokens, Tensor)]
        if inner is None or len(ends) != 1:
            return None
        moved = {tokens: (start + ends[0][0], cuts + ends[0][1]) for tokens, (start, cuts) in inner.starts.items()}
        return shifting.Line(moved, inner.causal, inner.cut or outer.cut)

    def _touch(self, value: Value) -> None:
        made = value.meta if isinstance(value, Tensor) else None
        if isinstance(made, Making) and made.name == "clone":
            self._touched.add(made)  # and not what it is a copy of
            return
        found = shifting.line(value, self._masked, through=False)
        self._touched |= set(found.starts if found is not None else (value,))


def _scores(value: Value) -> bool:
    return isinstance(value, Tensor) and value.flow.graph is not False
