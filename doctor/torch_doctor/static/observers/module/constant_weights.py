"""Weights that a script sets itself: to one constant, or to anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Observer
from torch_doctor.static.tables import words
from torch_doctor.static.training import module_parts
from torch_doctor.static.values import Call, Const, Fact, Module, Params, Value
from torch_doctor.trace import ConstantWeights

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


INIT = "torch.nn.init."
_FILLS = {"zeros_": 0.0, "ones_": 1.0, "zero_": 0.0}
_CONSTANTS = frozenset((*_FILLS, "constant_", "constant", "fill_"))


_EVEN = frozenset(
    words(
        """
        relu relu6 leaky_relu elu selu celu gelu silu mish tanh sigmoid softplus softsign hardtanh hardswish hardsigmoid
        flatten view reshape squeeze contiguous max_pool avg_pool adaptive_avg_pool adaptive_max_pool
        """
    )
)
"""Functions that treat all units alike, without the number of their dimensions."""


class Constant:
    """All weights of a layer were set to one number (None: not known which) at a place."""

    def __init__(self, site: Site, value: float | None) -> None:
        self.site = site
        self.value = value


class ConstantLayers(Observer):
    """Layers whose weights are all one number, and what two of them compute, one after the other."""

    writes = (ConstantWeights,)

    def __init__(self) -> None:
        self._any = False  # whether any weights were set to a constant
        self._straight: dict[
            int, tuple[Value, Module]
        ] = {}  # tensors, by id, and the constant layer that they came from

    def initialised(self, run: Run, how: str, call: Call) -> None:
        """One of the functions of `torch.nn.init` is called."""
        shown = call.node.args[0] if isinstance(call.node, p.Call) and call.node.args else None
        self._set(run, call.argument(0, "tensor"), shown, how, call.argument(1, "val"), call.node)

    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights are changed in place, or others are loaded: then they are no longer what they were set to."""
        node = call.node
        if isinstance(value, Params):
            shown = node.func.value if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) else None
            self._set(run, value, shown, call.method, call.argument(0), node)
        elif isinstance(value, Module) and self._any:
            for part in module_parts.parts_of(run, value).parts:
                run.heap.set(part.facts, Fact.CONSTANT, None)

    def _set(
        self, run: Run, given: Value | None, shown: p.Expr | None, how: str, value: Value | None, node: p.Node
    ) -> None:
        if not isinstance(given, Params) or given.bias:
            return
        while isinstance(shown, p.Attribute) and shown.name == "data":
            shown = shown.value
        if isinstance(shown, p.Attribute) and shown.name != "weight":
            return  # a bias, which may be constant
        number = _FILLS.get(how)
        if number is None and isinstance(value, Const) and isinstance(value.value, (int, float)):
            number = float(value.value)
        made = Constant(run.site(node), number) if how in _CONSTANTS else None
        self._any = self._any or made is not None
        for each in given.modules:
            thing = run.objects.get(each)
            if isinstance(thing, Module) and self._any:
                run.heap.set(thing.facts, Fact.CONSTANT, made)

    def left(self, run: Run, module: Module, call: Call, output: Value) -> None:
        """A layer was called: one that is constant, straight after one that is, leaves the units of both identical.

        All units of the first compute the same, and the second counts them alike, whatever else there is. What starts at
        zero alone comes apart with the first update.
        """
        if not self._any or module.cls is not None:
            return
        before = self._before(call)
        constant = module.fact(Fact.CONSTANT)
        if not _has_units(module):
            if before is not None and (_is_norm(module) or _is_even(module)):
                self._straight[id(output)] = (output, before)
            return
        if not isinstance(constant, Constant):
            return
        made = before.fact(Fact.CONSTANT) if before is not None and before is not module else None
        if before is not None and isinstance(made, Constant):
            run.emit(
                ConstantWeights,
                made.site,
                module=before.id,
                class_name=before.layer,
                value=made.value,
                identical=before.fact(Fact.FROZEN) is False and not _is_narrow(before),
                built_at=before.born,
            )
        self._straight[id(output)] = (output, module)

    def made(self, _: Run, name: str, call: Call, result: Value) -> None:
        """A function of torch was called on what a layer gave: one that treats all units alike changes nothing."""
        before = self._before(call) if self._straight else None
        if before is not None and name.rpartition(".")[2].rstrip("123d_") in _EVEN:
            self._straight[id(result)] = (result, before)

    def _before(self, call: Call) -> Module | None:
        """The constant layer that the first argument came from."""
        return self._straight.get(id(call.args[0]), (None, None))[1] if call.args else None


@library_family(lambda name: name.startswith(INIT), stage=Stage.NOTE)
def initialised(run: Run, name: str, call: Call) -> None:
    """One of the functions of `torch.nn.init`."""
    if run.watches(ConstantLayers):
        run.of(ConstantLayers).initialised(run, name.removeprefix(INIT), call)


def _has_units(module: Module) -> bool:
    name = module.layer.rpartition(".")[2]
    return module.cls is None and (name == "Linear" or name.startswith("Conv"))


def _is_narrow(module: Module) -> bool:
    """Whether a layer has only one unit."""
    width = module.given[1] if len(module.given) > 1 else module.settings.get("out_features")
    return isinstance(width, Const) and width.value == 1


def _is_norm(module: Module) -> bool:
    return module.cls is None and module.layer.rstrip("123d").endswith("Norm")


def _is_even(module: Module) -> bool:
    """Whether a layer treats all units alike: it has nothing to train, and draws no random numbers."""
    return module.table is not None and not module.table.parameters and module.sensitive is False
