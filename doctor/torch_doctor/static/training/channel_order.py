"""What changes the order of an image's channels where it lies, and modules of a project that stand in for OpenCV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.channels import PictureOf
from torch_doctor.static.tables import channels as table
from torch_doctor.static.values import Const, FunctionValue, Lib, Plain

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


def put_into(run: Run, name: str, call: Call, result: Plain) -> None:
    """`cv2.cvtColor(image, code, image)`: what it gets as its third argument has the result from here on."""
    into = call.argument(2, "dst") if name in table.CONVERTING else None
    if isinstance(into, Plain):
        run.heap.change(into, result)


def rearranged(run: Run, holder: Value, new: Value) -> None:
    """`picture[key] = new`: its channels may be others than they were, where that is not one number for all."""
    if isinstance(holder, Plain) and not isinstance(new, Const) and run.ask(PictureOf, holder) is not None:
        run.heap.change(holder, Plain())


def stood_for(func: Value) -> Value:
    """The function of a library that one of the project stands in for, in a module with the library's names; else itself."""
    if not isinstance(func, FunctionValue):
        return func
    for sign in table.SIGNS:
        package, _, name = sign.rpartition(".")
        known = f"{package}.{func.node.name}"
        if known in table.ORDERS or known in table.CONVERTING:
            return Lib(known) if name in func.closure.globals.fields else func
    return func
