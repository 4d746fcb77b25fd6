"""Losses that compare with the next elements what a model computed while it saw them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import attending, foresight, unmasked
from torch_doctor.static.domains.attending import ATTENTION, Mixing, Seeing
from torch_doctor.static.domains.axes import Sizes, comparing
from torch_doctor.static.domains.axes.origins import At
from torch_doctor.static.domains.domain import Written
from torch_doctor.static.measuring import size_at
from torch_doctor.static.measuring.layers import given
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.module.mixed_rows import BATCH_FIRST, layer_of
from torch_doctor.static.state import per_run
from torch_doctor.static.training import cross_device
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import Const, Making, Module, Sequence, Tensor, Unknown, Value
from torch_doctor.trace import FutureSeen

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

_ENCODER: Final = ((1, "mask"), (1, "src_mask"), (3, "is_causal"))
_DECODER: Final = ((2, "tgt_mask"), (6, "tgt_is_causal"))
_MASKS: Final = {
    "torch.nn.MultiheadAttention": (0, "query", ((5, "attn_mask"), (7, "is_causal"))),
    "torch.nn.TransformerEncoderLayer": (0, "src", _ENCODER),
    "torch.nn.TransformerEncoder": (0, "src", _ENCODER),
    "torch.nn.TransformerDecoderLayer": (0, "tgt", _DECODER),
    "torch.nn.TransformerDecoder": (0, "tgt", _DECODER),
    "torch.nn.Transformer": (1, "tgt", ((3, "tgt_mask"), (9, "tgt_is_causal"))),
}
"""For each layer with attention: the argument whose places see each other, and those that say which they do not see."""
_RECURRENT: Final = {"torch.nn.RNN": 7, "torch.nn.LSTM": 6, "torch.nn.GRU": 6}
"""Where `bidirectional` is among the arguments of recurrent layers."""
_CONVOLUTION: Final = "torch.nn.Conv1d"
_WEIGHTS: Final = frozenset(("softmax", ATTENTION))
_RANK: Final = 3
_PAIR: Final = 2


class FutureLeaks(Observer, made=lambda name: name.rpartition(".")[2] in _WEIGHTS):
    """Collects what lets places see later ones, and asks at each loss whether its targets are such places."""

    writes = (FutureSeen,)

    _layers: dict[Making, Mixing] = per_run(dict)  # by how the output is made
    _softmaxes: dict[Making, tuple[Site, str]] = per_run(dict)

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A layer of torch was called."""
        if module.cls is not None or module.layer not in _LAYERS or "**" in call.keywords:
            return
        output = result.content.items[0] if isinstance(result, Sequence) and result.content.items else result
        made = comparing.made_of(output)
        if made is None:
            return
        if module.layer == "torch.nn.Softmax":
            self._softmaxes[made] = run.site(call.node), run.text(call.node)
            return
        found = _of_layer(module, call)
        if found is not None:
            value, place, how = found
            at = At(value, place, _RANK)
            self._layers[made] = Mixing(run.site(call.node), run.text(call.node), how, value, (at,))

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """Attention as a function, or a softmax, which may be a part of it."""
        made = comparing.made_of(result)
        if made is None:
            return
        if made.name == "softmax":
            self._softmaxes[made] = run.site(call.node), run.text(call.node)
        elif made.name == ATTENTION and "**" not in call.keywords:
            query, key, value = (call.argument(n, each) for n, each in enumerate(("query", "key", "value")))
            masks = call.argument(3, "attn_mask"), call.argument(5, "is_causal")
            if query is None or key is None or value is None or any(map(unmasked.is_given, masks)):
                return
            if attending.related(query, key) and attending.related(query, value):
                along = tuple(At(each, -2, None) for each in (query, key))
                self._layers[made] = Mixing(run.site(call.node), run.text(call.node), "attention", value, along)

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """Write what scores see of the elements that they are compared with."""
        if len(values) < _PAIR or not (self._layers or self._softmaxes):
            return
        scores, target = values[:_PAIR]
        if not isinstance(scores, Tensor) or not isinstance(target, (Tensor, Unknown)) or scores.flow.graph is False:
            return
        seeing = Seeing(self._layers, self._softmaxes, frozenset(run.of(Written).made), partial(run.ask, Sizes))
        for step in foresight.leaks(scores, target, seeing):
            model = run.of(cross_device.Meetings).outer_call[1] if run.modules_called else ""
            for forward in written_forwards.numbered(run, scores.flow.forwards)[-1:]:
                model = forward.name
            run.emit(FutureSeen, step.site, name=step.name, how=step.how, model=model, loss_at=run.site(node))


_LAYERS: Final = _MASKS.keys() | _RECURRENT.keys() | {_CONVOLUTION, "torch.nn.Softmax"}


def _of_layer(module: Module, call: Call) -> tuple[Value, int, str] | None:
    """What a layer gets whose places then see later ones, the dimension of these, and how they do; None for other layers."""
    if module.layer == _CONVOLUTION:
        value = call.argument(0, "input")
        return (value, -1, "convolution") if value is not None and _looks_to_both_sides(module) else None
    place = _along(module)
    if place is None:
        return None
    if module.layer in _RECURRENT:
        both = given(module, _RECURRENT[module.layer], "bidirectional")
        value = call.argument(0, "input")
        return (
            (value, place, "recurrent")
            if value is not None and isinstance(both, Const) and both.value is True
            else None
        )
    position, name, masks = _MASKS[module.layer]
    value = call.argument(position, name)
    if value is None or any(unmasked.is_given(call.argument(*mask)) for mask in masks):
        return None
    if module.layer == "torch.nn.MultiheadAttention" and not _same(value, call.argument(1, "key")):
        return None
    return value, place, "attention"


def _same(one: Value, other: Value | None) -> bool:
    """Whether attention is that of a sequence to itself."""
    made = comparing.made_of(one)
    return one is other or (made is not None and other is not None and made is comparing.made_of(other))


def _along(module: Module) -> int | None:
    """The dimension of the places, counted from the last one; None where it is not known."""
    layer = layer_of(module)
    position = BATCH_FIRST.get(layer.layer) if layer is not None else None
    if layer is None or position is None or "**" in layer.settings:
        return None
    first = given(layer, position, "batch_first") or Const(value=False)
    return (-2 if first.value else -3) if isinstance(first, Const) else None


def _looks_to_both_sides(module: Module) -> bool:
    """Whether a convolution is padded by as much in front as behind, and gives as many places as it gets."""
    size, stride, padding, dilation = (
        given(module, place, name)
        for place, name in ((2, "kernel_size"), (3, "stride"), (4, "padding"), (5, "dilation"))
    )
    width, step, apart = (1 if value is None else size_at(value) for value in (size, stride, dilation))
    if not isinstance(width, int) or width < _RANK or step != 1 or not isinstance(apart, int):
        return False
    if isinstance(padding, Const) and padding.value == "same":
        return True
    amount = 0 if padding is None else size_at(padding)
    return isinstance(amount, int) and 2 * amount == apart * (width - 1)
