"""Layers and parameters that a module makes while it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    Const,
    Fact,
    Making,
    Module,
    Object,
    ParameterValue,
    Params,
    Plain,
    Tensor,
    Unknown,
    Value,
    latest,
    leaves,
)
from torch_doctor.trace import BuiltInForward, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Guards, Site


class _Entry(Struct, frozen=True):
    """When a forward began: how many branches were around, under which guards, and the newest object."""

    branches: int = 0
    guards: Guards = frozenset()
    newest: int = 0


class _Made(Struct, frozen=True):
    """What a forward made: whether a branch of it decided that, whose forward it was, and the newest object before it."""

    guarded: bool
    owner: Module
    newest: int


_DRAWS = frozenset({"uniform_", "normal_", "random_", "bernoulli_", "exponential_", "log_normal_", "cauchy_"})
_AFFINE = ("affine", "elementwise_affine")


class Constructions(Observer):
    """Where layers and parameters are built while a module is called."""

    writes = (BuiltInForward,)

    _entries: dict[int, _Entry] = per_run(dict)  # by the number of the module whose forward it is
    _made: dict[int, _Made] = per_run(dict)  # by the number of the module that was made
    _parameters: dict[ParameterValue, Module] = per_run(dict)  # those that a forward made, until it returns
    _reported: set[Site] = per_run(set)

    @override
    def built(self, run: Run, made: Object, _: Call) -> None:
        """A module was constructed; where that is within a forward, it is remembered until it is called."""
        if isinstance(made, Module) and run.modules_called and not run.building:
            owner = run.modules_called[-1]
            self._made[made.id] = _Made(self.guarded(run), owner, self._entries.get(owner.id, _Entry()).newest)

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A module is called: within a forward, one that was made there is written."""
        if run.modules_called:
            self._called(run, module, call.node)
        self._entries[module.id] = _Entry(len(run.branches), run.guards, latest())

    @override
    def attribute_set(self, _: Run, holder: Value, __: p.Attribute, value: Value, ___: p.Node) -> None:
        """What nobody can follow gets a parameter: it may be frozen there, or only give its numbers."""
        if isinstance(holder, Unknown) and isinstance(value, ParameterValue):
            self._parameters.pop(value, None)

    @override
    def left(self, run: Run, module: Module, _: Call, __: Value) -> None:
        """A forward has returned: parameters that it made are written, unless it froze them or gave their numbers away."""
        waiting = [made for made, owner in self._parameters.items() if owner is module]
        for made in waiting:
            del self._parameters[made]
            if made.born is not None and made.born not in self._reported and made.fact(Fact.FROZEN) is False:
                self._report(run, made.born, module)

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights got their values from somebody."""
        for given in call.values:
            if isinstance(given, ParameterValue):
                self._parameters.pop(given, None)
        if isinstance(value, Module):
            run.heap.set(value.facts, Fact.WEIGHTS_GIVEN, value=True)
        elif isinstance(value, Params):
            for number in value.modules & self._made.keys():
                thing = run.objects.get(number)
                if isinstance(thing, Module):
                    run.heap.set(thing.facts, Fact.WEIGHTS_GIVEN, value=True)

    @override
    def called(self, run: Run, _: Value, call: Call, result: Value) -> None:
        """A parameter is made: within a forward it is remembered, where it holds numbers of its own and not computed ones."""
        if not isinstance(result, ParameterValue) or not result.declared or result.born != run.site(call.node):
            return
        if not run.modules_called or run.building or self.guarded(run) or call.argument(1, "requires_grad") is not None:
            return
        value = call.argument(0, "data")
        if not isinstance(value, Tensor) or value.flow.source not in (Source.DATA, Source.NOISE):
            return
        if value.flow.forwards or value.flow.graph is not False or _of_weights(value):
            return
        if not _noise_beside(value):
            self._parameters[result] = run.modules_called[-1]

    def _report(self, run: Run, site: Site, owner: Module) -> None:
        self._reported.add(site)
        run.emit(
            BuiltInForward,
            site,
            owner=owner.id,
            owner_class=owner.class_name,
            class_name="torch.nn.Parameter",
            used_at=site,
        )

    def guarded(self, run: Run) -> bool:
        """Whether a branch of the forward around decides that this point is reached."""
        entry = self._entries.get(run.modules_called[-1].id, _Entry())
        return (len(run.branches), run.guards) != (entry.branches, entry.guards)

    def _called(self, run: Run, made: Module, node: p.Node) -> None:
        """Write a module that was made in this forward, and is called there.

        Not one that became part of a module behind a branch, which may be taken once; nor one whose weights were given
        to it.
        """
        found = self._made.get(made.id)
        if found is None or made.born is None or made.born in self._reported:
            return
        registered = made.fact(Fact.REGISTERED)
        directly = isinstance(node, p.Call) and isinstance(node.func, p.Call)
        if found.guarded and (registered or not directly):
            return
        given = made.fact(Fact.WEIGHTS_GIVEN) or any(name in made.fields for name in ("weight", "bias"))
        settings = (made.settings.get(name) for name in _AFFINE)
        told = [value for value in settings if value is not None]
        plain = not all(isinstance(value, Const) and value.value for value in told)
        parts = module_parts.parts_of(run, made).parts
        if given or plain or not any(_is_new(run, part, found.newest) for part in parts):
            return
        self._reported.add(made.born)
        run.emit(
            BuiltInForward,
            made.born,
            owner=found.owner.id,
            owner_class=found.owner.class_name,
            class_name=made.class_name,
            used_at=run.site(node),
            registered=registered,
        )


def _is_whole_size(value: Value | None) -> bool:
    """Whether it is the shape of a tensor, and no single dimension."""
    if not isinstance(value, Plain):
        return False
    size = value.size
    told = isinstance(size, Making) and size.name in ("shape", "size") and size.of is None
    return told or value.symbol[-1] == "shape"


def _of_weights(value: Tensor) -> bool:
    """Whether weights went into it: the average of old ones and new rows renews them, and draws nothing."""
    return any(isinstance(each, (Module, Params, ParameterValue)) for each in leaves(value, more={Tensor: _went_into}))


def _went_into(value: Tensor) -> tuple[Value, ...]:
    """What a tensor was computed of, the layer that did it included."""
    made = value.meta
    if not isinstance(made, Making):
        return ()
    return (*made.args, *made.keywords.values(), *((made.of,) if isinstance(made.of, Module) else ()))


def _noise_beside(value: Tensor) -> bool:
    """Whether it is drawn with the whole size of another tensor: noise that is added to that one, and no weight."""
    made, drawn = value.meta, False
    while isinstance(made, Making):
        drawn = drawn or made.name.startswith("rand") or made.name in _DRAWS
        first = made.args[0] if made.args else None
        if made.name.endswith("_like") or (len(made.args) == 1 and _is_whole_size(first)):
            return drawn
        made = first.meta if isinstance(first, Tensor) else None
    return False


def _is_new(run: Run, part: Module, before: int) -> bool:
    """Whether a part has weights that were drawn since the forward began, and may be trained."""
    weights = part.id > before and module_parts.has_parameters(run, part) is True
    return weights and part.fact(Fact.FROZEN) is False
