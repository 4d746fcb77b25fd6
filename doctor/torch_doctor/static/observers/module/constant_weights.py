"""Weights that a script sets itself: to one constant, or to anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.domains import constants, writing
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.training.module import filled_weights
from torch_doctor.static.training.module.filled_weights import Constant, bias_of, is_norm, number_of
from torch_doctor.static.values import Const, Fact, Module, ParameterValue, Tensor, Value, leaves
from torch_doctor.trace import ConstantWeights

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Call


INIT = "torch.nn.init."
_MATRIX = 2
"""Dimensions of a weight: a parameter that has fewer is a bias, a gate or a scale."""
_PRODUCTS = frozenset(words("matmul mm bmm addmm baddbmm addbmm einsum tensordot spmm linear conv1d conv2d conv3d"))
_JOINED = frozenset(words("cat concat concatenate hstack dstack stack"))
_SUMS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_CLOSED = frozenset(words("relu relu6"))
"""Functions that pass nothing back where what they get is 0."""
_THROUGH_ZERO = frozenset(
    words(
        """
        relu relu6 leakyrelu elu selu celu gelu silu mish tanh softsign hardtanh hardswish dropout
        identity flatten view reshape squeeze contiguous maxpool avgpool adaptiveavgpool adaptivemaxpool
        """
    )
)
"""Functions that give 0 for 0."""
_EVEN = _THROUGH_ZERO - {"dropout"} | frozenset(words("sigmoid softplus hardsigmoid"))
"""Functions that treat all units alike."""


class Units(NamedTuple):
    """The layer that computed a tensor, all of whose weights are one number."""

    source: Module | ParameterValue
    made: Constant
    alike: bool
    """Whether all units are still the same."""
    zero: bool
    """Whether all units are still 0."""
    offset: bool = False
    """Whether the units differ by their biases alone."""
    shut: bool = False
    """Whether no gradient gets back to the layer from here."""


class ConstantLayers(Observer, read=(Named(Module, ("reset_parameters",)),)):
    """Layers whose weights are all one number, and what two of them compute, one after the other."""

    writes = (ConstantWeights,)

    _any: bool = per_run(bool)  # whether any weights were set to a constant
    _units: dict[int, tuple[Value, Units]] = per_run(dict)  # what tensors were computed by, by their id

    # --- what weights are set to ---

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A parameter is made, of numbers that may all be the same."""
        if not isinstance(result, ParameterValue) or result.born != run.site(call.node):
            return
        data = call.argument(0, "data") if result.declared else Tensor(meta=result.fact(Fact.MADE))
        number = run.ask(Filled, data)
        if number is not None and not isinstance(data, Const):
            self._any = True
            run.heap.set(result.facts, Fact.CONSTANT, Constant(run.site(call.node), number))

    def initialised(self, run: Run, how: str, call: Call) -> None:
        """One of the functions of `torch.nn.init` is called."""
        shown = call.node.args[0] if isinstance(call.node, p.Call) and call.node.args else None
        self._set(run, call.argument(0, "tensor"), shown, how, call.argument(1, "val"), call.node)

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """A layer draws its weights again."""
        if isinstance(value, Module):
            filled_weights.draw_again(run, value)

    @override
    def registered(self, run: Run, module: Module, name: str, values: tuple[Value, ...], _: p.Node) -> None:
        """A layer gets a parameter that the script has made."""
        for value in values:
            if isinstance(value, ParameterValue) and module.cls is None:
                filled_weights.give(run, module, name, value)

    def _set(
        self, run: Run, given: Value | None, shown: p.Expr | None, how: str, value: Value | None, node: p.Node
    ) -> None:
        if filled_weights.set_parameters(run, given, shown, how, value, node):
            self._any = True

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights are changed in place, or others are loaded: then they are no longer what they were set to."""
        node = call.node
        if isinstance(value, Module) and self._any:
            filled_weights.forget(run, value)
        else:
            shown = node.func.value if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) else None
            self._set(run, value, shown, call.method, call.argument(0), node)

    # --- what is computed with them ---

    @override
    def left(self, run: Run, module: Module, call: Call, output: Value) -> None:
        """A layer was called: one that is constant, straight after one that is, leaves the units of both identical.

        All units of the first compute the same, and the second counts them alike, whatever else there is. What starts at
        zero alone comes apart with the first update.
        """
        if not self._any or module.cls is not None:
            return
        before = self._of(call.args)
        constant = module.fact(Fact.CONSTANT)
        if not _has_units(module):
            if before is not None and is_norm(module):
                self._normalised(before, module, output)
            elif before is not None and (_is_even(module) or "Dropout" in module.layer):
                self._passed(run, module.layer.rpartition(".")[2], before, output)
            return
        if isinstance(constant, Constant):
            self._meets(run, before, module, constant)
            bias = bias_of(module)
            zero = bias == constant.value == 0
            units = Units(module, constant, alike=bias is not None, zero=zero, offset=bias is None)
            self._units[id(output)] = (output, units)
        else:
            self._parted(run, before)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A function of torch was called: it multiplies with weights, or what it gets was computed with them."""
        if not self._any:
            return
        short = name.rpartition(".")[2]
        if short in _PRODUCTS:
            self._multiplied(run, call.values, result)
        elif short.rstrip("_") in _SUMS:
            self.operated(run, _SUMS[short.rstrip("_")], call.args, result, call.node)
        elif short in _JOINED:
            for value in leaves(*call.args):
                self._parted(run, self._of((value,)))
        elif (before := self._of(call.args[:1])) is not None:
            self._passed(run, short, before, result)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, _: p.Node) -> None:
        """An operator was applied: a product with weights, or a sum, which may leave nothing of what they have in common."""
        if not self._any:
            return
        if op == "@":
            self._multiplied(run, operands, result)
            return
        units = [self._of((operand,)) for operand in operands]
        before = units[0] or units[-1]
        if before is None or op not in "+-*/" or (op == "/" and units[0] is None):
            return
        others = [operand for operand, found in zip(operands, units, strict=True) if found is None]
        numbers = [number_of(run, operand) for operand in others]
        even = len(others) < len(operands) == len(others) + 1 and None not in numbers
        zero = before.zero and (op in "*/" or all(number == 0 for number in numbers))
        zero = zero and (op in "*/" or all(found.zero for found in units if found is not None))
        if even or zero:
            left = before._replace(alike=before.alike and even, zero=zero, offset=False)
            self._units[id(result)] = (result, left)
        else:
            for found in units:
                self._parted(run, found)

    def _multiplied(self, run: Run, operands: Args, result: Value) -> None:
        """Something is multiplied with a weight that is a parameter: it is a layer's work, done by hand."""
        before = self._of(operands)
        for operand in operands:
            weight = constants.parameter_of(operand)
            made = weight.fact(Fact.CONSTANT) if weight is not None else None
            shape = measured(weight).shape if weight is not None else None
            if weight is None or not isinstance(made, Constant) or len(shape or ()) < _MATRIX:
                continue
            self._meets(run, before, weight, made)
            added = [number_of(run, each) for each in operands if _is_bias(each)]
            units = Units(weight, made, alike=None not in added, zero=made.value == 0 and not any(added))
            if None in added:
                units = units._replace(zero=False)
            self._units[id(result)] = (result, units)
            return
        if before is not None and before.zero and not any(_is_bias(each) for each in operands):
            self._units[id(result)] = (result, before._replace(alike=False, offset=False))

    def _passed(self, run: Run, name: str, before: Units, result: Value) -> None:
        """What weights computed goes through a function."""
        name = "".join(name.lower().split("_")).removesuffix("1d").removesuffix("2d").removesuffix("3d")
        shut = before.zero and name in _CLOSED
        if shut:
            self._tell(run, before, closed=True)
        if name in _THROUGH_ZERO or name in _EVEN:
            zero, alike = before.zero and name in _THROUGH_ZERO, before.alike and name in _EVEN
            left = before._replace(alike=alike, zero=zero, offset=False, shut=before.shut or shut)
            self._units[id(result)] = (result, left)

    def _normalised(self, before: Units, norm: Module, output: Value) -> None:
        """A norm gives its bias where all units are 0. Those of a channel alone take away what its bias adds."""
        bias = bias_of(norm)
        alone = "BatchNorm" in norm.layer or "InstanceNorm" in norm.layer
        alike = bias is not None and (before.alike or (before.offset and alone))
        left = before._replace(alike=alike, zero=before.zero and bias == 0, offset=False)
        self._units[id(output)] = (output, left)

    def _meets(self, run: Run, before: Units | None, layer: Module | ParameterValue, weights: Constant) -> None:
        """A layer with constant weights gets what another such has computed: zeros, or the same for all of its units."""
        if before is not None and before.source is not layer and (before.alike or (before.zero and weights.value == 0)):
            self._tell(run, before)

    def _parted(self, run: Run, units: Units | None) -> None:
        """Something else gets what a constant layer has computed, and may give its units different gradients."""
        if units is not None and not units.shut:
            self._tell(run, units, identical=False)

    def _tell(self, run: Run, units: Units, *, identical: bool = True, closed: bool = False) -> None:
        source = units.source
        owner = source.fact(Fact.OWNER) if isinstance(source, ParameterValue) else None
        run.emit(
            ConstantWeights,
            units.made.site,
            module=source.id,
            class_name=source.layer if isinstance(source, Module) else _name(source, owner),
            value=units.made.value,
            identical=identical and source.fact(Fact.FROZEN) is False and not _is_narrow(source),
            built_at=owner.born if isinstance(owner, Module) else source.born,
            closed=closed,
        )

    def _of(self, values: Args) -> Units | None:
        """What the first of these values that constant weights computed was computed by."""
        found = (self._units.get(id(value), (None, None))[1] for value in values)
        return next((units for units in found if units is not None), None)


