"""Attention and maxima over padded sequences that are written by hand: which padding takes part in them.

A dimension is followed back, step by step, to the sequences that `pad_sequence` padded. Whatever may leave padding out, as a
mask does that is multiplied, added or filled in, ends the search.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes import Sizes, comparing
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.axes.origins import At, before, from_end
from torch_doctor.static.domains.domain import Written
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.measuring.layers import given
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import ARRAY, Const, Making, Module, ParameterValue, Params, Plain, Tensor, Value

if TYPE_CHECKING:
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run

ATTENTION: Final = "attention"
MAXIMUM: Final = "max"
WEIGHING: Final = frozenset((*comparing.PRODUCTS, "sum"))
"""What adds up the places of a sequence by weights."""
_SOFTMAXES: Final = frozenset(("softmax", "nn.Softmax"))
_RECURRENT: Final = frozenset(f"nn.{name}" for name in table.LAYERS_RECURRENT)
_LAYERS: Final = _RECURRENT | frozenset(words("nn.Linear linear nn.TransformerEncoder nn.TransformerEncoderLayer"))
"""Layers that give numbers of their own at each place, the features in the last dimension."""
_KEEPING: Final = (
    (comparing.EACH - {"masked_fill", "masked_fill_", "tril", "triu"})
    | frozenset(f"nn.{name}" for name in table.LAYERS_SAME if not name.startswith(("Transformer", "Softm", "LogSoftm")))
    | frozenset(words("layer_norm rms_norm normalize long int requires_grad_ batch"))
)
_SCALES: Final = frozenset(words("* / mul multiply div divide true_divide"))
_SUMS: Final = frozenset(words("+ - add sub"))
_EMBEDDINGS: Final = frozenset(words("nn.Embedding embedding"))
_FAR: Final = 60
_PAIR: Final = 2


def weighed(run: Run, made: Making) -> Padding | None:
    """The padding among what weights add up that a softmax gave, if nothing keeps it away from the scores."""
    for weights, summed in _terms(run, made):
        found = comparing.softmax_behind(weights, _SOFTMAXES, partial(run.ask, Sizes))
        if found is None:
            continue
        softmax, at = found
        if softmax in run.of(Written).made or _is_masked(run, weights.value, softmax) or not _is_along(softmax, at):
            continue
        values = padding_at(run, summed)
        scores = None if values is None else padding_at(run, at._replace(value=softmax.args[0]), scores=True)
        if values is not None and scores is not None and scores.made is values.made:
            return values
    return None


def _terms(run: Run, made: Making) -> list[tuple[At, At]]:
    """The dimension along which a product, or a sum of products, adds up: of the weights, and of what they weigh."""
    if made.name != "sum":
        found = comparing.factors(made)
        if found is None or found.summed[0] is None or found.summed[1] is None:
            return []
        one, other = At(found.left, found.summed[0], found.ranks[0]), At(found.right, found.summed[1], found.ranks[1])
        return [(one, other)]
    product = made_of(made.args[0])
    if product is None or product.name not in ("*", "mul") or len(product.args) != _PAIR:
        return []
    shape = run.ask(Sizes, made.args[0])
    place = from_end(argument(made, 1, "dim"), None if shape is None else len(shape))
    if place is None or shape is None:
        return []
    one, other = (At(value, place, len(shape)) for value in product.args)
    return [(one, other), (other, one)]


def _is_masked(run: Run, weights: Value, softmax: Making) -> bool:
    """Whether some of the weights may be left out that a softmax gave."""
    made = made_of(weights)
    while made is not None and made is not softmax:
        several = sum(isinstance(each, Tensor) for each in made.args) > 1
        if made in run.of(Written).made or made.name.startswith("masked_fill") or several or not made.args:
            return True
        made = made_of(made.args[0])
    return made is None


def _is_along(softmax: Making, at: At) -> bool:
    """Whether a softmax gives weights along this dimension."""
    layer = softmax.of if isinstance(softmax.of, Module) else None
    dim = given(layer, 0, "dim") if layer is not None else argument(softmax, 1, "dim")
    rank = len(measured(softmax.args[0]).shape or ()) or at.rank
    return from_end(dim, rank) == at.place


def greatest(run: Run, made: Making) -> Padding | None:
    """The padding of a sequence of which the greatest numbers along its places are taken, where layers computed them."""
    dim = argument(made, 1, "dim")
    if dim is None or not made.args:
        return None
    shape = run.ask(Sizes, made.args[0])
    rank = None if shape is None else len(shape)
    place = from_end(dim, rank)
    return None if place is None else padding_at(run, At(made.args[0], place, rank), computed=True)


def padding_at(run: Run, at: At, *, scores: bool = False, computed: bool = False) -> Padding | None:
    """The padding along a dimension of what was computed of padded sequences, place by place.

    `scores`: they may be masked by a sum. `computed`: only where a layer computed them.
    """
    sizes, written = partial(run.ask, Sizes), run.of(Written).made
    for _ in range(_FAR):
        made = made_of(at.value)
        if made is None or made in written:
            return None
        if made.name == "pad_sequence":
            return run.ask(Padded, at.value) if not computed and _is_time(made, at) else None
        shape = sizes(at.value) if at.rank is None else None
        at = at if shape is None else at._replace(rank=len(shape))
        step: At | None
        if made.name in comparing.PRODUCTS:
            step, scores, computed = _of_product(made, at), False, False
        elif made.name in _LAYERS or made.name in _EMBEDDINGS:
            inside = made.name in _EMBEDDINGS
            step, scores = _of_layer(made, at, inside=inside), False
            computed = computed and inside
        elif made.name in _SUMS and not scores:
            found = [padding_at(run, at._replace(value=each), computed=computed) for each in made.args]
            return next((each for each in found if each is not None), None)
        elif made.name in _KEEPING or made.name in _SUMS | _SCALES:
            step = at._replace(value=made.args[0]) if all(map(_is_same_for_all, made.args[1:])) else None
        else:
            step = before(made, at, sizes)
        if step is None or not step.exact:
            return None
        at = step
    return None


def _is_same_for_all(value: Value) -> bool:
    """Whether this is a number, or a parameter, and no mask."""
    if isinstance(value, Plain):
        return value.size is None or value.size.name != ARRAY
    return isinstance(value, (Const, ParameterValue, Params))


def _of_product(made: Making, at: At) -> At | None:
    """The dimension of the second factor that becomes this one of a product."""
    if made.name == "einsum":
        return comparing.by_letter(made, at.place)
    found = comparing.factors(made)
    return At(found.right, -1, found.ranks[1]) if found is not None and at.place == -1 else None


def _of_layer(made: Making, at: At, *, inside: bool) -> At | None:
    """The same dimension before a layer whose features are in the last one; an embedding (`inside`) adds that."""
    if at.place == -1 or not made.args:
        return None
    if not inside:
        return At(made.args[0], at.place, at.rank)
    return At(made.args[0], at.place + 1, None if at.rank is None else at.rank - 1)


def _is_time(made: Making, at: At) -> bool:
    """Whether this is the dimension along which sequences were padded."""
    first = argument(made, 1, "batch_first") or Const(value=False)
    rank = len(measured(Tensor(meta=made)).shape or ()) or at.rank
    return isinstance(first, Const) and rank is not None and at.place == (1 if first.value else 0) - rank
