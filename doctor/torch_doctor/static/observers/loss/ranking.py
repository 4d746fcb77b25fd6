"""Functions that choose the largest scores along a dimension, and what their choice is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.libraries import measures
from torch_doctor.static.measuring import measured, size_at, with_facts
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.loss.class_axes import ClassAxes
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.data import array_calls, arrays
from torch_doctor.static.values import Const, Lib, Method, Plain, Sequence, Tensor, Tool
from torch_doctor.trace import Compared, Kind, Matched, Ranked, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_DIM: Final = {"argmax": 1, "max": 1, "topk": 2}
"""The position of `dim` after the tensor, by function."""
_LAST: Final = Const(-1)
_COMPARING: Final = frozenset(("eq", "ne", "==", "!="))
_ADDING: Final = frozenset(("update", "forward"))


class Ranking(Observer, called=(Method, Lib, Plain, Tool), computed=_COMPARING):
    """Along which dimension of what tensor the largest are looked for, and what answers of models are compared with."""

    writes = (Ranked, Compared, Matched)

    _classes: ClassAxes = per_run(ClassAxes)
    _chosen: dict[int, tuple[Tensor, int]] = per_run(
        dict
    )  # by the tensor's id: itself, and the event that it comes from

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Write a choice, follow it through other methods, and write what it is compared with."""
        of_array = array_calls.called(func, call) if isinstance(func, (Plain, Lib)) else None
        if _is_metric(func, call):
            self._scored(run, func, call)
        elif of_array is not None:
            made = arrays.tensor_of(result) or result
            self._followed(run, f"torch.{of_array[0]}", of_array[1], made, of_array=True)
        elif isinstance(func, Method):
            self._followed(run, f"torch.{func.name}", call.with_first(func.of), result)
        elif isinstance(func, Lib):
            self._followed(run, canonical(func.name), call, result)

    def _scored(self, run: Run, func: Value, call: Call) -> None:
        """Write a metric's own choice among scores, and what it compares them or a choice with."""
        scores, labels = call.argument(0, "preds"), call.argument(1, "target")
        if not isinstance(scores, Tensor) or not isinstance(labels, Tensor):
            return
        event = self._chosen[id(scores)][1] if id(scores) in self._chosen else None
        shapes = [measured(each).shape for each in (scores, labels)]
        if event is None and None not in shapes and len(shapes[0] or ()) == len(shapes[1] or ()) + 1:
            over = self._classes.are(run, scores, measures.CLASS_AXIS)
            fact = with_facts(run.fact(scores), scores)
            axis = measures.CLASS_AXIS
            event = run.emit(Ranked, call.node, function=_named(func), input=fact, dim=axis, over_classes=over).index
        if event is not None:
            run.emit(Compared, call.node, chosen=event, target=with_facts(run.fact(labels), labels))

    def _followed(self, run: Run, name: str, call: Call, result: Value, *, of_array: bool = False) -> None:
        short = name.removeprefix("torch.")
        if not self._chosen and short not in _DIM and short not in _COMPARING:
            return
        given = call.argument(0, "input")
        if short in _COMPARING:
            self.computed(run, short, call.values, call.node)
        elif id(given) in self._chosen and isinstance(result, Tensor) and result.kind is Kind.LABELS:
            self._chosen[id(result)] = result, self._chosen[id(given)][1]
        elif short in _DIM and isinstance(given, Tensor):
            dim = call.argument(_DIM[short], "dim", "axis", "**") or (_LAST if short == "topk" else None)
            along = None if dim is None else size_at(dim)
            if isinstance(along, int):
                fact = with_facts(run.fact(given), given)
                over = self._classes.are(run, given, along)
                known = {"over_classes": over, "of_array": of_array}
                event = run.emit(Ranked, call.node, function=name, input=fact, dim=along, **known)
                self._chosen |= {id(value): (value, event.index) for value in _places(result)}

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss takes one dimension of scores for the classes."""
        self._classes.used(run, values[0], run.site(node))

    @override
    def computed(self, run: Run, _: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Write a comparison of what was chosen with something else, and of tensors that are not alike."""
        operands = tuple(arrays.tensor_of(each) or each for each in operands)
        _match(run, operands, node)
        for value, other in zip(operands, reversed(operands), strict=True):
            if id(value) in self._chosen and id(other) not in self._chosen:
                run.emit(Compared, node, chosen=self._chosen[id(value)][1], target=with_facts(run.fact(other), other))


def _named(func: Value) -> str:
    """The dotted name of a function, or of the class of an object that is called or whose method is."""
    of = func.of if isinstance(func, Method) and func.name in _ADDING else func
    return canonical(of.name) if isinstance(of, (Lib, Tool)) else ""


def _is_metric(func: Value, call: Call) -> bool:
    """Whether a metric is called that chooses the class with the largest score."""
    of = func.of if isinstance(func, Method) else func
    given = of if isinstance(of, Tool) else call
    task = given.keywords.get("task") or next(iter(given.args[:1] if isinstance(of, Tool) else ()), None)
    return measures.chooses(_named(func), task.value if isinstance(task, Const) else None)


def _match(run: Run, operands: tuple[Value, ...], node: p.Node) -> None:
    """Write a comparison of an answer with what a loader gave, where their dimensions are not as many."""
    sides = [value for value in operands if isinstance(value, Tensor)]
    if len(sides) != 2 or bool(sides[0].flow.forwards) == bool(sides[1].flow.forwards):
        return
    given = sides[0] if sides[1].flow.forwards else sides[1]
    shapes = [measured(value).shape for value in sides]
    if given.flow.source is not Source.LOADER or None in shapes or len(shapes[0] or ()) == len(shapes[1] or ()):
        return
    places = sides_of(node)
    names = ["" if place is None else run.text(place) for place in places]
    left, right = (with_facts(run.fact(value, name), value) for value, name in zip(sides, names, strict=True))
    left_at, right_at = (None if place is None else run.site(place) for place in places)
    run.emit(Matched, node, left=left, right=right, left_at=left_at, right_at=right_at)


def sides_of(node: p.Node) -> tuple[p.Expr | None, p.Expr | None]:
    """Where both sides of a comparison are written."""
    if isinstance(node, p.Compare):
        return node.left, node.right
    if isinstance(node, p.Call) and len(node.args) == 1 and isinstance(node.func, p.Attribute):
        return node.func.value, node.args[0]
    if isinstance(node, p.Call) and len(node.args) == 2:
        return node.args[0], node.args[1]
    return None, None


def _places(result: Value) -> list[Tensor]:
    """The places of the largest in what such a function returned."""
    values = result.content.items if isinstance(result, Sequence) else (result,)
    return [value for value in values if isinstance(value, Tensor) and value.kind is Kind.LABELS]
