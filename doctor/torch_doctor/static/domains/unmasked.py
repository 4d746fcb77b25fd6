"""What layers read of padded sequences: the places behind their ends too, where nothing tells them of the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.domains import padding, pooling
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.libraries import transformers
from torch_doctor.static.measuring import measured, size_at
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import Call, Const, Making, Module, Sequence, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run

RECURRENT: Final = frozenset(f"nn.{name}" for name in table.LAYERS_RECURRENT)
_STATES: Final = frozenset(f"{name}.state" for name in RECURRENT)
EACH_PLACE: Final = frozenset(
    (
        *RECURRENT,
        *table.ELEMENTWISE,
        *table.DIVISIONS,
        *(f"nn.{name}" for name in (*table.LAYERS_SAME, *table.LAYERS_LAST, "Embedding")),
        *words("relu gelu silu tanh sigmoid leaky_relu elu dropout layer_norm linear embedding cat"),
    )
)
"""How a tensor is made whose places are those of what it is made of."""
_IN_ORDER: Final = (
    EACH_PLACE
    | MOVES
    | frozenset(f"nn.{name}" for name in ("TransformerEncoderLayer", "TransformerEncoder"))
    | frozenset(words("contiguous clone detach pin_memory data long int float type requires_grad_ batch"))
)
"""How a tensor is made whose samples and places are those of what it is made of, in the same dimensions."""
_SUMS: Final = frozenset(words("+ - add sub cat"))
MEAN: Final = "mean"
_FUNCTION: Final = "torch.nn.functional.scaled_dot_product_attention"
_POOLED: Final = frozenset(words("mean sum max amax"))
_FAR: Final = 60
"""Steps that are followed back."""


class Reader(Struct, frozen=True):
    """The sequences among a layer's arguments that it reads as a whole, each with the arguments that tell of their ends."""

    sequences: tuple[tuple[int, str, tuple[tuple[int, str], ...]], ...]


_ENCODER: Final = Reader(((0, "src", ((1, "src_mask"), (1, "mask"), (2, "src_key_padding_mask"), (3, "is_causal"))),))
_DECODER: Final = Reader(
    (
        (0, "tgt", ((2, "tgt_mask"), (4, "tgt_key_padding_mask"), (6, "tgt_is_causal"))),
        (1, "memory", ((3, "memory_mask"), (5, "memory_key_padding_mask"), (7, "memory_is_causal"))),
    )
)
READERS: Final[dict[str, Reader]] = {
    "torch.nn.MultiheadAttention": Reader(((1, "key", ((3, "key_padding_mask"), (5, "attn_mask"), (7, "is_causal"))),)),
    "torch.nn.TransformerEncoderLayer": _ENCODER,
    "torch.nn.TransformerEncoder": _ENCODER,
    "torch.nn.TransformerDecoderLayer": _DECODER,
    "torch.nn.TransformerDecoder": _DECODER,
    "torch.nn.Transformer": Reader(((0, "src", ((2, "src_mask"), (5, "src_key_padding_mask"), (8, "src_is_causal"))),)),
    "torch.nn.functional.scaled_dot_product_attention": Reader(((1, "key", ((3, "attn_mask"), (5, "is_causal"))),)),
}
"""Attention by its torch name (https://docs.pytorch.org/docs/stable/nn.html#transformer-layers)."""


def attended(run: Run, name: str, call: Call) -> Padding | None:
    """The padding that attention of this name reads: nothing tells it which places to leave out."""
    if "**" in call.keywords:
        return None
    for place, keyword, masks in READERS[name].sequences:
        sequence = call.argument(place, keyword)
        if sequence is not None and not any(is_given(call.argument(*mask)) for mask in masks):
            found = carried(run, sequence)
            if found is not None:
                return found
    return None


def told_nothing(run: Run, name: str, call: Call) -> Iterator[tuple[Padding, tuple[int, str]]]:
    """Yield the padding that attention reads although it gets masks, which leave nothing out, and the first of these."""
    for place, keyword, masks in READERS[name].sequences:
        sequence, given = call.argument(place, keyword), [each for each in masks if is_given(call.argument(*each))]
        if sequence is not None and given and not any(_tells(run, call.argument(*mask), name) for mask in given):
            found = carried(run, sequence)
            if found is not None:
                yield found, given[0]


def unmasked_tokens(run: Run, model: Value, call: Call, *, told: bool = False) -> Padding | None:
    """The padding among the tokens that a pretrained encoder gets without a mask, so that it attends to all of them.

    `told`: with a mask that leaves nothing out.
    """
    if not isinstance(model, Module) or model.cls is not None or "**" in call.keywords:
        return None
    given = model.given[0] if model.given else None
    text = given.value if isinstance(given, Const) and isinstance(given.value, str) else ""
    tokens = call.argument(0, "input_ids")
    mask = call.argument(1, "attention_mask")
    if (
        not transformers.attends_to_all(model.layer, text)
        or is_given(mask) is not told
        or _tells(run, mask, model.layer)
    ):
        return None
    return None if tokens is None else run.ask(Padded, tokens)


