"""Functions and layers that make numbers sum to one: along which dimension they go, and over how many numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torch_doctor.static.domains.axes import Sizes
from torch_doctor.static.domains.axes.collapsing import collapsed
from torch_doctor.static.measuring import measured, size_at, with_facts
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.training.data import array_calls, arrays
from torch_doctor.static.values import Const, Lib, Making, Module, Plain, Tensor, Value, shapes
from torch_doctor.trace import Normalised

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

SOFTMAXES = frozenset(("softmax", "log_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin"))
"""Functions and layers that make numbers along a dimension (their first setting) sum to one."""
PAIR = 2
"""The operands of a quotient."""


_LARGEST = frozenset(("max", "amax", "logsumexp"))


class Normalising(Observer, made=lambda name: name.rpartition(".")[2] in SOFTMAXES, called=(Lib,), computed="/"):
    """Along which dimension softmax goes and over how many numbers, where that is known, and where torch chooses."""

    writes = (Normalised,)

    @override
    def made(self, run: Run, name: str, call: Call, _: Value) -> None:
        """A function or method of torch was called."""
        first = next((value for value in call.args if not isinstance(value, (Const, Plain))), None)
        dim = call.argument(1, "dim", "axis", "**")  # axis: as in numpy
        _normalised(run, name if "." in name else f"torch.{name}", first, dim, run.site(call.node))

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A function of a library that does the same with an array was called."""
        known = array_calls.called(func, call)
        if known is not None and known[0] in SOFTMAXES and "dim" in known[1].keywords:
            name, of = known
            site = run.site(call.node)
            _normalised(run, f"torch.{name}", of.argument(0), of.keywords["dim"], site, of_array=True)

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`e / e.sum(dim)`, where `e` is made by `exp`: a softmax that the script writes out."""
        whole, total = (_made(each) for each in operands) if len(operands) == PAIR else (None, None)
        if whole is None or total is None or (whole.name, total.name) != ("exp", "sum") or not total.args:
            return
        dim = argument(total, 1, "dim")
        if _made(total.args[0]) is whole and dim is not None:
            _normalised(run, "torch.softmax", _unshifted(whole.args[0]), dim, run.site(node))

    @override
    def left(self, run: Run, module: Module, call: Call, output: Value) -> None:
        """A layer was called; its output tells where it got its meaning."""
        if module.cls is None and module.layer.rpartition(".")[2] in SOFTMAXES and isinstance(output, Tensor):
            first = call.argument(0) or next(iter(call.keywords.values()), None)
            dim = module.settings.get("dim", module.given[0] if module.given else module.settings.get("**"))
            if output.origin.site is not None:
                _normalised(run, module.layer, first, dim, output.origin.site)


def _made(value: Value) -> Making | None:
    """How a tensor, or the tensor that torch would make of an array, was made."""
    tensor = arrays.tensor_of(value) or value
    return tensor.meta if isinstance(tensor, Tensor) and isinstance(tensor.meta, Making) else None


def _unshifted(value: Value) -> Value:
    """The scores of which the largest were subtracted before `exp`, or the value itself."""
    made = _made(value)
    if made is None or made.name != "-" or len(made.args) != PAIR:
        return value
    largest = _made(made.args[1])
    return made.args[0] if largest is not None and largest.name in _LARGEST else value


def _is_collapsed(run: Run, given: Value, place: int) -> bool:
    """Whether a dimension of one element had more of them."""
    rank = len(measured(given).shape or ())
    return rank > 0 and collapsed(given, place % rank - rank, rank, partial(run.ask, Sizes))


def _normalised(
    run: Run, function: str, given: Value | None, dim: Value | None, site: Site, *, of_array: bool = False
) -> None:
    """Say along which dimension a softmax goes, and over how many numbers; without a `dim` torch chooses."""
    if given is None:
        return
    shape = measured(given).shape
    omitted = dim is None or (isinstance(dim, Const) and dim.value is None)
    chosen = size_at(dim) if dim is not None else None
    along = chosen if isinstance(chosen, int) else None
    if omitted and shape is not None and shapes.ANY not in shape:
        chosen = 0 if len(shape) in (0, 1, 3) else 1
    place = None if shape is None else shapes.place(shape, chosen)
    size = shape[place] if shape is not None and place is not None else None
    if isinstance(size, int) or along is not None or omitted:
        fact = with_facts(run.fact(given), given)
        known = size if isinstance(size, int) else 0
        run.emit(
            Normalised,
            site,
            function=function,
            input=fact,
            size=known,
            dim=along,
            dim_given=not omitted,
            in_model=isinstance(run.frame.self, Module),
            of_array=of_array,
            collapsed=known == 1 and place is not None and _is_collapsed(run, given, place),
        )
