"""What is done with what a file held: a module or an optimizer is no plain container of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.tables import training
from torch_doctor.static.tables.canonical import among
from torch_doctor.static.training.checkpoint.origins import read_by
from torch_doctor.static.training.unresolved import usage
from torch_doctor.static.values import Lib, Method, Optimizer, Unknown, UnknownAttribute
from torch_doctor.static.whole_reads import OF_OBJECTS
from torch_doctor.trace import Loaded

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Tri


class LoadedObjects(Observer, called=(Named(Lib, among(training.LOADS)),), calling=(Unknown, Method)):
    """Whole objects that were read from files: they are called, or their methods are."""

    writes = (Loaded,)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A file is read."""
        if isinstance(result, Unknown):
            site = run.site(call.node)
            event = next((event for event in reversed(run.trace.of(Loaded)) if event.site == site), None)
            if event is not None:
                read_by(run)[result.symbol] = event

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """Something is called: what was read, a method of it, or `load_state_dict` with it."""
        read = read_by(run)
        if not read:
            return
        if isinstance(func, (Method, UnknownAttribute)) and func.name == "load_state_dict":
            self._loads(run, call.argument(0, "state_dict"), _resumes(run, func, call))
        of = func.of if isinstance(func, (Method, UnknownAttribute)) and func.name in OF_OBJECTS else func
        found = read.get(of.symbol) if isinstance(of, Unknown) else None
        if found is not None:
            run.trace.replace(found, whole=True)

    def _loads(self, run: Run, state: Value | None, resumes: Tri) -> None:
        """What was read, or a part of it, is a state."""
        symbol, read = state.symbol if isinstance(state, (Unknown, UnknownAttribute)) else None, read_by(run)
        while isinstance(symbol, tuple):
            if symbol in read:
                more = {} if resumes is False else {"resumes": resumes}
                run.trace.replace(read[symbol], state=True, **more)
                return
            symbol = next((part for part in symbol[1:] if isinstance(part, tuple)), None)

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """What was read gets a name, whose uses tell what it is."""
        found = read_by(run).get(value.symbol) if isinstance(value, Unknown) else None
        if found is None:
            return
        names = [run.text(target) for target in node.targets if isinstance(target, (p.Name, p.Attribute))]
        if any(not OF_OBJECTS.isdisjoint(usage.of_name(run, name)) for name in names):
            run.trace.replace(found, whole=True)


def _resumes(run: Run, func: Value, call: Call) -> Tri:
    """Whether an optimizer gets its state back, which the same code takes of it; None where only the first is seen."""
    if not (isinstance(func, Method) and isinstance(func.of, Optimizer)):
        return False
    named = call.node.func if isinstance(call.node, p.Call) else None
    name = run.text(named.value) if isinstance(named, p.Attribute) else ""
    return True if "state_dict" in usage.of_name(run, name) else None