@library_family(lambda name: name.startswith(INIT), stage=Stage.NOTE)
def initialised(run: Run, name: str, call: Call) -> None:
    """One of the functions of `torch.nn.init`, which writes in place."""
    if (tensor := call.argument(0, "tensor")) is not None:
        writing.write(run, tensor)
    if run.watches(ConstantLayers):
        run.of(ConstantLayers).initialised(run, name.removeprefix(INIT), call)


def _has_units(module: Module) -> bool:
    name = module.layer.rpartition(".")[2]
    return module.cls is None and (name == "Linear" or name.startswith("Conv"))


def _is_narrow(layer: Module | ParameterValue) -> bool:
    """Whether a layer has only one unit."""
    if isinstance(layer, ParameterValue):
        return 1 in (measured(layer).shape or ())[-_MATRIX:]
    width = layer.given[1] if len(layer.given) > 1 else layer.settings.get("out_features")
    return isinstance(width, Const) and width.value == 1


def _is_bias(value: Value) -> bool:
    """Whether something that is given to a product is added to it: it has one dimension."""
    parameter = constants.parameter_of(value)
    return parameter is not None and len(measured(parameter).shape or ()) == 1


def _name(parameter: ParameterValue, owner: Value | None) -> str:
    """What a parameter is called: the attribute that it is."""
    fields = owner.fields.items() if isinstance(owner, Module) else ()
    return next((str(name) for name, value in fields if value is parameter), "the tensor")


def _is_even(module: Module) -> bool:
    """Whether a layer treats all units alike: it has nothing to train, and draws no random numbers."""
    return module.table is not None and not module.table.parameters and module.sensitive is False
