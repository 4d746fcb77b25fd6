"""The tensors that a model could take, by its layers, and those that a loss could take beside what the model gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import LENGTHS, Spec
from .sizes import is_torchs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .sizes import Sizes

LAYERS = 12  # of different kinds that are asked what they take
FRAMES = (16, 8, 32)  # pictures in a video
COLOURS = 4
PLAIN = 2  # dimensions of a plain weight
INDEX_LOSSES = frozenset({"cross_entropy", "nll_loss", "multi_margin_loss", "gather", "scatter", "scatter_", "one_hot"})
"""Functions that take the numbers of classes."""
PACKING = frozenset({"_pack_padded_sequence", "pack_padded_sequence"})
"""Functions that take the lengths of sequences."""
BETWEEN = frozenset(
    "binary_cross_entropy binary_cross_entropy_with_logits multilabel_margin_loss multilabel_soft_margin_loss "
    "sigmoid_focal_loss".split()
)
"""Functions that take numbers from 0 to 1."""


class Candidates:
    """What could be given to the layers of a model, the likeliest first."""

    def __init__(self, torch: Any, rows: int, sizes: Sizes) -> None:
        self._torch = torch
        self._rows = rows
        self._sizes = sizes
        nn = torch.nn
        self._kinds: list[tuple[Any, Callable[[Any], Iterator[Spec]]]] = [
            (nn.Conv1d, self._sequences_first),
            (nn.ConvTranspose1d, self._sequences_first),
            (nn.Conv2d, lambda layer: self._pictures(layer.in_channels)),
            (nn.ConvTranspose2d, self._seeds),
            (nn.Conv3d, self._videos),
            (nn.Linear, lambda layer: self._features(layer.in_features)),
            (nn.Embedding, lambda layer: self._words(layer.num_embeddings)),
            (nn.EmbeddingBag, lambda layer: self._words(layer.num_embeddings)),
            (nn.RNNBase, self._recurrent),
            (nn.RNNCellBase, lambda layer: self._features(layer.input_size)),
            (nn.MultiheadAttention, lambda layer: self._steps(layer.embed_dim)),
            (nn.BatchNorm2d, lambda layer: self._pictures(layer.num_features)),
            (nn.BatchNorm1d, lambda layer: self._features(layer.num_features)),
            (nn.LayerNorm, lambda layer: self._features(layer.normalized_shape[-1])),
        ]

    def of(self, modules: Sequence[Any]) -> list[Spec]:
        """For any argument of these modules."""
        found: dict[Spec, None] = {}
        seen: set[Any] = set()
        for layer in (layer for module in modules for layer in module.modules()):
            for kind, candidates in self._kinds:
                if isinstance(layer, kind):
                    made = tuple(candidates(layer))
                    if made not in seen:
                        seen.add(made)
                        found.update(dict.fromkeys(made))
            for weight in layer._parameters.values():
                if weight is not None and not is_torchs(layer) and weight.dim() == PLAIN:
                    found.update(dict.fromkeys(self._features(weight.shape[0])))
            if len(seen) >= LAYERS:
                break
        found.update(dict.fromkeys(self._rectangles(modules)))
        words = [
            layer.num_embeddings for module in modules for layer in module.modules() if hasattr(layer, "num_embeddings")
        ]
        lowest = min(words, default=0)  # what is an index of one table may be one of all
        found.update(dict.fromkeys([*self._fields(len(words), lowest), *self._any()]))
        return [*dict.fromkeys(each._replace(high=lowest) if each.high in words else each for each in found)]

    def results(self, name: str, given: Sequence[Any], classes: int) -> list[Spec]:
        """For what a stand-in returns, and what goes into a function of this name beside the tensors that are `given`."""
        near = max(given, key=lambda tensor: (tensor.requires_grad, tensor.dim()))
        shape = tuple(near.shape)
        scores = Spec((*shape[:1], classes, *shape[1:]))
        if name in INDEX_LOSSES and not near.is_floating_point():
            return [scores, Spec((*shape, classes)), Spec((*shape[:-1], classes))]
        if name in BETWEEN:
            return [Spec(shape, "float32", 2 if name == "binary_cross_entropy" else 0)]
        return [*dict.fromkeys([Spec(shape), Spec(()), Spec(shape[:1]), Spec((*shape, 1)), Spec(shape[:-1]), scores])]

    def beside(self, name: str, given: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Spec]:
        """For what goes into a function of this name beside the tensors that are `given`."""
        rows = self._rows
        near = max(given, key=lambda tensor: (tensor.requires_grad, tensor.dim()), default=None)
        if near is None:
            return list(self._any())
        shape = tuple(near.shape)
        classes = shape[1] if len(shape) > 1 else max(shape, default=1)
        numbered = shape[:1] + shape[2:]
        dtype = str(near.dtype).removeprefix("torch.")
        same = Spec(shape, dtype if near.is_floating_point() else "int64", 0 if near.is_floating_point() else 2)
        around = [each for each in shapes if len(each) <= PLAIN] or []
        if name in PACKING:
            return [Spec((size,), "int64", LENGTHS) for size in dict.fromkeys(shape[:2])]
        if name in INDEX_LOSSES:
            last = shape[-1] if len(shape) > PLAIN else classes
            bases = [numbered, (*numbered, 1), shape[:1], (rows,), shape[:-1], *shapes]
            found = [Spec(base, "int64", classes if base == numbered else min(classes, last)) for base in bases]
            return [*dict.fromkeys([*found, Spec(shape, "float32", 2)])]
        bases = [shape, numbered, (rows,), (rows, 1), (*numbered, 1), shape[:-1], *around]
        if name in BETWEEN:
            return [*dict.fromkeys(Spec(base, dtype, 2) for base in bases)]
        high = 2 if not near.is_floating_point() else 0
        return [*dict.fromkeys([same, *(Spec(base, same.dtype, high) for base in bases), Spec(numbered, "int64", 2)])]

    # --- of layers ---

    def _pictures(self, channels: int) -> Iterator[Spec]:
        yield from (Spec((self._rows, channels, side, side)) for side in self._sizes.sides)
        if channels <= COLOURS:  # as they are read from files
            yield from (Spec((self._rows, side, side, channels)) for side in self._sizes.sides)

    def _rectangles(self, modules: Sequence[Any]) -> Iterator[Spec]:
        """Pictures that are no squares, for the first layer that takes pictures."""
        layers = (layer for module in modules for layer in module.modules() if isinstance(layer, self._torch.nn.Conv2d))
        first = next(layers, None)
        if first is not None:
            yield from (Spec((self._rows, first.in_channels, *sides)) for sides in self._sizes.rectangles)

    def _seeds(self, layer: Any) -> Iterator[Spec]:
        yield Spec((self._rows, layer.in_channels, 1, 1))
        yield from self._pictures(layer.in_channels)

    def _sequences_first(self, layer: Any) -> Iterator[Spec]:
        yield from (Spec((self._rows, layer.in_channels, length)) for length in self._sizes.lengths)
        yield from self._steps(layer.in_channels)

    def _videos(self, layer: Any) -> Iterator[Spec]:
        for frames in FRAMES:
            yield from (
                Spec((self._rows, layer.in_channels, frames, side, side))
                for side in self._sizes.sides
                if side <= 128  # noqa: PLR2004
            )

    def _features(self, count: int) -> Iterator[Spec]:
        yield Spec((self._rows, count))
        for channels in (1, 3):
            side = round((count / channels) ** 0.5)
            if side > 3 and channels * side * side == count:  # noqa: PLR2004
                yield Spec((self._rows, channels, side, side))
        yield from self._steps(count)

    def _steps(self, count: int) -> Iterator[Spec]:
        return (Spec((self._rows, length, count)) for length in self._sizes.lengths)

    def _words(self, count: int) -> Iterator[Spec]:
        yield from (Spec((self._rows, length), "int64", count) for length in self._sizes.lengths)
        yield Spec((self._rows,), "int64", count)
        yield Spec((self._sizes.lengths[0], self._rows), "int64", count)

    def _fields(self, count: int, high: int) -> Iterator[Spec]:
        """Rows of categories, of which each has a table of its own, and of as many weights."""
        if count > 1:
            yield Spec((self._rows, count), "int64", high)
            yield Spec((self._rows, count, 1), "int64", high)
            yield Spec((self._rows, count))

    def _recurrent(self, layer: Any) -> Iterator[Spec]:
        for length in self._sizes.lengths:
            first, second = (self._rows, length) if layer.batch_first else (length, self._rows)
            yield Spec((first, second, layer.input_size))

    def _any(self) -> Iterator[Spec]:
        rows, length = self._rows, self._sizes.lengths[0]
        yield Spec((rows,), "int64", 2)
        yield Spec((rows, length), "int64", 2)
        yield Spec((rows,))
        yield Spec((rows, 1))
        yield Spec((rows, length), "bool", 2)
        yield Spec((rows, rows))
        yield Spec((2, rows), "int64", rows)
