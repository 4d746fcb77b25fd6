"""Calls that Python refuses, as the source alone shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language import unfinished
from torch_doctor.static.values import Bound, Call, ClassValue, FunctionValue, Unknown, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def refuses(func: Value, call: Call) -> bool:
    """Whether Python raises a TypeError for such a call: it gives too many arguments, or a keyword that is not there.

    Only what the source itself writes counts: how many arguments `*args` gives and which keywords `**kwargs`, nobody knows
    where one path adds to them and another takes away.
    """
    if not isinstance(func, (Bound, FunctionValue, ClassValue)):
        return False
    function = (
        _constructor(func) if isinstance(func, ClassValue) else func.function if isinstance(func, Bound) else func
    )
    if not isinstance(function, FunctionValue) or function.node.decorators or not isinstance(call.node, p.Call):
        return False  # a decorator may take other arguments
    taken, given = function.node, call.node
    if taken.most is not None:
        more = len(given.args) + isinstance(func, (Bound, ClassValue)) - taken.most
        if more > 0 and sum(isinstance(each, p.Star) for each in given.args) < more:
            return True
    names = taken.named
    return names is not None and any(name is not None and name not in names for name, _ in given.keywords)


def _constructor(cls: ClassValue) -> Value | None:
    """The method that gets the arguments of a class, where it surely does."""
    found = cls.find("__init__")
    others = cls.node.decorators or cls.opaque_base() or cls.find("__new__") is not None
    return None if found is None or others else found[0]


def refused(run: Run) -> Value:
    """What follows a call that Python refuses: in a script that works nobody comes there."""
    unfinished.may_initialise(run)
    return Unknown()
