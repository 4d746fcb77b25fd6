"""Dimensions of one element that had more: a mean that keeps them, the last state of a recurrent layer, a slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.domains.axes.origins import At, before, from_end
from torch_doctor.static.domains.axes.saying import STATE
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.program.influence import names_in
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Fact, Making, Module, Sequence, Value
from torch_doctor.trace.amounts import ONE

if TYPE_CHECKING:
    from torch_doctor.static.domains.axes.origins import SizesOf

_REDUCTIONS: Final = frozenset(words("mean sum amax amin max min median logsumexp norm std var prod nanmean"))
_POOLS: Final = {f"nn.Adaptive{kind}Pool{d}d": int(d) for kind in ("Avg", "Max") for d in "123"}
_LINEAR: Final = frozenset(("nn.Linear", "linear"))
_STATES: Final = -3
"""The dimension of the layers in the state of a recurrent layer."""
_DEEPEST: Final = 40


def collapsed(value: Value, place: int, rank: int | None, sizes: SizesOf) -> bool:
    """Whether a dimension of one element, counted from the end, had more of them before the script reduced it."""
    at: At | None = At(value, place, rank)
    for _ in range(_DEEPEST):
        if at is not None and at.rank is None and (shape := sizes(at.value)) is not None:
            at = at._replace(rank=len(shape))
        options = comparing.options(at.value) if at is not None else ()
        made = comparing.made_of(options[0]) if len(options) == 1 else None
        if at is None or made is None or not made.args:
            return False
        if _reduces(made, at, sizes):
            return True
        if made.name in comparing.ARITHMETIC:
            return any(collapsed(part, at.place, None, sizes) for part in made.args if comparing.made_of(part))
        at = _earlier(made, at, sizes)
    return False


def _reduces(made: Making, at: At, sizes: SizesOf) -> bool:
    """Whether this operation leaves one element of a dimension."""
    name, place = made.name, at.place
    if name in _REDUCTIONS:
        kept = made.keywords.get("keepdim")
        dim = argument(made, 1, "dim")
        return isinstance(kept, Const) and kept.value is True and from_end(dim, at.rank) == place
    if name in _POOLS:
        return place >= -_POOLS[name] and _is_written(made, 0, "output_size")
    if name.endswith(STATE):
        both = 6 if name != f"nn.RNN{STATE}" else 7
        one = _is_written(made, 2, "num_layers") and _is_written(made, both, "bidirectional")
        return one and place == _STATES
    if name in ("unsqueeze", "[]") and before(made, at, sizes) is None:
        return _adds(made, at) and _is_reduced(made.args[0])
    if name == "[]":
        earlier = before(made, at, sizes)
        shape = sizes(earlier.value) if earlier is not None else None
        several = earlier is not None and shape is not None and len(shape) >= -place and shape[earlier.place] != ONE
        return several and not _is_varied(made.of)
    return False


def _is_written(made: Making, position: int, name: str) -> bool:
    """Whether the script leaves out a setting of a layer, or writes it where it constructs the layer: then nobody varies it."""
    call = made.of.fact(Fact.WRITTEN) if isinstance(made.of, Module) else None
    if not isinstance(call, p.Call) or any(isinstance(node, p.Star) for node in call.args):
        return False
    given = [call.args[position]] if position < len(call.args) else []
    given += [node for key, node in call.keywords if key in (name, None)]
    return all(isinstance(node, p.Const) for node in given)


def _is_varied(key: object) -> bool:
    """Whether a setting may say how many elements a slice has: its bounds differ by more than numbers."""
    slices = [node for node in walk(key) if isinstance(node, p.Slice)]
    return any(names_in(node.lower) != names_in(node.upper) for node in slices)


def _adds(made: Making, at: At) -> bool:
    """Whether an operation adds the dimension."""
    if made.name == "unsqueeze":
        return from_end(argument(made, 1, "dim"), at.rank) == at.place
    nodes = made.of.items if isinstance(made.of, p.Display) else ()
    simple = all(isinstance(node, p.Slice) or (isinstance(node, p.Const) and node.value is None) for node in nodes)
    number = -1 if at.rank is None else at.rank + at.place
    return simple and 0 <= number < len(nodes) and isinstance(nodes[number], p.Const)


def _is_reduced(value: Value) -> bool:
    """Whether a tensor is what is left of several elements: their mean, the last of them, or the last state."""
    for _ in range(_DEEPEST):
        made = comparing.made_of(comparing.options(value)[0])
        if made is None or not made.args:
            return False
        if made.name in _REDUCTIONS:
            return argument(made, 1, "dim") is not None
        if made.name.endswith(STATE):
            return True
        if made.name == "[]":
            index = made.args[1]
            last = index.content.items[-1] if isinstance(index, Sequence) and index.content.items else index
            return isinstance(last, Const) and isinstance(last.value, int) and _is_computed(made.args[0])
        if made.name not in comparing.EACH and made.name not in _LINEAR:
            return False
        value = made.args[0]
    return False


def _is_computed(value: Value) -> bool:
    """Whether a layer has computed a tensor, so that its items are steps and no columns of the data."""
    made = comparing.made_of(value)
    return made is not None and made.name.startswith("nn.")


def _earlier(made: Making, at: At, sizes: SizesOf) -> At | None:
    """The same dimension of what an operation got."""
    if made.name in comparing.PRODUCTS:
        return _in_factor(made, at, sizes)
    if made.name in _REDUCTIONS or (made.name in _LINEAR and at.place == -1):
        return None
    if made.name in _LINEAR or made.name in comparing.EACH:
        return at._replace(value=made.args[0])
    return before(made, at, sizes)


def _in_factor(made: Making, at: At, sizes: SizesOf) -> At | None:
    """The dimension of the factor that brings it to a product."""
    found = comparing.factors(made)
    if found is None:
        return None
    if made.name == "einsum":
        return comparing.by_letter(made, at.place)
    right = sizes(found.right)
    if right is not None and len(right) == 1:
        return At(found.left, at.place - 1, None)
    if at.place == -1:
        return At(found.right, -1, found.ranks[1])
    return At(found.left, -2, found.ranks[0]) if at.place == -2 else None
