"""Products with weights that a softmax gave, and what the weights sum to there; sums over all dimensions of a tensor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..marks import noted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import TypeAlias

    from ..watch import Watch

    Shape: TypeAlias = "tuple[int, ...] | None"

MOST = 4  # products of one place that are told: in training, and with other shapes
PLACES = 500
DEEPEST = 12
"""Operations between a softmax and the product."""
WRAPPED = 1 << 64
"""Added to negative dimensions where autograd keeps them."""
PASSING = ("Clone", "ToCopy", "NativeDropout", "MaskedFill", "Alias", "Mul", "Expand")
PRODUCTS = {"matmul": 0, "__matmul__": 0, "bmm": 0, "mm": 0, "baddbmm": 1}
"""Products of two tensors, and the place of the first of them."""


class Watcher:
    """Wraps products and sums; those in the user's files whose factors come from a softmax are told."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._tensor = watch.torch.Tensor
        self._seen: dict[tuple[CodeType, int], int] = {}

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        for owner in (torch, torch.Tensor):
            for name in (*PRODUCTS, "sum"):
                self._watch.patches.replace(owner, name, self._wrapping)
        self._watch.patches.replace(torch, "einsum", self._wrapping)

    def _wrapping(self, original: Any) -> Any:
        recorder, seen, note = self._recorder, self._seen, self._note
        frame_at, sums = sys._getframe, original.__name__ == "sum"

        def multiply(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            if not recorder.quiet and (sums or getattr(result, "grad_fn", None) is not None):
                frame = frame_at(1)
                place = (frame.f_code, frame.f_lasti)
                if seen.get(place, 0) < MOST:
                    recorder.safely(note, original.__name__, arguments, keywords, frame, place)
            return result

        return multiply

    def _note(
        self, name: str, arguments: tuple[Any, ...], keywords: Any, frame: Any, place: tuple[CodeType, int]
    ) -> None:
        recorder = self._recorder
        if len(self._seen) >= PLACES or not recorder.sites.is_users(frame.f_code.co_filename):
            self._seen[place] = MOST  # not worth a second look
            return
        self._seen[place] = self._seen.get(place, 0) + 1
        if name == "sum" and len(arguments) == 1 and not {"dim", "axis"} & keywords.keys():
            site, sizes = recorder.sites.of_frame(frame), list(arguments[0].shape)
            recorder.event("ReducedToOne", recorder.here(), site=site, name=name, function=name, shape=sizes)
            return
        for node, shape, dim in self._factors(name, arguments, keywords):
            found = _softmax_behind(node, shape, dim)
            if found is None:
                continue
            softmax, at = found
            mark = (noted(softmax) or {}).get("made")
            weights = softmax._saved_result.detach()
            if mark is None or mark.operation_at is None or not -weights.dim() <= at < 0:
                continue
            along = _dim(softmax._saved_dim)
            sums = weights.double().sum(at)
            recorder.event(
                "WeightsSummed",
                recorder.here(),
                site=mark.operation_at,
                name="softmax",
                product=name,
                used_at=recorder.sites.of_frame(frame),
                along=along if along < 0 else along - weights.dim(),
                summed=at,
                dims=weights.dim(),
                weights=weights.shape[at],
                smallest=float(sums.min()),
                largest=float(sums.max()),
            )

    def _factors(self, name: str, arguments: tuple[Any, ...], keywords: Any) -> Iterator[tuple[Any, Shape, int]]:
        """How each factor was computed, with its shape where that is known, and the dimension that is summed over."""
        if name == "einsum":
            yield from self._by_letters(arguments)
        elif name == "sum":
            dim, given = keywords.get("dim", arguments[1] if len(arguments) > 1 else None), arguments[:1]
            node = given[0].grad_fn if given else None
            if isinstance(dim, int) and node is not None and node.name() == "MulBackward0":
                dim = dim if dim < 0 else dim - given[0].dim()
                yield from ((each, None, dim) for each, _ in node.next_functions)
        else:
            factors = [*arguments, *keywords.values()][PRODUCTS[name] :]
            for factor, dim in zip(factors[:2], (-1, -2)):  # noqa: B905 - two
                if isinstance(factor, self._tensor) and factor.dim() >= -dim:
                    yield factor.grad_fn, tuple(factor.shape), dim

    def _by_letters(self, arguments: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[int, ...], int]]:
        equation, *given = arguments
        given = list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else given
        if not isinstance(equation, str) or "->" not in equation:
            return
        before, _, after = equation.replace(" ", "").replace("...", ".").partition("->")
        terms = before.split(",")
        for letters, factor in zip(terms, given):  # noqa: B905 - as many
            for at, letter in enumerate(letters):
                shared = sum(letter in each for each in terms) > 1
                if letter != "." and letter not in after and shared and "." not in letters[at:]:
                    yield factor.grad_fn, tuple(factor.shape), at - len(letters)


