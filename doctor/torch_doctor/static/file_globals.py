"""The globals of a project's files for those who look at them from outside: what was imported is executed then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static.values import Deferred

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import FunctionValue, Namespace, Value


def one(run: Run, namespace: Namespace, name: str) -> Value | None:
    """Return the global of this name of a file; None where the file binds none."""
    if name not in namespace.fields:
        return None
    value: Value = dispatch.VERBS["global_of"](run, namespace, name)
    return value


def every(run: Run, namespace: Namespace) -> list[Value]:
    """Return all globals of a file."""
    return [dispatch.VERBS["global_of"](run, namespace, name) for name in list(namespace.fields)]


def settle(run: Run, function: FunctionValue) -> None:
    """Let the globals that a function may read be there."""
    namespace = function.closure.globals
    for name, value in list(namespace.fields.items()):
        if value.__class__ is Deferred:
            run.heap.set(namespace.fields, name, dispatch.VERBS["global_of"](run, namespace, name))


def changes(run: Run, namespace: Namespace, name: str) -> None:
    """A global is about to be bound anew: whoever has imported it before, and not used it yet, keeps what it is now."""
    path = namespace.unit.source.path
    if (path, name) not in run.imports.taken or name not in namespace.fields:
        return
    now = dispatch.VERBS["global_of"](run, namespace, name)
    for other in (run.home, *run.units.values()):
        for key, value in list(other.fields.items()):
            if isinstance(value, Deferred) and (value.path, value.name) == (path, name):
                run.heap.set(other.fields, key, now)
