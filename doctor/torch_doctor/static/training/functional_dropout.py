"""Dropout as a function, which does not know the mode of the module that calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.values import Call, Const, Spread
from torch_doctor.trace import FunctionalDropout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run


class ModeTests(Knowledge):
    """Branches on the mode of a module."""

    def __init__(self) -> None:
        self.count = 0  # those being executed


ALWAYS_ON = frozenset(f"torch.nn.functional.{name}" for name in ("dropout", "dropout1d", "dropout2d", "dropout3d"))
"""Those whose `training`, the third argument, is True unless somebody says otherwise.

Source: https://docs.pytorch.org/docs/stable/nn.functional.html#dropout-functions
"""
_TRAINING = 2


@library_family(ALWAYS_ON, stage=Stage.NOTE)
def called(run: Run, name: str, call: Call) -> None:
    """Write a dropout of a forward that nobody told the mode, unless a branch decides on it."""
    told = (
        len(call.args) > _TRAINING
        or "training" in call.keywords
        or "**" in call.keywords
        or any(isinstance(a, Spread) for a in call.args)
    )
    rate = call.argument(1, "p")
    never = isinstance(rate, Const) and not rate.value
    if (
        not run.modules_called
        or run.building
        or told
        or never
        or run.of(ModeTests).count
        or (isinstance(call.node, p.Call) and any(_mode(part) for part in parts((call.node.args, call.node.keywords))))
    ):
        return
    owner = run.modules_called[-1]
    run.emit(
        FunctionalDropout,
        call.node,
        function=name,
        owner=owner.id,
        owner_class=owner.class_name,
        training=None,
    )


def tests_mode(run: Run, test: p.Expr) -> bool:
    """Whether a test may ask for the mode: it reads `training`, or an argument of the function, which may be a flag for it."""
    what = run.frame.what
    given = {parameter.name for parameter in what.node.parameters} if what is not None else set()
    return any(_mode(part) or (isinstance(part, p.Name) and part.id in given - {"self"}) for part in parts(test))


def _mode(part: object) -> bool:
    return isinstance(part, p.Attribute) and part.name == "training"


def parts(node: object) -> Iterator[object]:
    """An expression and all in it, functions' bodies left out."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (tuple, list)):
            waiting.extend(part)
        elif isinstance(part, p.Expr) and not isinstance(part, p.Function):
            yield part
            for kind in type(part).__mro__:
                waiting.extend(getattr(part, slot, None) for slot in vars(kind).get("__slots__", ()))
