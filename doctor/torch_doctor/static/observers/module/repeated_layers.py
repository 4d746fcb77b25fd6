"""Lists that hold one module several times: `[layer] * n` and `[layer for _ in range(n)]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import layers
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import Call, Const, Either, Module, Object, Sequence, Spread, Value
from torch_doctor.trace import Repeated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run


_LISTS = {*layers.CONTAINERS, *layers.PARAMETER_CONTAINERS}


class Repetitions(Observer):
    """Modules that a list holds several times."""

    writes = (Repeated,)

    _events: dict[int, Repeated] = per_run(dict)  # by the numbers of the modules

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """A list is multiplied: the modules in it are repeated."""
        if op != "*" or not isinstance(node, p.Operation) or not any(isinstance(each, Sequence) for each in operands):
            return
        content, times = operands if isinstance(operands[0], Sequence) else operands[::-1]
        listed = node.operands[0 if content is operands[0] else 1]
        if not isinstance(content, Sequence) or (isinstance(times, Const) and times.value in (0, 1)):
            return
        elements = listed.items if isinstance(listed, p.Display) else (listed,) * len(content.content.items)
        for element, value in zip(elements, content.content.items, strict=False):
            if isinstance(value, Module):
                often = times.value if isinstance(times, Const) and isinstance(times.value, int) else 0
                self._write(run, node, value, element, often)

    @override
    def comprehended(self, run: Run, node: p.Comprehension, items: list[Value], exact: bool) -> None:  # noqa: FBT001 - as the hook has it
        """A comprehension may name the same module in each pass."""
        name: p.Expr = node.element
        while isinstance(name, p.Attribute):
            name = name.value
        if node.kind == "dict" or not isinstance(name, p.Name) or not items or (exact and len(items) == 1):
            return
        own = {target for clause in node.clauses for target in _names(clause.target)}
        first = items[0]
        if isinstance(first, Module) and name.id not in own and all(item is first for item in items):
            self._write(run, node, first, node.element, len(items) if exact else 0)

    @override
    def built(self, run: Run, thing: Object, call: Call) -> None:
        """A list of modules is built of these."""
        if isinstance(thing, Module) and thing.cls is None and thing.layer in _LISTS:
            self._put_together(run, call.values, call.node)

    @override
    def registered(self, run: Run, _: Module, __: str, values: Iterable[Value], node: p.Node) -> None:
        """A module gets these."""
        self._put_together(run, values, node)

    def _put_together(self, run: Run, values: Iterable[Value], node: p.Node) -> None:
        """Note that the members of a list become layers: of what is repeated among them this shows that it was meant so."""
        seen: set[int] = set()
        for value in values if self._events else ():
            for rest, item in _items(value):
                event = self._events.get(item.id) if isinstance(item, Module) else None
                if event is not None and isinstance(item, Module) and (rest or item.id in seen):
                    registered_at = run.trace.latest(event).registered_at or run.site(node)
                    run.trace.replace(event, registered_at=registered_at)
                if isinstance(item, Module):
                    seen.add(item.id)

    def _write(self, run: Run, node: p.Node, module: Module, element: p.Expr, times: int) -> None:
        self._events[module.id] = run.emit(
            Repeated,
            node,
            module=module.id,
            class_name=module.class_name,
            name=run.text(element),
            times=times,
            trainable=module_parts.trainable(run, module),
            built_at=module.born,
            chosen=run.frame.chosen > 0,
        )


def _items(value: Value) -> Iterable[tuple[bool, Value]]:
    """The members that a value brings, each with whether it stands for many."""
    if not isinstance(value, (Spread, Sequence)):
        return [(False, value)]
    content = value.content
    several: list[Value] = [each for each in content.items if isinstance(each, Either)]
    alone = [each for each in content.items if not isinstance(each, Either)]
    several += [] if content.rest is None else [content.rest]
    return [*((False, item) for item in alone), *((True, item) for each in several for item in _options(each))]


def _options(value: Value) -> Iterable[Value]:
    return [option for _, option in value.options] if isinstance(value, Either) else [value]


def _names(target: p.Expr) -> Iterable[str]:
    if isinstance(target, p.Name):
        return [target.id]
    return [name for item in target.items for name in _names(item)] if isinstance(target, p.Display) else []