def gone_through(run: Run, layer: Module, call: Call) -> Padding | None:
    """The padding that a recurrent layer reads before the sequences themselves, because it goes through them backward too."""
    short = layer.layer.rpartition(".")[2]
    place = 7 if short == "RNN" else 6
    both = layer.given[place] if len(layer.given) > place else layer.settings.get("bidirectional")
    sequence = call.argument(0, "input")
    if sequence is None or not isinstance(both, Const) or both.value is not True:
        return None
    return carried(run, sequence)


def ended(run: Run, value: Value) -> tuple[Padding, str] | None:
    """The padding behind what a recurrent layer has in its last step, where that is in a value; with the layer's name.

    Also the padding in a mean over the steps of anything, with `MEAN`.
    """
    for made in _back(value, frozenset((*EACH_PLACE, *_POOLED, "[]")) - RECURRENT):
        if (averaged := _averaged(run, made)) is not None:
            return averaged, MEAN
        through = _layer_of_last(made)
        found = None if through is None else carried(run, through.args[0])
        if through is not None and found is not None:
            return found, through.name.removeprefix("nn.").removesuffix(".state")
    return None


def _averaged(run: Run, made: Making) -> Padding | None:
    """The padding in a mean over the steps of padded sequences, whose dimensions are still in their order."""
    along = size_at(argument(made, 1, "dim") or Const(None)) if made.name == "mean" and made.args else None
    if not isinstance(along, int):
        return None
    if (moved := pooling.along(run, made.args[0], along)) is not None:
        return moved
    rank = len(measured(made.args[0]).shape or ())
    if along < 0 and not rank:
        return None
    for each in _back(made.args[0], _IN_ORDER, arranged=False):
        found = run.ask(Padded, Tensor(meta=each))
        if found is not None and found.made.name == "pad_sequence":
            first = argument(found.made, 1, "batch_first") or Const(value=False)
            time = int(bool(first.value)) if isinstance(first, Const) else None
            return found if along % (rank or along + 1) == time else None
    return None


def carried(run: Run, value: Value) -> Padding | None:
    """The padding that still has places of its own in a tensor: each place was computed by itself, or the whole from the whole."""
    found = run.ask(Padded, value)
    for made in _back(value, EACH_PLACE):
        if found is not None:
            break
        found = run.ask(Padded, Tensor(meta=made))
    by_torch = (
        found is not None and found.made.name == "pad_sequence"
    )  # other rows may all be as long, and are read as they are
    return found if by_torch else None


def _back(value: Value, through: frozenset[str], *, arranged: bool = True) -> Iterator[Making]:
    """How a value was made, and what it was made of, as far as that goes through such steps.

    `arranged`: also through what only arranges numbers in another way, and through products with masks.
    """
    waiting, steps = [value], 0
    while waiting and steps < _FAR:
        each = waiting.pop(0)
        steps += 1
        if isinstance(each, Sequence):
            waiting += each.content.all()
        made = each.meta if isinstance(each, Tensor) else None
        if not isinstance(made, Making):
            continue
        yield made
        masked = not arranged and made.name not in _SUMS and sum(isinstance(arg, Tensor) for arg in made.args) > 1
        if (made.name in through and not masked) or (arranged and padding.arranges(made)):
            waiting += made.args


def _layer_of_last(made: Making) -> Making | None:
    """How the states of all steps were made by a recurrent layer, of which this is the last; None where it is no such thing."""
    if made.name in _STATES:
        return made
    first = made.args[0] if made.args else None
    inner = first.meta if isinstance(first, Tensor) else None
    if not isinstance(inner, Making) or inner.name not in RECURRENT or not isinstance(inner.of, Module):
        return None
    time = _time(inner.of, inner.name)
    if time is None or (made.name == "[]" and not _takes_last(made, time)):
        return None
    if made.name in _POOLED:
        given = made.args[1] if len(made.args) > 1 else made.keywords.get("dim")
        return inner if isinstance(given, Const) and given.value == time else None
    return inner if made.name == "[]" else None


def _time(layer: Module, name: str) -> int | None:
    """The dimension of the steps; None where it is not known."""
    place = 5 if name == "nn.RNN" else 4
    first = layer.given[place] if len(layer.given) > place else layer.settings.get("batch_first", Const(value=False))
    return int(bool(first.value)) if isinstance(first, Const) else None


def _takes_last(made: Making, time: int) -> bool:
    """Whether an item is the last step: `[-1]`, `[:, -1]`, `[:, -1, :]`."""
    key, index = made.of, made.args[1]
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    values = index.content.items if parts != (key,) and isinstance(index, Sequence) else (index,)
    if len(parts) != len(values) or len(values) <= time:
        return False
    whole = all(isinstance(part, p.Slice) and part.lower is part.upper is None for part in parts[:time])
    last = values[time]
    return whole and isinstance(last, Const) and last.value == -1


def _tells(run: Run, mask: Value | None, name: str) -> bool:
    """Whether a mask leaves anything out: it is given, and not the same for all elements."""
    if not is_given(mask) or not isinstance(mask, Tensor):
        return is_given(mask)
    return run.ask(Filled, mask) != (0.0 if name.startswith("torch.nn.") and name != _FUNCTION else 1.0)


def is_given(value: Value | None) -> bool:
    """Whether an argument tells anything: it is neither left out, nor None, nor False."""
    return value is not None and not (isinstance(value, Const) and value.value in (None, False))
