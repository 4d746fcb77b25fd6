"""Scores that compare each item of one list with each of another: products of features, and sums of columns and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.domains.axes.origins import At, before
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Either, Making, ParameterValue, Params, Sequence, Tensor, Unknown, Value
from torch_doctor.static.values.shapes import Returned
from torch_doctor.trace import Source
from torch_doctor.trace.amounts import ONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.domains.axes.origins import SizesOf

PRODUCTS: Final = {**dict.fromkeys(words("@ matmul mm bmm einsum"), 0), "baddbmm": 1, "addmm": 1}
"""Products of two tensors, and the place of the first of them among the arguments."""
_RANKS: Final = {"bmm": 3, "baddbmm": 3, "mm": 2, "addmm": 2}
"""Dimensions of the factors, where the function takes no others."""
ARITHMETIC: Final = frozenset(words("+ - * / add sub subtract mul multiply div divide true_divide"))
_SUMS: Final = frozenset(words("+ - add sub subtract"))
PASSING: Final = frozenset(
    words(
        """
        contiguous clone detach to type type_as float double half bfloat16 cpu cuda data dropout alpha_dropout
        feature_dropout dropout1d dropout2d masked_fill masked_fill_ nan_to_num nn.Dropout nn.Dropout1d nn.Dropout2d
        nn.AlphaDropout nn.Identity
        """
    )
)
"""What leaves weights that sum to 1, but for those that are left out."""
EACH: Final = PASSING | frozenset(
    words("relu relu_ leaky_relu elu selu celu gelu silu mish tanh sigmoid softplus clamp clamp_min clamp_max neg tril triu")
) | {f"nn.{name}" for name in words("ReLU LeakyReLU ELU SELU CELU GELU SiLU Mish Tanh Sigmoid Softplus")}  # fmt: skip
"""What computes each element of one."""
_FEATURES: Final = EACH | frozenset(
    words("layer_norm rms_norm normalize batch_norm instance_norm group_norm nn.LayerNorm nn.RMSNorm nn.GroupNorm")
) | {f"nn.{kind}{d}d" for kind in ("BatchNorm", "InstanceNorm") for d in (1, 2, 3)}  # fmt: skip
"""What leaves features in their places."""
_LAST: Final = frozenset(("nn.Embedding", *(f"nn.{name}" for name in (*table.LAYERS_LAST, *table.LAYERS_RECURRENT))))
"""Layers whose features are in the last dimension."""
_CHANNELS: Final = {f"nn.{name}": -int(name[-2]) - 1 for name in table.LAYERS_CHANNELS}
"""Layers whose features are in another one, and which it is."""
_DEEPEST: Final = 40


class Factors(NamedTuple):
    """Two tensors that are multiplied, with the dimensions that are summed and those of the product that each brings."""

    left: Value
    right: Value
    summed: tuple[int | None, int | None]
    own: tuple[frozenset[int], frozenset[int]]
    ranks: tuple[int | None, int | None]


def made_of(value: Value) -> Making | None:
    """How a value was made, within the module that returned it too."""
    made = value.meta if isinstance(value, Tensor) else None
    return made.within if isinstance(made, Returned) else made if isinstance(made, Making) else None


def options(value: Value) -> tuple[Value, ...]:
    """A value, or each of those that it may be."""
    made = made_of(value)
    if isinstance(value, Either):
        return tuple(option for _, option in value.options)
    return made.args if made is not None and made.name == "either" else (value,)


def factors(made: Making) -> Factors | None:
    """What a product multiplies, and along which dimensions it sums; None for what is none."""
    first = PRODUCTS.get(made.name)
    if made.name == "einsum":
        return _by_letters(made)
    given = made.args[first:] if first is not None else ()
    if len(given) < 2:
        return None
    ranks = (_RANKS.get(made.name),) * 2
    return Factors(given[0], given[1], (-1, -2), (frozenset((-2,)), frozenset((-1,))), ranks)


def _by_letters(made: Making) -> Factors | None:
    equation = made.args[0] if made.args else None
    given = made.args[1:]
    given = given[0].content.items if len(given) == 1 and isinstance(given[0], Sequence) else given
    if not isinstance(equation, Const) or not isinstance(equation.value, str) or len(given) != 2:
        return None
    terms, arrow, after = equation.value.replace(" ", "").replace("...", ".").partition("->")
    left, _, right = terms.partition(",")
    summed = [letter for letter in left if letter in right and letter not in after and letter != "."]
    if not arrow or len(summed) != 1 or any(len({*each}) != len(each) for each in (left, right, after)):
        return None
    places = [_place(each, summed[0]) for each in (left, right)]
    own = [
        frozenset(place for letter in each if letter not in other and (place := _place(after, letter)) is not None)
        for each, other in ((left, right), (right, left))
    ]
    ranks = [None if "." in each else len(each) for each in (left, right)]
    return Factors(given[0], given[1], (places[0], places[1]), (own[0], own[1]), (ranks[0], ranks[1]))


def by_letter(made: Making, place: int) -> At | None:
    """The dimension of a factor of `einsum` that has the letter of a dimension of the product."""
    found = _by_letters(made)
    equation = made.args[0]
    if found is None or not isinstance(equation, Const):
        return None
    terms, _, after = str(equation.value).replace(" ", "").replace("...", ".").partition("->")
    letter = after[place] if -len(after) <= place else "."
    if "." in after[place:]:
        return None
    for factor, letters in zip((found.left, found.right), terms.split(","), strict=True):
        own = _place(letters, letter)
        if own is not None:
            return At(factor, own, None if "." in letters else len(letters))
    return None


def _place(letters: str, letter: str) -> int | None:
    """The place of a dimension, counted from the end; None where others of unknown number come behind it."""
    at = letters.find(letter)
    return None if at < 0 or "." in letters[at:] else at - len(letters)


def compares(value: Value, normalised: int, summed: int, rank: int | None, sizes: SizesOf, deep: int = 0) -> bool:
    """Whether a tensor has scores of pairs, `summed` is one of both dimensions of these, and `normalised` is another one."""
    for each in options(value):
        made = made_of(each)
        if made is None or deep > _DEEPEST:
            continue
        if made.name in PRODUCTS:
            found = factors(made)
            if found is not None and any(summed in own for own in found.own):
                return _of_features(found, sizes)
            continue
        if made.name in _SUMS and _spread(made, normalised, summed, sizes):
            return True
        if made.name in ("nn.Linear", "linear") and -1 in (normalised, summed):
            continue
        if made.name in ARITHMETIC or made.name == "where":
            if any(compares(part, normalised, summed, rank, sizes, deep + 1) for part in made.args):
                return True
            continue
        if made.name in EACH or made.name in ("nn.Linear", "linear"):
            if compares(made.args[0], normalised, summed, rank, sizes, deep + 1):
                return True
            continue
        both = [before(made, At(each, place, rank), sizes) for place in (normalised, summed)]
        if both[0] is not None and both[1] is not None and both[0].exact and both[1].exact:
            first = both[0]
            if compares(first.value, first.place, both[1].place, first.rank, sizes, deep + 1):
                return True
    return False


def _spread(made: Making, normalised: int, summed: int, sizes: SizesOf) -> bool:
    """Whether a sum spreads a column over columns and a row over rows, both of which were computed."""
    if len(made.args) != 2 or any(made_of(each) is None for each in made.args):
        return False
    shapes = [sizes(each) for each in made.args]
    ones = [{at - len(shape) for at, size in enumerate(shape) if size == ONE} for shape in shapes if shape]
    ranks = {len(shape) for shape in shapes if shape}
    if len(ones) != 2 or len(ranks) != 1 or not ones[0] or not ones[1]:
        return False
    return (normalised in ones[0] - ones[1] and summed in ones[1] - ones[0]) or (
        normalised in ones[1] - ones[0] and summed in ones[0] - ones[1]
    )


def _of_features(found: Factors, sizes: SizesOf) -> bool:
    """Whether a product sums over the features that layers gave both its factors: then it compares one with the other.

    What is compared with itself may begin with parameters or random numbers as well.
    """
    both, first = ((found.left, found.summed[0]), (found.right, found.summed[1])), _beginning(found.left)
    itself = first is not None and first is _beginning(found.right)
    return all(place is not None and _are_features(each, place, sizes, itself=itself) for each, place in both)


def _are_features(value: Value, place: int, sizes: SizesOf, *, itself: bool) -> bool:
    shape = sizes(value)
    at: At | None = At(value, place, None if shape is None else len(shape))
    for _ in range(_DEEPEST):
        if at is None:
            return False
        each = options(at.value)[0]
        made = made_of(each)
        if made is None:
            return at.place == -1 and isinstance(each, (Tensor, Unknown)) and not _drawn(each)
        if made.name in _LAST or made.name in _CHANNELS:
            shared = not itself and _begins_with_parameter(each)
            return at.place == _CHANNELS.get(made.name, -1) and not shared and not _are_slots(each)
        if made.name in PRODUCTS:
            found = factors(made)
            return found is not None and at.place in found.own[1] and _begins_with_parameter(found.right)
        if made.name in _FEATURES or made.name in ARITHMETIC:
            at = at._replace(value=made.args[0])
        elif made.name in ("cat", "stack") and isinstance(made.args[0], Sequence) and made.args[0].content.items:
            at = at._replace(value=made.args[0].content.items[0], rank=None)
        else:
            at = before(made, at, sizes)
    return False


def _beginning(value: Value) -> Value | None:
    """The value from which a tensor was computed, step by step; None where that is not followed."""
    for _ in range(_DEEPEST):
        value = options(value)[0]
        made = made_of(value)
        if made is None or not made.args or not isinstance(made.args[0], (Tensor, Unknown)):
            return value
        value = made.args[0]
    return None


def _begins_with_parameter(value: Value) -> bool:
    """Whether what a layer gets is a parameter of the model, or random: slots and prototypes share their inputs among them."""
    for _ in range(_DEEPEST):
        value = options(value)[0]
        if isinstance(value, Tensor) and value.flow.source is Source.LOADER:
            return False
        made = made_of(value)
        if made is None or _drawn(value):
            return isinstance(value, (ParameterValue, Params)) or _drawn(value)
        if not made.args:
            return False
        value = made.args[0]
    return False


def _are_slots(value: Value) -> bool:
    """Whether a layer gets what is cut out again of a list that parameters were put into: slots that have seen the others."""
    cut = False
    for _ in range(_DEEPEST):
        made = made_of(options(value)[0])
        if made is None or not made.args:
            return False
        first = made.args[0]
        if made.name == "cat" and isinstance(first, Sequence):
            return cut and any(_begins_with_parameter(each) for each in first.content.items)
        cut = cut or made.name == "[]"
        value = first
    return False


def _drawn(value: Value) -> bool:
    return isinstance(value, Tensor) and value.flow.source is Source.NOISE


def softmax_behind(at: At, names: frozenset[str], sizes: SizesOf) -> tuple[Making, At] | None:
    """The softmax that weights come from, and their dimension there; None where something was computed in between."""
    if not any(made.name in names for made in _firsts(at.value)):
        return None
    for _ in range(_DEEPEST):
        found = [made for each in options(at.value) if (made := made_of(each)) is not None]
        if not found:
            return None
        made = found[0]
        if made.name in names:
            return made, at
        earlier = at._replace(value=made.args[0]) if made.name in PASSING and made.args else before(made, at, sizes)
        if earlier is None or not earlier.exact:
            return None
        at = earlier
    return None


def any_softmax(value: Value, names: frozenset[str]) -> Making | None:
    """The softmax whose results a tensor has, arranged in any way, or summed up."""
    for made in _firsts(value):
        if made.name in names:
            return made
        if made.name in ARITHMETIC and not all(isinstance(each, Const) for each in made.args[1:]):
            return None
    return None


def _firsts(value: Value) -> Iterator[Making]:
    for _ in range(_DEEPEST):
        made = made_of(options(value)[0])
        if made is None:
            return
        yield made
        if not made.args or made.name in PRODUCTS:
            return
        value = made.args[0]
