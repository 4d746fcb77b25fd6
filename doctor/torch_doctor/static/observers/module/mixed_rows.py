"""Layers and views that mix the rows of a loader's batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes import Order
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Module, Sequence, Tensor, Unknown, shapes
from torch_doctor.static.values.shapes import Returned
from torch_doctor.trace import RowsMixed, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.static.values.shapes import Shape
    from torch_doctor.trace import Site

BATCH_FIRST: Final = {
    "torch.nn.RNN": 5,
    "torch.nn.LSTM": 4,
    "torch.nn.GRU": 4,
    "torch.nn.MultiheadAttention": 8,
    "torch.nn.TransformerEncoderLayer": 6,
    "torch.nn.TransformerDecoderLayer": 6,
    "torch.nn.Transformer": 10,
}
"""Layers that go along dimension 0 unless they are told, and the place of `batch_first` among their arguments."""
_RECURRENT: Final = frozenset(("torch.nn.RNN", "torch.nn.LSTM", "torch.nn.GRU"))
STACKS: Final = {"torch.nn.TransformerEncoder": "encoder_layer", "torch.nn.TransformerDecoder": "decoder_layer"}
"""What repeats one of these layers, and the name of the argument."""
_SINGLE: Final = 2
"""Dimensions of one sequence without a batch, which all these layers take."""


_BATCH: Final = "batch"
"""How the rows are put together that a loader gives."""
_ARRANGING: Final = frozenset(words("transpose permute movedim swapaxes view reshape unsqueeze stack cat T mT"))
"""What tells that a script knows where the steps are."""


class _Run(NamedTuple):
    """A call of a recurrent layer that goes along dimension 0 of something of which the shape is not known."""

    layer: Module
    used_at: Site
    loader: int
    explicit: bool


class MixedRows(Observer, made=lambda name: name.rpartition(".")[2] in ("view", "reshape", "[]")):
    """Watches what layers for sequences, and views, get of a loader's batch."""

    writes = (RowsMixed,)

    _along: dict[Making, _Run] = per_run(dict)  # by how the output is made

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A layer was called: it goes along its dimension 0."""
        layer = layer_of(module)
        position = BATCH_FIRST.get(layer.layer) if layer is not None else None
        if layer is None or position is None or layer.born is None:
            return
        given = call.argument(0) or next(iter(call.keywords.values()), None)
        setting = layer.given[position] if position < len(layer.given) else layer.settings.get("batch_first")
        known = setting is None or isinstance(setting, Const)
        if not known or "**" in layer.settings:
            return
        first = isinstance(setting, Const) and bool(setting.value)
        shape = _with_samples(run, given) if loader_of(given) else None
        if shape is None or shape.count(shapes.BATCH) != 1:
            if not first and layer.layer in _RECURRENT and not _has_shape(given):
                self._note(result, _Run(layer, run.site(call.node), loader_of(given), setting is not None))
            return
        if not first and shape[0] == shapes.BATCH and layer.layer in _RECURRENT:
            self._note(result, _Run(layer, run.site(call.node), loader_of(given), setting is not None))
        table = len(shape) == _SINGLE and shape[0] == shapes.BATCH
        if first and layer.layer not in _RECURRENT and not table:
            return  # attention between the samples may be meant, where the script turns them for it
        if table or (len(shape) == _SINGLE + 1 and shape[int(first)] == shapes.BATCH):
            run.emit(
                RowsMixed,
                layer.born,
                how="layer",
                name=layer.layer,
                loader=loader_of(given),
                shape=shape,
                used_at=run.site(call.node),
                stacked_at=module.born if module is not layer else None,
                explicit=setting is not None,
            )

    def _note(self, result: Value, run: _Run) -> None:
        output = result.content.items[0] if isinstance(result, Sequence) and result.content.items else result
        made = output.meta if isinstance(output, Tensor) else None
        if isinstance(made, Making):
            self._along[made] = run

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A view of a batch: what follows the rows has to stay as long as it was. An item: the last step of each sample."""
        if name == "[]":
            self._taken(run, call)
        elif call.args:
            self._viewed(run, call, result)

    def _taken(self, run: Run, call: Call) -> None:
        """An item of what a layer gave: it goes along dimension 0, and the script takes the last of dimension 1 for steps."""
        whole, key = call.args
        made = whole.meta if isinstance(whole, Tensor) else None
        made = made.within if isinstance(made, Returned) else made
        along = self._along.get(made) if isinstance(made, Making) else None
        if along is None or not isinstance(call.node, p.Index) or not _is_last_step(call.node.key, key):
            return
        run.emit(
            RowsMixed,
            along.layer.born or along.used_at,
            how="layer",
            name=along.layer.layer,
            loader=along.loader,
            shape=(),
            used_at=along.used_at,
            read_at=run.site(call.node),
            explicit=along.explicit,
        )

    def _viewed(self, run: Run, call: Call, result: Value) -> None:
        before, after = _whole(call.args[0]), _whole(result)
        if before is None or after is None or not loader_of(call.args[0]):
            return
        if any(shape.count(shapes.BATCH) != 1 for shape in (before, after)):
            return
        had, has = run.ask(Order, call.args[0]), run.ask(Order, result)
        rows, now = had and had[before.index(shapes.BATCH)], has and has[after.index(shapes.BATCH)]
        if rows and now and now.parts and now.parts != rows.parts:
            site = run.site(call.node)
            run.emit(
                RowsMixed, site, how="view", name=run.text(call.node), loader=loader_of(call.args[0]), shape=before
            )


