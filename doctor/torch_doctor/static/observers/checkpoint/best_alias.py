"""Models that are thought to be kept as the best so far, and only get another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.program.walking import positive
from torch_doctor.static.values import Module
from torch_doctor.trace import StateTaken

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


class BestAliases(Observer):
    """Assignments that give the best model so far another name: `if acc > best: best_model = model`."""

    writes = (StateTaken,)

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """A module gets another name, where the branch around notes a record."""
        if not (isinstance(value, Module) and run.loop_depth and isinstance(node.value, (p.Name, p.Attribute))):
            return
        if len(node.targets) == 1 and not run.modules_called and _notes_a_record(run):
            run.emit(StateTaken, node, module=value.id, name=run.text(node.value), alias=run.text(node.targets[0]))


def _notes_a_record(run: Run) -> bool:
    """Whether the branch around, in the same pass of the loop, is taken when something is better than ever, and notes it.

    As in `if acc > best: best = acc`.
    """
    branch = run.branches[-1] if run.branches else None
    if branch is None or branch.frame is not run.frame or branch.loop_depth != run.loop_depth:
        return False
    test, then, _ = positive(branch.node)
    if not isinstance(test, p.Compare) or test.op not in ("<", ">", "<=", ">="):
        return False
    sides = {run.text(test.left), run.text(test.right)}
    return any(
        isinstance(statement, p.Assign)
        and {run.text(statement.targets[0]), run.text(statement.value)} == sides
        and not isinstance(statement.value, p.Const)
        for statement in then
    )
