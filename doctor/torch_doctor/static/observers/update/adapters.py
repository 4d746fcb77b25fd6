"""Adapters, and what becomes of them and of what they adapt where the model goes backward."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.flow import NONE
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import frameworks, wrappers
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.update import adapters
from torch_doctor.static.values import (
    NOTHING,
    Call,
    Const,
    Fact,
    Lib,
    Method,
    Module,
    Object,
    Optimizer,
    ParameterValue,
    Params,
    Sequence,
    Tensor,
    Tool,
    Value,
    leaves,
)
from torch_doctor.trace import AdapterTrained

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSet

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

_ZEROS = frozenset(("torch.nn.init.zeros_", "torch.nn.init.constant_"))


class Adapter(NamedTuple):
    """An adapter: the owners of its parameters, and of those that it was put into."""

    adapter: Module
    own: frozenset[int]
    base: frozenset[int]


class Adapters(
    Observer,
    read=(Module,),
    calling=(Named(Lib, frameworks.OWNERS), Named(Method, ("train",))),
    computed="+",
):
    """What has an adapter: by a library, or by a module that adds the product of two small matrices to a layer's output."""

    writes = (AdapterTrained,)

    _written: dict[int, Adapter] = per_run(dict)  # modules of the project that may be adapters, by their numbers
    _of_base: dict[int, Adapter] = per_run(dict)
    _shared: set[int] = per_run(set)  # layers with several adapters
    _flagged: set[Site] = per_run(set)  # comprehensions that choose parameters by `requires_grad` alone
    _chosen: MutableSet[int] = per_path(
        set
    )  # optimizers that perhaps have only some parameters of what they were given
    _loaded: MutableSet[int] = per_path(set)  # modules whose weights were given
    _zero: MutableSet[int] = per_path(set)  # what was set to 0
    _outputs: dict[int, tuple[Value, Adapter]] = per_run(dict)  # of what is adapted, by their ids
    _added: set[int] = per_run(set)  # modules that add something to such an output
    _used: set[int] = per_run(set)  # modules whose own matrices were taken in a forward
    _called: set[int] = per_run(set)
    _off: list[tuple[range, adapters.Disabled]] = per_run(list)  # the events in a `with` that disables adapters
    _handed: dict[int, list[tuple[Adapter, dict[str, Any]]]] = per_run(dict)  # with what trainers got, by the model
    _told: set[tuple[object, ...]] = per_run(set)

    # --- what is an adapter ---

    @override
    def built(self, run: Run, thing: Object, call: Call) -> None:
        """A module of the project is built around one that it is given, with two matrices of its own."""
        if not isinstance(thing, Module) or thing.cls is None:
            return
        given = [value for value in map(run.resolve, call.values) if isinstance(value, Module)]
        inside = module_parts.parts_of(run, thing)
        if (
            len(given) != 1
            or given[0] not in inside.parts
            or inside.opaque
            or adapters.built_for_it(run, given[0], thing, call)
        ):
            return
        base = module_parts.parts_of(run, given[0]).owners
        own = frozenset(inside.owners - base - {thing.id})
        own -= {number for number in own if not adapters.has_weights(run, number)}
        matrices = [sizes for number in own if len(sizes := adapters.sizes(run.objects.get(number))) == adapters.PAIR]
        if len(matrices) == adapters.PAIR and adapters.low_rank(*matrices):
            known = Adapter(thing, own, base)
            self._shared |= {base.id for base in given if base.id in self._of_base}
            self._written[thing.id] = self._of_base[given[0].id] = known

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights are set in place: to 0, or to something else; those of a model are loaded."""
        if isinstance(value, Module):
            self._loaded |= {part.id for part in module_parts.parts_of(run, value).parts}
            return
        to_zero = call.method == "zero_" or (
            call.method == "fill_" and isinstance(call.argument(0), Const) and call.argument(0).value == 0  # type: ignore[union-attr]
        )
        self.filled(value, to_zero=to_zero)

    def filled(self, value: Value | None, *, to_zero: bool) -> None:
        """The numbers of parameters are set."""
        numbers = (
            value.modules if isinstance(value, Params) else {value.id} if isinstance(value, ParameterValue) else set()
        )
        if to_zero and not (isinstance(value, Params) and value.bias):
            self._zero |= numbers
        elif not to_zero:
            self._zero -= numbers

    def _starts_at_zero(self, run: Run, known: Adapter) -> bool:
        made = (run.objects.get(number) for number in known.own)
        drawn = (Tensor(meta=each.fact(Fact.MADE)) for each in made if isinstance(each, ParameterValue))
        return bool(known.own & self._zero) or any(run.ask(Filled, data) == 0 for data in drawn)

    # --- who trains it ---

    @override
    def comprehended(self, run: Run, node: p.Comprehension, _: list[Value], __: bool) -> None:  # noqa: FBT001 - a hook
        """Parameters may be chosen: by `requires_grad`, or by their names."""
        tests = [test for clause in node.clauses for test in clause.tests]
        whole = not any(isinstance(clause.over, p.Call) and _filters(clause.over) for clause in node.clauses)
        if whole and all(isinstance(test, p.Attribute) and test.name == "requires_grad" for test in tests):
            self._flagged.add(run.site(node))

    @override
    def called(self, _: Run, __: Value, call: Call, result: Value) -> None:
        """An optimizer takes parameters: all of a model, or some that were chosen one by one."""
        if isinstance(result, Optimizer):
            given = leaves(*call.values, decided=self._without_flagged)
            if any(isinstance(each, Params) and each.single for each in given):
                self._chosen.add(result.id)

    def _without_flagged(self, value: Value) -> Value:
        return NOTHING if isinstance(value, Sequence) and value.born in self._flagged else value

    # --- what it computes ---

    @override
    def entered(self, run: Run, module: Module, _: Call) -> None:
        """A matrix of an adapter is a layer, and is called."""
        if self._written:
            self._take(run, module.id)

    @override
    def read(self, run: Run, value: Value, name: str, _: p.Node) -> None:
        """Or it is a parameter, and is taken."""
        part = value.fields.get(name) if self._written and isinstance(value, Module) else None
        if isinstance(part, (ParameterValue, Module)):
            self._take(run, part.id)

    def _take(self, run: Run, number: int) -> None:
        self._used |= {each.id for each in run.modules_called if number in self._own_of(each.id)}

    def _own_of(self, number: int) -> frozenset[int]:
        known = self._written.get(number)
        return known.own if known is not None else frozenset()

    @override
    def left(self, run: Run, module: Module, _: Call, result: Value) -> None:
        """What is adapted, or the adapter, has returned."""
        known = self._of_base.get(module.id)
        if known is not None and known.adapter in run.modules_called:
            self._outputs[id(result)] = (result, known)
        if module.id in self._written:
            self._called.add(module.id)

    @override
    def computed(self, _: Run, op: str, operands: tuple[Value, ...], __: p.Node) -> None:
        """Something is added to the output of what is adapted."""
        if op == "+" and self._outputs:
            found = [self._outputs.get(id(operand)) for operand in operands]
            self._added |= {each[1].adapter.id for each in found if each is not None} if None in found else set()

    # --- where it is off ---

    @override
    def opened(self, run: Run, context: Value, _: p.Node) -> None:
        """A block begins in which adapters are disabled."""
        if isinstance(context, adapters.Disabled):
            self._off.append((range(len(run.trace.events), sys.maxsize), context))

    @override
    def closed(self, run: Run, context: Value, _: p.Node) -> None:
        """And ends."""
        if isinstance(context, adapters.Disabled) and self._off and self._off[-1][1] is context:
            self._off[-1] = (range(self._off[-1][0].start, len(run.trace.events)), context)

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """A trainer is built, which gets a model; or it is told to train that."""
        if isinstance(func, Method) and isinstance(func.of, Tool):
            for number in func.of.holds:
                for known, fields in self._handed.pop(number, ()):
                    self._tell(run, known, fields | {"handed": True})
            return
        framework = frameworks.OWNERS.get(func.name) if isinstance(func, Lib) else None
        model = call.argument(0, "model")
        if framework is not None and framework.owns_gradients and isinstance(model, Module):
            parts = module_parts.parts_of(run, model).parts if "peft_config" not in call.keywords else ()
            self._handed[model.id] = [(known, self._state(run, known)) for known in self._of_libraries(run, parts)]

    # --- where it trains ---

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """Gradients are computed: tell of every adapter behind the loss."""
        reached = forwards.reached(run, loss.flow.forwards) | loss.flow.modules
        for known in self._written.values():
            number, shared = known.adapter.id, bool(known.base & self._shared)
            joins = number in self._added or number in self._idle()
            if joins and not shared and known.own <= reached and self._starts_at_zero(run, known):
                self._tell(run, known, self._state(run, known, loss.flow.forwards))
        parts = [part for number in sorted(reached) if isinstance(part := run.objects.get(number), Module)]
        for known in self._of_libraries(run, parts):
            self._tell(run, known, self._state(run, known, loss.flow.forwards))

    def _idle(self) -> set[int]:
        """The modules that were called, and never took their own matrices."""
        return self._called - self._used

    def _of_libraries(self, run: Run, parts: list[Module] | tuple[Module, ...]) -> Iterator[Adapter]:
        layers = [part for part in parts if part.layer.startswith(wrappers.ADAPTER_LAYERS) and adapters.ranked(part)]
        own = frozenset(part.id for part in layers)
        others = frozenset(part.id for part in parts if part.id not in own and adapters.has_weights(run, part.id))
        loaded = [part for part in layers if part.id in self._loaded]
        if loaded and others:
            yield Adapter(loaded[0], own, others)
        for part in parts:
            if part.fact(Fact.ADAPTS) is not None:
                yield Adapter(part, frozenset((part.id,)), part.fact(Fact.ADAPTS))

    def _state(self, run: Run, known: Adapter, behind: frozenset[int] = NONE) -> dict[str, Any]:
        """What holds of an adapter now: fields of the event."""
        own, base = adapters.flags(run, known.own), adapters.flags(run, known.base)
        off, off_at = self._why_off(known, behind)
        if off == "skipped" and own[0] is not True:  # it went out of sight, where it may be used
            off = ""
        since = own[1] if own[1] == base[1] else None
        optimizers = [each for each in run.objects.of(Optimizer) if each.whole and each.id not in self._chosen]
        takers = frozenset(each.id for each in optimizers if known.own | known.base <= each.modules)
        flags = {"own_trains": own[0], "base_trains": base[0], "since": since}
        return {**flags, "off": off, "off_at": off_at, "takers": takers}

    def _tell(self, run: Run, known: Adapter, state: dict[str, Any]) -> None:
        adapter, site = known.adapter, known.adapter.born
        key = (adapter.id, *state.values())
        if site is not None and key not in self._told:
            self._told.add(key)
            fields: dict[str, Any] = {
                "adapter": adapter.id,
                "class_name": adapter.class_name,
                "own": known.own,
                "base": known.base,
            }
            run.emit(AdapterTrained, site, **fields, **state)

    def _why_off(self, known: Adapter, behind: frozenset[int]) -> tuple[str, Site | None]:
        """Why an adapter computed nothing in these forwards, and where that was asked for."""
        adapter = known.adapter
        for events, context in self._off:
            if adapter in context.adapters and behind and all(number in events for number in behind):
                return "disabled", context.born
        asked: tuple[str, Site] | None = adapter.fact(Fact.ADAPTER_OFF)
        if asked is not None:
            return asked
        return ("skipped", None) if adapter.id in self._idle() else ("", None)


@library_family(lambda name: name.startswith("torch.nn.init."), stage=Stage.NOTE)
def initialised(run: Run, name: str, call: Call) -> None:
    """One of the functions of `torch.nn.init`."""
    if run.watches(Adapters):
        value = call.argument(1, "val")
        zero = name in _ZEROS and (value is None or (isinstance(value, Const) and value.value == 0))
        run.of(Adapters).filled(call.argument(0, "tensor"), to_zero=zero)


def _filters(call: p.Call) -> bool:
    return isinstance(call.func, p.Name) and call.func.id == "filter"