def _softmax_behind(node: Any, shape: Shape, dim: int) -> tuple[Any, int] | None:
    """The node of the softmax that a factor was arranged from, and the dimension there, counted from the end."""
    for _ in range(DEEPEST):
        name = "" if node is None else node.name().partition("Backward")[0]
        if name == "Softmax":
            return node, dim
        if name in MOVING:
            before = MOVING[name](node, shape, dim)
            if before is None:
                return None
            dim, shape = before
        elif name not in PASSING:
            return None
        node = node.next_functions[0][0]
    return None


def _viewed(node: Any, shape: Shape, dim: int) -> tuple[int, Shape] | None:
    before = tuple(node._saved_self_sym_sizes)
    found = None if shape is None else _before_view(before, shape, dim)
    return None if found is None else (found, before)


def _transposed(node: Any, shape: Shape, dim: int) -> tuple[int, Shape] | None:
    one, other = (_from_end(_dim(each), shape) for each in (node._saved_dim0, node._saved_dim1))
    if one is None or other is None:
        return None
    sizes = None if shape is None else list(shape)
    if sizes is not None:
        sizes[one], sizes[other] = sizes[other], sizes[one]
    return {one: other, other: one}.get(dim, dim), None if sizes is None else tuple(sizes)


def _permuted(node: Any, _: Shape, dim: int) -> tuple[int, Shape]:
    order = [_dim(each) for each in node._saved_dims]
    return order[dim] % len(order) - len(order), None  # a view before it is not followed


def _unsqueezed(node: Any, shape: Shape, dim: int) -> tuple[int, Shape] | None:
    at = _from_end(_dim(node._saved_dim), shape)
    return None if at is None or at == dim else (dim + (dim < at), None)


def _squeezed(node: Any, _: Shape, dim: int) -> tuple[int, Shape] | None:
    of_all = not hasattr(node, "_saved_dim")  # `squeeze()` takes away whichever dimensions have one element
    at = None if of_all else _from_end(_dim(node._saved_dim), tuple(node._saved_self_sym_sizes))
    return None if at is None else (dim - (dim <= at), None)


MOVING: dict[str, Callable[[Any, Shape, int], tuple[int, Shape] | None]] = {
    **dict.fromkeys(("View", "UnsafeView", "ReshapeAlias"), _viewed),
    "Transpose": _transposed,
    "Permute": _permuted,
    "Unsqueeze": _unsqueezed,
    "Squeeze": _squeezed,
}
"""How dimensions moved: from the node, the shape after it, and a dimension of that, to the dimension and the shape before."""


def _before_view(before: tuple[int, ...], after: tuple[int, ...], dim: int) -> int | None:
    """The dimension that a view leaves as it is: as long as it was, with as many elements behind it."""
    behind = _product(after[len(after) + dim + 1 :])
    for at, size in enumerate(before):
        if size == after[dim] and _product(before[at + 1 :]) == behind:
            return at - len(before)
    return None


def _product(sizes: tuple[int, ...]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _dim(dim: int) -> int:
    return dim - WRAPPED if dim >= WRAPPED // 2 else dim


def _from_end(dim: int, shape: Shape) -> int | None:
    return dim if dim < 0 else None if shape is None else dim - len(shape)
