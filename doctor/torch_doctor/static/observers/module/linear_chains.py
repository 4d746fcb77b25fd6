"""Linear layers that get what another linear layer gives, as it is, where nothing else reads that."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program import reads
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import Const, Fact, Lib, Making, Module, ParameterValue, Params, shapes
from torch_doctor.static.values.identity import symbol_of
from torch_doctor.trace import LinearsChained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_LINEAR: Final = "torch.nn.Linear"
_SEQUENTIAL: Final = "torch.nn.Sequential"
_PARAMETRIZES: Final = "torch.nn.utils.parametri"
"""What the names begin with of functions that compute weights from others."""
_VIEWS: Final = frozenset(words("view reshape flatten contiguous squeeze unsqueeze"))
"""What may leave a tensor as it is."""
_SIZES: Final = frozenset(words("shape size dim ndim dtype device"))
_STEPS: Final = 4
"""Variables that an output goes through."""


class Output(NamedTuple):
    """An output of a linear layer: of which, the call as the source has it, and the modules around, outermost first."""

    layer: Module
    node: p.Node
    function: object
    around: tuple[Module, ...]


class LinearChains(Observer, called=(Named(Lib, lambda name: name.startswith(_PARAMETRIZES)),)):
    """Watches what linear layers give and get."""

    writes = (LinearsChained,)

    _outputs: dict[Making, Output] = per_run(dict)
    _calls: dict[int, list[int]] = per_run(dict)  # of each layer: how often it was called, and with another's output
    _told: dict[tuple[int, int], LinearsChained] = per_run(dict)
    _shared: set[int] = per_run(set)  # the numbers of layers whose weights are those of others

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """The weights of a layer are computed from others."""
        self._shared |= {each.id for each in call.values if isinstance(each, Module)}

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """Weights become an attribute of something else: they are tied."""
        if isinstance(value, Params):
            self._shared |= value.modules
        if isinstance(holder, Module) and isinstance(value, (Params, ParameterValue)):
            self._shared.add(holder.id)

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A layer was called: note its output, and whether its input is the output of another."""
        if module.layer != _LINEAR or module.cls is not None or result.flow.graph is False:
            return  # what runs without a graph is not trained there
        counts = self._calls.setdefault(module.id, [0, 0])
        counts[0] += 1
        made, before = made_of(result), self._before(call.argument(0, "input"))
        output = Output(module, call.node, run.frame.what, run.modules_called)
        if made is not None:
            self._outputs[made] = output
        if before is not None:
            counts[1] += 1
            self._told_of(run, before, output)
        for (first, second), event in self._told.items():
            if module.id in (first, second) and first != second:
                outputs, of_second = self._calls[first][0], self._calls[second]
                run.trace.replace(event, outputs=outputs, others=of_second[0] - run.trace.latest(event).passed)

    def _before(self, given: Value | None) -> Output | None:
        """The layer whose output something is, unchanged."""
        made = None if given is None else made_of(given)
        while made is not None and made.name in _VIEWS and made.args:
            inner = made.args[0]
            if given is None or not _is_unchanged(inner, given):
                return None
            given, made = inner, made_of(inner)
        return None if made is None else self._outputs.get(made)

    def _told_of(self, run: Run, first: Output, second: Output) -> None:
        one, other = first.layer, second.layer
        event = self._told.get((one.id, other.id))
        if event is not None:
            run.trace.replace(event, passed=run.trace.latest(event).passed + 1)
            return
        if not second.around or first.around != second.around or one.fact(Fact.OWNER) is not other.fact(Fact.OWNER):
            return  # parts are made to be used with others: the head of one may follow the end of another
        if one is other and not _are_several(run, first, second):
            return
        own = {one.id, other.id}.isdisjoint(self._shared) and _is_plain(one) and _is_plain(other)
        if not own or not _is_wide(one, other) or not (_has_bias(one) or _has_bias(other)):
            return
        chained = _is_chained(first, second)
        if not chained and not _is_read_once(run, first, second):
            return
        site = other.born if chained and other.born is not None else run.site(second.node)
        name = run.text(second.node) if not chained else other.class_name.removeprefix("torch.")
        self._told[one.id, other.id] = run.emit(
            LinearsChained,
            site,
            name=name,
            first=one.id,
            second=other.id,
            first_at=one.born,
            second_at=other.born,
            outputs=1,
            passed=1,
        )


def _is_unchanged(before: Value, after: Value) -> bool:
    """Whether a view has the sizes of what it is a view of."""
    one, other = measured(before).shape, measured(after).shape
    if one is None or other is None or shapes.ANY in (*one, *other) or len(one) != len(other):
        return False
    rows = len(one) == 2 and other[1] in (None, one[1])
    return rows or (one == other and None not in one)


