"""What the engines of ignite do, executed as if the script had written it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import batches
from torch_doctor.static.training.module import forwards
from torch_doctor.static.training.update import gradients
from torch_doctor.static.values import Call, Module, Optimizer, Unknown, Value
from torch_doctor.trace import ZeroGrad

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def supervised(run: Run, call: Call, *, trains: bool) -> None:
    """What ignite's ready-made engines do for a batch."""
    names = ("model", "optimizer", "loss_fn") if trains else ("model",)
    given = dict(zip(names, call.args, strict=False)) | call.keywords
    model, optimizer, criterion = (given.get(name, Unknown()) for name in ("model", "optimizer", "loss_fn"))
    if not isinstance(model, Module):
        return

    def step(batch: Value) -> Value:
        modes.set_mode(run, model, trains, call.node, "model")
        if isinstance(optimizer, Optimizer):
            run.emit(ZeroGrad, call.node, target=optimizer.id, name="optimizer", modules=optimizer.modules, whole=True)
        before = run.grad
        run.heap.set(run.state.fields, "grad", trains)
        output = forwards.call_module(run, model, Call((batch,), {}, call.node, "model"))
        if trains:
            loss = run.call(criterion, Call((output, batch), {}, call.node, "loss_fn"))
            gradients.backward(run, loss, Call((), {}, call.node, "loss"), through="ignite")
            if isinstance(optimizer, Optimizer):
                gradients.stepped(run, optimizer, call.node, "optimizer")
        run.heap.set(run.state.fields, "grad", before)
        return output

    batches.every(run, call.node, step)
