"""What the `forward` of a library's module ends with: the layer or the function that gives the output its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astroid import nodes
from msgspec import Struct

from torch_doctor.static.installed.frames import DEPTH, LibraryFrame
from torch_doctor.static.installed.meanings import Defined, Dotted, Given, Known, Literal, Made, truth
from torch_doctor.static.tables import layers
from torch_doctor.static.tables.functions import METHODS
from torch_doctor.static.tables.torch_functions import FUNCTIONS
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from torch_doctor.static.installed.building import Builder
    from torch_doctor.static.installed.evaluating import Evaluator
    from torch_doctor.static.installed.frames import Thing

TOLD = frozenset((Kind.LOGITS, Kind.PROBABILITIES, Kind.LOG_PROBABILITIES, Kind.BOUNDED, Kind.LOG_BOUNDED))
_SEQUENTIAL = "torch.nn.Sequential"


class Ending(Struct, frozen=True):
    """What an output means; the attribute with the last layers, and the place of the very last one (-1: it is that layer)."""

    kind: Kind | None = None
    head: tuple[str, int] | None = None
    leans: frozenset[tuple[str, int]] = frozenset()


class Endings:
    """Finds the endings of one question."""

    def __init__(self, evaluator: Evaluator, builder: Builder) -> None:
        self._evaluator = evaluator
        self._builder = builder

    def of(self, thing: Thing, depth: int = 0) -> Ending:
        """What a module's `forward` ends with."""
        forward = thing.method("forward")
        if forward is not None:
            return self._of_function(LibraryFrame(forward, {}, thing, depth))
        listed = any(known.what == Dotted(_SEQUENTIAL) for known in thing.classes)
        names = (known.what.torch for known in thing.classes if isinstance(known.what, Dotted))
        layer = next((layers.LAYERS[name] for name in names if name in layers.LAYERS), None)
        return Ending() if listed or layer is None else Ending(layer.kind)

    def _of_function(self, frame: LibraryFrame) -> Ending:
        if frame.depth > DEPTH:
            return Ending()
        found = set()
        returns = frame.function.nodes_of_class(
            nodes.Return, skip_klass=(nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)
        )
        for node in returns:
            comes = self._evaluator.comes(node, frame)
            if comes.what == Literal(value=False):
                if comes.leans:
                    return Ending()
                continue
            found.add(self._of(node.value, frame))
        return found.pop() if len(found) == 1 else Ending()

    def _of(self, node: nodes.NodeNG | None, frame: LibraryFrame) -> Ending:
        match node:
            case nodes.Name():
                return self._of_name(node, frame)
            case nodes.Subscript():
                return self._of(node.value, frame)
            case nodes.IfExp():
                answer = truth(self._evaluator.value(node.test, frame))
                return Ending() if answer is None else self._of(node.body if answer else node.orelse, frame)
            case nodes.Call(func=nodes.Attribute()) | nodes.Call(func=nodes.Name()):
                return self._of_call(node, frame)
            case _:
                return Ending()

    def _of_name(self, node: nodes.Name, frame: LibraryFrame) -> Ending:
        """What a variable was last set to, where that is certain."""
        bound = [each for each in frame.function.locals.get(node.name, ()) if each.lineno < node.lineno]
        for each in sorted(bound, key=lambda one: one.lineno, reverse=True):
            if not isinstance(each.parent, nodes.Assign):
                return Ending()
            comes = self._evaluator.comes(each.statement(), frame)
            if comes.leans or comes.what not in (Literal(value=True), Literal(value=False)):
                return Ending()
            if comes.what == Literal(value=True):
                return self._of(each.parent.value, frame)
        return Ending()

    def _of_call(self, call: nodes.Call, frame: LibraryFrame) -> Ending:
        func = call.func
        first = call.args[0] if call.args else None
        if isinstance(func, nodes.Attribute) and isinstance(func.expr, nodes.Name) and func.expr.name == frame.itself:
            return self._of_own(func.attrname, first, frame)
        called = self._evaluator.value(func, frame).what
        if isinstance(called, Dotted) and called.name in FUNCTIONS:
            kind = FUNCTIONS[called.name].kind
            return self._of(first, frame) if kind is None else Ending(kind)
        if isinstance(func, nodes.Attribute) and func.attrname in METHODS and not isinstance(called, Dotted):
            kind = METHODS[func.attrname].kind
            return self._of(func.expr, frame) if kind is None else Ending(kind)
        return Ending()

    def _of_own(self, name: str, first: nodes.NodeNG | None, frame: LibraryFrame) -> Ending:
        """`self.classify(x)`, or `self.head(x)`."""
        assert frame.me is not None
        method = frame.me.method(name)
        if method is not None:
            return self._of_function(LibraryFrame(method, {}, frame.me, frame.depth + 1))
        values = list(dict.fromkeys(frame.me.attributes.get(name, ())))
        if len(values) != 1 or values[0].leans:
            return Ending()
        ending = self._of_part(values[0], frame)
        if ending.kind is None and ending.head is not None:
            return self._of(first, frame)  # it moves the numbers and leaves what they mean
        return Ending(ending.kind, (name, ending.head[1] if ending.head else -1)) if ending.kind else Ending()

    def _of_part(self, known: Known, frame: LibraryFrame) -> Ending:
        match known.what:
            case Made(Dotted(name), given) if name == _SEQUENTIAL:
                if given.rest or not given.args:
                    return Ending()
                last = self._of_part(given.args[-1], frame)
                return Ending(last.kind, ("", len(given.args) - 1)) if last.kind else Ending()
            case Made(Dotted(name), _):
                layer = layers.LAYERS.get(name)
                return Ending() if layer is None or layer.result != "tensor" else Ending(layer.kind, ("", -1))
            case Made(Defined(nodes.ClassDef() as cls), Given() as given):
                ending = self.of(self._builder.build(cls, given, depth=frame.depth + 1), frame.depth + 1)
                return Ending(ending.kind, ("", -1)) if ending.kind in TOLD else Ending()
            case _:
                return Ending()