def _is_plain(layer: Module) -> bool:
    """Whether a layer trains, has weights of its own, and nothing runs around it."""
    frozen = layer.fact(Fact.FROZEN) is not False or layer.fact(Fact.MAY_BE_FROZEN)
    own = not {"weight", "bias"} & layer.fields.keys()
    return own and not frozen and not layer.shell and layer.fact(Fact.AROUND) is None


def _has_bias(layer: Module) -> bool:
    given = _setting(layer, 2, "bias")
    return given is None or (isinstance(given, Const) and given.value is True)


def _are_several(run: Run, first: Output, second: Output) -> bool:
    """Whether a layer stands for several of a list, and what is called is the next one in each pass of a loop over them."""
    owner, node = first.layer.fact(Fact.OWNER), second.node
    content = module_parts.listed(owner) if isinstance(owner, Module) else None
    if content is None or content.rest is not first.layer or not isinstance(node, p.Call) or node is not first.node:
        return False
    body: Sequence[p.Stmt] = run.frame.unit.program.body if run.frame.what is None else run.frame.what.node.body
    loops = [each for each in walk(*body) if isinstance(each, p.For) and reads.is_within(node, each)]
    return any(
        isinstance(node.func, p.Name) and node.func.id == target.id for each in loops for target in reads.targets(each)
    )


def _is_wide(first: Module, second: Module) -> bool:
    """Whether the width between two layers is surely not smaller than both ends."""
    between = _setting(first, 1, "out_features")
    if first is second:  # it stands for several
        return _is_at_least(between, _setting(first, 0, "in_features"))
    ends = (_setting(first, 0, "in_features"), _setting(second, 1, "out_features"))
    return any(_is_at_least(between, each) for each in ends)


def _is_at_least(width: Value | None, other: Value | None) -> bool:
    if width is None or other is None:
        return False
    if isinstance(width, Const) and isinstance(other, Const):
        sizes = (width.value, other.value)
        return all(isinstance(each, int) for each in sizes) and sizes[0] >= sizes[1]  # type: ignore[operator]
    return symbol_of(width) == symbol_of(other)


def _setting(layer: Module, place: int, name: str) -> Value | None:
    return layer.given[place] if len(layer.given) > place else layer.settings.get(name)


def _is_chained(first: Output, second: Output) -> bool:
    """Whether a `Sequential` gives the output of one to the other."""
    if first.node is not second.node:
        return False
    common = [one for one, other in zip(first.around, second.around, strict=False) if one is other]
    if not common or common[-1].layer != _SEQUENTIAL or common[-1].cls is not None:
        return False
    content = module_parts.listed(common[-1])
    if content is None or content.rest is None or content.rest is second.layer:
        return True
    return any(one is first.layer and other is second.layer for one, other in pairwise(content.items))


def _is_read_once(run: Run, first: Output, second: Output) -> bool:
    """Whether the call of the second layer is all that reads the output of the first, in the function that calls both."""
    if first.function is not second.function or not isinstance(second.node, p.Call):
        return False
    given = _unviewed(next(iter((*second.node.args, *(value for _, value in second.node.keywords))), None))
    if given is first.node and first.node is not second.node:
        return True
    body: Sequence[p.Stmt] = run.frame.unit.program.body if run.frame.what is None else run.frame.what.node.body
    inside = list(walk(*body))
    asked = {id(each.value) for each in inside if isinstance(each, p.Attribute) and each.name in _SIZES}
    value: p.Node = first.node
    for _ in range(_STEPS):
        read = _only_read(body, inside, value, second.node, asked)
        if read is None or read is given:
            return read is not None
        value = read
    return False


def _only_read(
    body: Sequence[p.Stmt], inside: Sequence[p.Node], value: p.Node, reader: p.Node, asked: set[int]
) -> p.Name | None:
    """The only read of the variable that a value, or a view of it, is assigned to, apart from those `asked` for sizes."""
    statement = next((each for each in inside if isinstance(each, p.Assign) and _unviewed(each.value) is value), None)
    name = statement.targets[0] if statement is not None and len(statement.targets) == 1 else None
    if statement is None or not isinstance(name, p.Name):
        return None
    found = [each for each in reads.reads_of(body, statement, name.id) or () if id(each) not in asked]
    loops = [each for each in inside if isinstance(each, p.For) and reads.is_within(statement, each)]
    loop = max(loops, key=lambda each: each.at[:2], default=None)
    if loop is not None and value is reader:  # the output of the last layer alone leaves the loop
        found = [each for each in found if reads.is_within(each, loop)]
    elif loop is not None and not reads.is_within(reader, loop):  # and no other does
        found = [each for each in found if not reads.is_within(each, statement)]
    return found[0] if len(found) == 1 else None


def _unviewed(node: p.Node | None) -> p.Node | None:
    """What an expression takes views of."""
    while isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name in _VIEWS:
        node = node.func.value
    return node
