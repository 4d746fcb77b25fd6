"""Tensors that are read as arrays: by `.numpy()`, by a function of NumPy or SciPy, by a metric or by a plot."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import places
from torch_doctor.static.values import GPU, Lib, Method, Tensor
from torch_doctor.trace import ArrayRead

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Site

_METHODS: Final = frozenset(("numpy", "__array__"))
_FUNCTIONS: Final = frozenset(
    (
        *(
            f"numpy.{name}"
            for name in words(
                """
                array asarray asanyarray ascontiguousarray asfortranarray save savetxt exp log log2 log10 sqrt sin cos tanh
                square add subtract multiply divide true_divide maximum minimum isnan isfinite isinf histogram unique bincount
                linalg.norm corrcoef
                """
            )
        ),
        *(f"matplotlib.pyplot.{name}" for name in words("plot imshow scatter hist bar errorbar fill_between semilogy")),
    )
)
"""Functions that make an array of their first argument, as `numpy.asarray` does; `numpy.mean` asks the tensor for its own."""
_PACKAGES: Final = ("scipy.", "sklearn.metrics.")
_SETTINGS: Final = frozenset(("force",))


def _reads(name: str) -> bool:
    name = canonical(name)
    return name in _FUNCTIONS or name.startswith(_PACKAGES)


class ArrayReads(Observer, called=(Named(Method, _METHODS), Named(Lib, _reads))):
    """What is made an array that surely is on a GPU where there is one, or has a graph."""

    writes = (ArrayRead,)

    @override
    def called(self, run: Run, func: Value, call: Call, _: Value) -> None:
        """A method of a tensor, or a function that gets one."""
        if isinstance(func, Method) and isinstance(func.of, Tensor):
            if not _SETTINGS & call.keywords.keys() and not call.args:
                self._read(run, func.of, func.name, call.node, _receiver(call.node))
        elif isinstance(func, Lib):
            nodes = call.node.args if isinstance(call.node, p.Call) else ()
            for value, node in zip(call.args, nodes, strict=False):
                if isinstance(value, Tensor) and not isinstance(node, p.Star):
                    self._read(run, value, canonical(func.name), call.node, node)

    def _read(self, run: Run, value: Tensor, function: str, node: p.Node, of: p.Expr | None) -> None:
        since = _on_gpu(run, value)
        if (since is None and value.flow.graph is not True) or id(node) in _tried(run.frame.unit):
            return
        run.emit(
            ArrayRead,
            node,
            function=function,
            value=run.fact(value, "" if of is None else run.text(of)),
            gpu=since is not None or None,
            since=since,
            at=None if of is None else run.site(of),
        )


def _on_gpu(run: Run, value: Tensor) -> Site | None:
    """Where a tensor went to the GPU that is surely there, where the machine has one; None where that is not known."""
    found = [place for _, place in places.options(run, places.of(value))]
    since = {place.since for place in found if place.device == GPU}
    return since.pop() if found and all(place.device == GPU for place in found) and len(since) == 1 else None


@lru_cache(maxsize=64)
def _tried(unit: Unit) -> frozenset[int]:
    """The ids of what lies in a `try` that catches something: another way is gone where a tensor is refused."""
    tries = (each for each in unit.nodes if isinstance(each, p.Try) and each.handlers)
    return frozenset(id(part) for each in tries for part in walk(each.body))


def _receiver(node: p.Node) -> p.Expr | None:
    """What a method is called on."""
    return node.func.value if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) else None
