"""What accelerate makes of models, optimizers and loaders for several processes, and values that it gathers from these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.accounts import windows
from torch_doctor.static.flow import blend
from torch_doctor.static.libraries import accelerate
from torch_doctor.static.tables import training
from torch_doctor.static.training.data import loaders
from torch_doctor.static.values import Loader, Module, Optimizer, Tool, leaves
from torch_doctor.trace import Gathered, Wrapped

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


def prepared(run: Run, of: Tool, call: Call) -> Call:
    """The same call with what each argument becomes: optimizers and schedulers wait for a window, models exchange gradients."""
    for value in map(run.resolve, call.values):
        if isinstance(value, Optimizer) or (isinstance(value, Tool) and training.scheduler_of(value.name)):
            windows.prepared(run, of, value)
    if call.flag("evaluation_mode", default=False) is not False:
        return call
    return call.with_args(tuple(_exchanging(run, of, value, place, call) for place, value in enumerate(call.args)))


def _exchanging(run: Run, of: Tool, value: Value, place: int, call: Call) -> Value:
    """A model as it is wrapped where several processes train; of a loader, note that each of them gets its own batches."""
    model = run.resolve(value)
    if isinstance(model, Loader) and not accelerate.UNEVEN & of.keywords.keys():
        loaders.filled_up(run, model)
    if not isinstance(model, Module) or model.shell:
        return value
    text = run.text_of_argument(call.node, place)
    run.emit(Wrapped, call.node, module=model.id, name=text, wrapper=accelerate.ACCELERATE.name)
    return model.within(accelerate.ACCELERATE.name)


def bare(run: Run, value: Value) -> Value:
    """A model without what was put around it."""
    model = run.resolve(value)
    inner = run.objects.get(model.id) if isinstance(model, Module) else None
    return value if inner is None else inner


def gathered(run: Run, name: str, call: Call) -> None:
    """Write that values of all processes are put together, unless the samples that fill up the last batches are dropped."""
    if name not in accelerate.EXACT:
        flow = blend(value.flow for value in leaves(*call.values))
        run.emit(Gathered, call.node, sums=flow.sums, forwards=flow.forwards)