def _is_last_step(key: p.Expr, value: Value) -> bool:
    """Whether a key is `:, -1`, which may be followed by slices."""
    nodes = key.items if isinstance(key, p.Display) and key.kind == "tuple" else ()
    values = value.content.items if isinstance(value, Sequence) else ()
    if not 1 < len(nodes) == len(values) or not isinstance(nodes[0], p.Slice) or nodes[0].lower or nodes[0].upper:
        return False
    last = isinstance(values[1], Const) and values[1].value == -1
    return last and all(isinstance(node, p.Slice) for node in nodes[2:])


def _has_shape(given: Value | None) -> bool:
    """Whether anything tells where the steps are: the shape, or an operation that brings them there.

    What a loader gives has the samples first, however its rows came about.
    """
    value = given
    while isinstance(value, Tensor) and isinstance(made := value.meta, (Making, Returned)):
        made = made.within if isinstance(made, Returned) else made
        if made.name == _BATCH:
            return False
        if made.name in _ARRANGING or not made.args:
            return True
        value = made.args[0]
    shape = None if given is None else measured(given).shape
    return not isinstance(value, (Tensor, Unknown)) or (shape is not None and shapes.ANY not in shape)


def layer_of(module: Module) -> Module | None:
    """The layer itself, or the one that a stack repeats."""
    name = STACKS.get(module.layer)
    if name is None:
        return module if module.cls is None else None
    inner = module.given[0] if module.given else module.settings.get(name)
    return inner if isinstance(inner, Module) and inner.cls is None else None


def loader_of(value: Value | None) -> int:
    """The loader whose batch a tensor was computed from; 0 where that is not certain."""
    return value.flow.loader if isinstance(value, Tensor) and value.flow.source is Source.LOADER else 0


def _whole(value: Value | None) -> Shape | None:
    """The shape of a tensor, where all its dimensions are known; of a stretch it is not certain what its first one is."""
    shape = measured(value).shape if isinstance(value, Tensor) else None
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.name != _BATCH:
        if made.name == "[]" or any(_guessed(operand) for operand in made.args[1:]):
            return None
        made = made.args[0].meta if made.args and isinstance(made.args[0], Tensor) else None
    return None if shape is None or shapes.ANY in shape else shape


def _with_samples(run: Run, value: Value | None) -> Shape | None:
    """The shape of a tensor, in which an axis that runs over the samples, and then over some axis of each, is the batch."""
    shape = _whole(value)
    if shape is None or value is None or shapes.BATCH in shape:
        return shape
    axes = run.ask(Order, value) or ()
    merged = [len(axis.parts) > 1 and axis.whole and axis.parts[0].size == shapes.BATCH for axis in axes]
    return tuple(shapes.BATCH if over else size for over, size in zip(merged, shape, strict=True)) if merged else shape


def _guessed(operand: Value) -> bool:
    """Whether it is a stretch of something else, which may be as long as a batch."""
    made = operand.meta if isinstance(operand, Tensor) and not loader_of(operand) else None
    stretch = isinstance(made, Making) and made.name == "[]"
    return stretch and shapes.BATCH in (measured(operand).shape or ())


def rows_first(value: Value | None) -> Shape | None:
    """The shape of a tensor that has the rows of a loader's batch in dimension 0, and nowhere else."""
    shape = _whole(value)
    rows = shape is not None and shape[:1] == (shapes.BATCH,) and shape.count(shapes.BATCH) == 1
    return shape if rows and loader_of(value) else None
