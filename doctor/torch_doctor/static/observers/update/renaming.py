"""Copies of models that are none: what a script treats as a second model, and is another name of the first."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.training.checkpoint import snapshots
from torch_doctor.static.training.module import identity, module_parts, written_forwards
from torch_doctor.static.values import (
    Bound,
    Call,
    ClassValue,
    Fact,
    FunctionValue,
    Lib,
    Making,
    Mapping,
    Method,
    Module,
    Params,
    Sequence,
    Tensor,
    Value,
)
from torch_doctor.trace import Renamed

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.training.module.identity import Key, Thing
    from torch_doctor.static.values.functions import Frame
    from torch_doctor.trace import Site

_OF_PARAMETERS = frozenset(("parameters", "named_parameters"))
_PAIR = 2
_DEEP = 3
"""Operations between what changes in place and a parameter that goes into it."""


class Renaming(
    Lasting,
    Observer,
    calling=(FunctionValue, Bound, ClassValue),
    called=(Named(Method, ("load_state_dict", "state_dict")), Named(Lib, ("builtins.zip",))),
    computed="-",
    made=("add_", "copy_", "lerp_", "sub_"),
):
    """Follows the names of modules and of their parameters, and asks where two of them are used as two models."""

    writes = (Renamed,)

    _things: dict[Key, Thing] = per_run(dict)  # what each name has now
    _aliases: dict[Key, identity.Alias] = per_run(dict)
    _names: dict[Thing, set[Key]] = per_run(dict)
    _passed: dict[Key, tuple[Frame, p.Expr]] = per_run(dict)  # what parameters of functions were given, and where
    _call: tuple[Call, Frame] | None = per_run()  # the call of the project's that was evaluated last
    _forwards: dict[int, identity.Called] = per_run(dict)
    _paired: dict[tuple[int, Thing], Key] = per_run(dict)  # what a function goes through beside parameters
    _states: dict[int, tuple[int, Key]] = per_run(dict)  # whose state an event took, under which name
    _told: set[Site] = per_run(set)

    # --- names ---

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """A variable, an attribute or an item gets a module or parameters; anything else takes its name away."""
        for target in node.targets if not run.modules_called else ():
            pairs = [(target, value)]
            if isinstance(target, p.Display) and isinstance(value, Sequence):
                pairs = list(zip(target.items, value.content.items, strict=False))
            for each, given in pairs:
                key = identity.key_of(run.frame, each) or identity.new_key(run.frame, each)
                alone = len(node.targets) == len(pairs) == 1
                if key is not None:
                    self._named(run, key, given, node, (run.text(each), alone))
                    for name, item in identity.items_of(key, given):
                        self._named(run, name, item, node, (f"{run.text(each)}[{name[-1]!r}]", False))

    def _named(self, run: Run, key: Key, value: Value, node: p.Assign, target: tuple[str, bool]) -> None:
        """A name gets a value; `target` is how it is spelled, and whether it gets all that is assigned there."""
        thing = identity.thing_of(value)
        before = self._things.get(key)
        if thing == before:
            return
        if before is not None:
            self._names[before].discard(key)
            del self._things[key]
            self._aliases.pop(key, None)
        if thing is not None:
            others, text = self._names.setdefault(thing, set()), run.text(node.value)
            if others or not isinstance(thing, int):
                spelled, alone = target
                parameters = not isinstance(thing, int)
                of = (parameters, not alone, self._source(run, node.value, thing))
                self._aliases[key] = identity.Alias(run.trace.next, run.site(node), spelled, text, *of)
            self._things[key] = thing
            others.add(key)

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """A function of the project is about to be entered."""
        self._call = None if run.modules_called else (call, run.frame)

    @override
    def given(self, run: Run, function: FunctionValue, parameters: AbstractMapping[object, Value]) -> None:
        """Remember which expressions the parameters stand for."""
        node = None if self._call is None else self._call[0].node
        if self._call is None or not isinstance(node, p.Call):
            return
        (call, frame), self._call = self._call, None
        plain = [each.name for each in function.node.parameters if each.kind == "plain"]
        if function.owner is not None and function.style != "static":
            del plain[:1]
        given = [*zip(plain, call.args, node.args, strict=False)]
        given += [(name, call.keywords[name], each) for name, each in node.keywords if name in call.keywords]
        for name, value, expression in given:
            if isinstance(value, (Module, Mapping, Sequence)) and parameters.get(name) is value:
                self._passed[run.frame.id, name] = frame, expression

    # --- what shows that a copy is meant ---

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """States are taken or loaded, or two things are gone through side by side."""
        node = call.node
        if not self._aliases or not isinstance(node, p.Call):
            return
        if isinstance(func, Lib):
            self._zipped(run, call, node)
        elif isinstance(func, Method) and isinstance(func.of, Module) and isinstance(node.func, p.Attribute):
            key = self._key(run, node.func.value)
            if func.name == "state_dict" and key is not None:
                self._states.update(dict.fromkeys(snapshots.states_in(run, result).taken, (func.of.id, key)))
            elif func.name != "state_dict" and node.args and isinstance(node.args[0], p.Call):
                for number, other in self._state(run, call.args[0]):
                    if number == func.of.id:
                        self._same(run, number, [key, other], node, "loaded")

    def _state(self, run: Run, value: Value, deep: int = 0) -> set[tuple[int, Key]]:
        """The modules, with their names, whose state a value is or lies in; with `deep`, that it was computed of."""
        taken = snapshots.states_in(run, value).taken & self._states.keys()
        found = {self._states[number] for number in taken}
        made = value.meta if deep and isinstance(value, Tensor) else None
        if isinstance(made, Making) and not found:
            found.update(*(self._state(run, each, deep - 1) for each in made.args))
        return found

    def _zipped(self, run: Run, call: Call, node: p.Call) -> None:
        """Parameters are gone through beside others: those of another model, if they are meant to be."""
        things = [identity.thing_of(value) if isinstance(value, (Params, Sequence)) else None for value in call.args]
        if len(things) != _PAIR or things[0] is None or things[0] != things[1] or len(node.args) != _PAIR:
            return
        owners = [self._owner(run, each) for each in node.args]
        modules = {self._things.get(key) for key in owners if key is not None}
        if None not in owners and len(modules) == 1 and isinstance(number := modules.pop(), int):
            self._same(run, number, owners, node, "averaged")
            return
        keys = [key for key in map(self._key, [run] * _PAIR, node.args) if key in self._aliases]
        if len(keys) == 1 and not isinstance(things[0], int):
            self._paired[run.frame.id, things[0]] = keys[0]

    def _owner(self, run: Run, node: p.Expr) -> Key | None:
        """The name of the module whose `.parameters()` this is."""
        if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name in _OF_PARAMETERS:
            return self._key(run, node.func.value)
        return None

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """Parameters get other memory: what was kept of them is theirs no more."""
        if target.name == "data" and isinstance(holder, Params):
            for key in [each for each, alias in self._aliases.items() if alias.parameters]:
                if self._things[key] == holder.modules:
                    del self._aliases[key]

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """A parameter changes in place: an average, if another one goes into it."""
        if isinstance(value, Params) and self._aliases:
            for other in call.args:
                self._together(run, value, identity.parameter_of(other, deep=_DEEP), call.node, "averaged")

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A tensor of a state changes in place, and one of a state goes into it."""
        if not self._states:
            return
        for number, key in self._state(run, call.args[0], _DEEP):
            for owner, other in chain.from_iterable(self._state(run, each, _DEEP) for each in call.args[1:]):
                if owner == number:
                    self._same(run, number, [key, other], call.node, "averaged")

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Parameters, or what modules computed, are compared."""
        if len(operands) == _PAIR and self._aliases:
            self._compared(run, operands[0], operands[1], node)

    def _together(self, run: Run, one: Params | None, other: Params | None, node: p.Node, how: str) -> None:
        """Parameters are used with those of the same module that lie in a container."""
        if one is None or other is None or one.modules != other.modules or not (one.single and other.single):
            return
        keys = {key for each in identity.holders_in(node) if (key := self._key(run, each)) in self._aliases}
        keys = {key for key in keys if self._things[key] == one.modules}
        key = keys.pop() if len(keys) == 1 else None
        if key is None and len(set(identity.parameters_named(run.frame, node, one.modules))) == _PAIR:
            key = self._paired.get((run.frame.id, one.modules))
        if key is not None:
            self._tell(run, self._aliases[key], one.modules, node, how)

    # --- what modules compute of the same ---

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A module is called under one of its names."""
        if run.modules_called or not self._aliases or not isinstance(call.node, p.Call):
            return
        key, event = self._key(run, call.node.func), written_forwards.last(run)
        if (
            key is not None
            and event is not None
            and event.module == module.id
            and len(self._names.get(module.id, ())) > 1
        ):
            self._forwards[event.index] = identity.Called(module.id, key, call.values, run.scope)

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss compares what modules computed."""
        if len(values) >= _PAIR and self._aliases:
            self._compared(run, values[0], values[1], node)

    def _compared(self, run: Run, one: Value, other: Value, node: p.Node) -> None:
        """Tell of a module that is compared with itself: the same inputs, the same weights, the graph on one side only."""
        self._together(run, identity.parameter_of(one), identity.parameter_of(other), node, "subtracted")
        if not self._forwards:
            return
        for left, right in ((one, other), (other, one)):
            cut = left.flow.forwards - left.flow.graph_forwards
            for number in cut & self._forwards.keys() if left.flow.graph is False else ():
                kept = self._forwards[number]
                for index in right.flow.graph_forwards & self._forwards.keys():
                    learner = self._forwards[index]
                    if identity.alike(kept, learner):
                        self._same(run, kept.module, [kept.key, learner.key], node, "compared")

    # --- telling ---

    def _same(self, run: Run, number: int, keys: list[Key | None], node: p.Node, how: str) -> None:
        """Tell of two names of a module that are meant to be two: the first one is the copy, of an average the later one."""
        names = [key for key in keys if key is not None]
        if len(names) < len(keys):
            return
        pairs = zip(names, reversed(names), strict=True)
        found = [
            each
            for key, other in pairs
            if (each := identity.parted(self._aliases, key, other)) and self._things.get(key) == number
        ]
        module = run.objects.get(number)
        if len(set(keys)) == _PAIR and found and isinstance(module, Module) and not module.fact(Fact.SEVERAL):
            alias = max(found, key=lambda each: each.order) if how == "averaged" else found[0]
            self._tell(run, alias, module_parts.parts_of(run, module).owners, node, how)

    def _source(self, run: Run, node: p.Expr, thing: Thing) -> Key | None:
        """The name that a thing was taken from: itself, or as an argument of a function that gave it back."""
        inside = (node, *node.args) if isinstance(node, p.Call) else (node,)
        keys = [self._key(run, each) for each in inside]
        return next((key for key in keys if key is not None and self._things.get(key) == thing), None)

    def _tell(self, run: Run, alias: identity.Alias, modules: frozenset[int], node: p.Node, how: str) -> None:
        if alias.site in self._told:
            return
        self._told.add(alias.site)
        fields = {"name": alias.name, "model": alias.model, "parameters": alias.parameters, "several": alias.several}
        run.emit(Renamed, alias.site, **fields, treated=how, treated_at=run.site(node), modules=modules)

    def _key(self, run: Run, node: p.Expr) -> Key | None:
        """What identifies the name that an expression of the function that is executed stands for."""
        return self._resolved(run.frame, node)

    def _resolved(self, frame: Frame, node: p.Expr) -> Key | None:
        if isinstance(node, p.Name) and (frame.id, node.id) in self._passed:
            return self._resolved(*self._passed[frame.id, node.id])
        if isinstance(node, p.Index):
            base = self._resolved(frame, node.value)
            return (*base, node.key.value) if base is not None and isinstance(node.key, p.Const) else base
        if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name in _GIVES_ITSELF:
            return self._resolved(frame, node.func.value)
        return identity.key_of(frame, node)


_GIVES_ITSELF = frozenset(("eval", "train", "to", "cuda", "cpu", "float", "double", "half", "requires_grad_"))
