"""Whether what an optimizer holds still may move one day: its rate rises, or the script unfreezes it."""

from __future__ import annotations

import ast
import copy
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...watching.watch import Watch

AHEAD = 50_000  # steps that a schedule is followed
LONGEST = 2.0  # seconds of its own that this may take, however busy the machine is
UPDATES = frozenset({"update", "__setitem__", "setdefault"})
"""Methods of a parameter group, which is a dictionary, that set items."""


def may_rise(watch: Watch, optimizer: Any, number: int) -> bool:
    """Whether the rate of the group with this number, which is 0, may become another by a schedule or by the script's hand."""
    if any(_sets_rate(node) for node in _nodes(watch)):
        return True
    schedulers = watch.schedules.of(optimizer)
    if not schedulers:
        return any("initial_lr" in group for group in optimizer.param_groups)  # of a schedule that nobody saw
    return any(_rises(watch.torch, scheduler, number) for scheduler in schedulers)


def may_thaw(watch: Watch) -> bool:
    """Whether the script has a line that lets frozen parameters want gradients again."""
    return any(_thaws(node) for node in _nodes(watch))


def _nodes(watch: Watch) -> Iterator[ast.AST]:
    """The syntax of all files of the user's that were run."""
    for tree in watch.recorder.index.trees().values():
        yield from ast.walk(tree)


def _sets_rate(node: ast.AST) -> bool:
    """Whether this sets a rate: `group["lr"] = ...`, `group.update(lr=...)` and the like."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in UPDATES:
        named = [keyword.arg for keyword in node.keywords]
        return "lr" in named or any(isinstance(each, ast.Constant) and each.value == "lr" for each in ast.walk(node))
    return any(
        isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == "lr"
        for target in _targets(node)
    )


def _thaws(node: ast.AST) -> bool:
    """Whether this sets `requires_grad` to anything but False."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return not given or not _is_false(given[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
        return True
    sets = any(isinstance(target, ast.Attribute) and target.attr == "requires_grad" for target in _targets(node))
    return sets and not (isinstance(node, ast.Assign) and _is_false(node.value))


def _targets(node: ast.AST) -> Iterable[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _rises(torch: Any, scheduler: Any, number: int) -> bool:
    """Whether a schedule gives a group a rate other than 0 in its next steps, which a copy of it takes."""
    if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
        return False
    groups = [{**group, "params": [torch.zeros(1)]} for group in scheduler.optimizer.param_groups]
    optimizer = torch.optim.SGD([{"params": group["params"], "lr": 0.0} for group in groups])
    for own, group in zip(optimizer.param_groups, groups, strict=True):
        own.update(group)
    twin = _twin(scheduler, optimizer)
    begin = time.thread_time()
    try:
        for _ in range(AHEAD):
            twin.step()
            if optimizer.param_groups[number]["lr"] or time.thread_time() - begin > LONGEST:
                return True
    except ValueError:  # a schedule of one cycle ends so
        return False
    except Exception:  # noqa: BLE001 - the script's own schedule may need what is not there: nothing is known of it
        return True
    return False


def _twin(scheduler: Any, optimizer: Any) -> Any:
    """A copy of a scheduler, and of those that it consists of, that sets the rates of another optimizer."""
    twin = copy.copy(scheduler)
    twin.optimizer = optimizer
    if hasattr(scheduler, "_schedulers"):
        twin._schedulers = [_twin(each, optimizer) for each in scheduler._schedulers]
    return twin
