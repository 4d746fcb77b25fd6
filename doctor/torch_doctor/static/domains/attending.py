"""Attention that is written by hand: which product has the scores, which one the values, and whether anything masks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from torch_doctor.static.domains import padding
from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.domains.axes.origins import At
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_doctor.static.domains.axes.origins import SizesOf
    from torch_doctor.trace import Site

ATTENTION: Final = "scaled_dot_product_attention"
_FAR: Final = 8
_PAIR: Final = 2
_PROJECTED: Final = 16
"""Steps between what attention gets and its queries, keys and values."""
_PROJECTING: Final = (
    comparing.ARITHMETIC
    | comparing.PASSING
    | frozenset(
        words(
            "linear layer_norm rms_norm nn.Linear nn.LayerNorm nn.RMSNorm chunk split [] cat stack repeat_interleave expand"
        )
    )
)


class Mixing(Struct, frozen=True, eq=False):
    """A step that lets places see later ones: where, how it is written, what it gets, and along which dimensions of that."""

    site: Site
    name: str
    how: str
    given: Value
    along: tuple[At, ...]


class Seeing(NamedTuple):
    """What is known of steps that mix places, and of sizes."""

    layers: Mapping[Making, Mixing]
    products: Mapping[Making, tuple[Site, str]]
    written: frozenset[Making]
    sizes: SizesOf


def values(made: Making) -> Iterator[Value]:
    """What weights add up in a product, if that is of the sequence whose places ask for it."""
    found = comparing.factors(made)
    softmax = None if found is None else comparing.any_softmax(found.left, _SOFTMAXES)
    if found is None or softmax is None:
        return
    scores: Making | None = softmax
    while scores is not None and scores.args and scores.name not in comparing.PRODUCTS:
        scores = comparing.made_of(comparing.options(scores.args[0])[0])
    asked = None if scores is None else comparing.factors(scores)
    if asked is not None and related(asked.left, found.right):
        yield found.right


_SOFTMAXES: Final = frozenset(("softmax", "nn.Softmax"))


def attention(made: Making, seeing: Seeing) -> Mixing | None:
    """Attention that is written by hand, if nothing masks its scores; None for anything else."""
    if made.name not in comparing.PRODUCTS:
        return None
    product = comparing.factors(made)
    if product is None or product.summed[0] is None:
        return None
    found = comparing.softmax_behind(At(product.left, product.summed[0], product.ranks[0]), _SOFTMAXES, seeing.sizes)
    softmax = None if found is None else found[0]
    if found is None or softmax is None or softmax not in seeing.products or found[1].place != -1:
        return None
    if _is_masked(product.left, softmax, seeing):
        return None
    scores = _unmasked_scores(softmax.args[0], seeing)
    if scores is None or product.summed[1] is None:
        return None
    along = (scores, At(product.right, product.summed[1], product.ranks[1]))
    if not related(scores.value, product.right):
        return None
    site, name = seeing.products[softmax]
    return Mixing(site, name, "attention", product.right, along)


def _is_masked(weights: Value, softmax: Making, seeing: Seeing) -> bool:
    """Whether some of the weights that a softmax gave are left out."""
    made = comparing.made_of(comparing.options(weights)[0])
    while made is not None and made is not softmax:
        if made in seeing.written or made.name.startswith("masked_fill") or not made.args:
            return True
        made = comparing.made_of(comparing.options(made.args[0])[0])
    return softmax in seeing.written


def related(one: Value, other: Value) -> bool:
    """Whether two tensors were projected from the same one, as the keys and the values, or the queries, of self-attention are."""
    return not _bases(one).isdisjoint(_bases(other))


def _bases(value: Value) -> set[Making | Value]:
    """What a tensor was projected from, as far as no layer has looked at other places."""
    found = set[Making | Value]()
    for _ in range(_PROJECTED):
        made = comparing.made_of(value)
        found.add(made or value)
        if made is None or not made.args or not (made.name in _PROJECTING or padding.arranges(made)):
            break
        value = made.args[0]
    return found


def _unmasked_scores(value: Value, seeing: Seeing) -> At | None:
    """The dimension of the keys that scores compare; None where anything but a scale is between the product and the softmax."""
    for _ in range(_FAR):
        made = comparing.made_of(value)
        if made is None or made in seeing.written:
            return None
        if made.name in comparing.PRODUCTS:
            found = comparing.factors(made)
            if found is None or made.name in ("baddbmm", "addmm"):
                return None
            if not related(found.left, found.right):
                return None
            if made.name == "einsum":
                return _keys_by_letters(made)
            return At(found.right, -1, found.ranks[1])
        scaled = made.name in _SCALES and not any(
            isinstance(part, Tensor) and comparing.made_of(part) is not None for part in made.args[1:]
        )
        if not scaled and made.name not in _KEEPING:
            return None
        value = made.args[0]
    return None


_SCALES: Final = frozenset(words("* / mul multiply div divide true_divide"))
_KEEPING: Final = frozenset(words("contiguous clone to float double half dropout nn.Dropout"))


def _keys_by_letters(made: Making) -> At | None:
    """The dimension of the second factor that becomes the last one of a product."""
    equation, given = made.args[0], made.args[1:]
    terms = equation.value.replace(" ", "") if isinstance(equation, Const) and isinstance(equation.value, str) else ""
    before_arrow, _, after = terms.partition("->")
    letters = before_arrow.split(",")
    if len(letters) != _PAIR or len(given) != _PAIR or "." in terms or not after or after[-1] not in letters[1]:
        return None
    second = letters[1]
    return At(given[1], second.index(after[-1]) - len(second), len(second))
