"""Values that go to a sink: a log, a plot, a progress bar, a meter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.tables import libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.sinks import SINKS
from torch_doctor.static.training import written_out
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.values import Call, Distribution, Method, Stream, Tool, Value
from torch_doctor.trace import Logged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run


class LoggedValues(Observer, invoked=(Method,)):
    """Values with a graph that a log, a plot, a progress bar or a meter is given."""

    writes = (Logged,)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """A method of a progress bar, or of an object of a library that leaves alone what it is given."""
        if not isinstance(func, Method):
            return
        of = func.of
        if isinstance(of, Stream) and of.bar:
            _tell(run, f"tqdm.tqdm.{func.name}", call)
        elif isinstance(of, Tool) and not isinstance(of, Distribution):
            library = canonical(of.name)
            sink = f"{library}.{func.name}"
            if libraries.harmless(library) or libraries.harmless(sink):
                _tell(run, sink, call)


@library_family(SINKS, stage=Stage.NOTE)
def called(run: Run, sink: str, call: Call) -> None:
    """A function of a sink."""
    if run.watches(LoggedValues):
        _tell(run, sink, call)


def _tell(run: Run, sink: str, call: Call) -> None:
    """Write which values with a graph a sink is given, each at the place where the call names it."""
    use = SINKS.get(sink)
    for value, at in _given(call):
        if value.flow.graph is not False and value.flow.forwards:
            run.emit(
                Logged,
                at,
                value=run.fact(keeping.gone_backward(run, value), run.text(at)),
                sink=sink,
                name=call.name,
                keeps=use == "keeps",
                needs_number=use == "number",
            )


def _given(call: Call) -> Iterator[tuple[Value, p.Node]]:
    """The arguments of a call, those in a dict, list or tuple one by one, each with its place."""
    if not isinstance(call.node, p.Call) or any(isinstance(argument, p.Star) for argument in call.node.args):
        yield from ((value, call.node) for value in call.values)
        return
    for value, argument in zip(call.args, call.node.args, strict=False):
        yield from written_out.within(value, argument)
    named = {name: expression for name, expression in call.node.keywords if name is not None}
    others = [expression for name, expression in call.node.keywords if name is None]
    for name, value in call.keywords.items():
        if name in named:
            yield from written_out.within(value, named[name])
        else:
            yield from written_out.within(value, written_out.item(others, name) or call.node)
