"""What can happen in a training script: one class per event, each field with its meaning.

References (`module`, `optimizer`, ...) are numbers that stand for one object during one run; names (`name`) are the user's
own spelling of it. An event that names another event does so by the other's `index` in the trace. Fields of type `Tri`
are None where the witness does not know.
"""

from torch_doctor.trace.events.course import (
    BatchTaken,
    CallEntered,
    CallExited,
    GradModeEntered,
    GradModeExited,
    LoaderBuilt,
    LoopEntered,
    LoopExited,
    LoopIterated,
)
from torch_doctor.trace.events.event import NO_EVENTS, Event, TensorFact, Trail
from torch_doctor.trace.events.lasting import Kept, Loaded, Logged, Saved
from torch_doctor.trace.events.losses import LossBuilt, Overwritten
from torch_doctor.trace.events.modules import (
    Held,
    ModeMethod,
    ModeSet,
    ModuleBuilt,
    Moved,
    PlainTensorUsed,
    Registered,
    Repeated,
)
from torch_doctor.trace.events.sight import GaveUp, Handed, Owned, Unreadable
from torch_doctor.trace.events.update import (
    Backward,
    Broadcast,
    Clipped,
    Forward,
    ForwardByName,
    GradFlagSet,
    LogTaken,
    LossCalled,
    Normalised,
    NotCalled,
    OptimizerBuilt,
    ScalerBuilt,
    ScalerUpdated,
    SchedulerBuilt,
    SchedulerStepped,
    Stepped,
    Unscaled,
    ZeroGrad,
)

__all__ = [
    "NO_EVENTS",
    "Backward",
    "BatchTaken",
    "Broadcast",
    "CallEntered",
    "CallExited",
    "Clipped",
    "Event",
    "Forward",
    "ForwardByName",
    "GaveUp",
    "GradFlagSet",
    "GradModeEntered",
    "GradModeExited",
    "Handed",
    "Held",
    "Kept",
    "Loaded",
    "LoaderBuilt",
    "LogTaken",
    "Logged",
    "LoopEntered",
    "LoopExited",
    "LoopIterated",
    "LossBuilt",
    "LossCalled",
    "ModeMethod",
    "ModeSet",
    "ModuleBuilt",
    "Moved",
    "Normalised",
    "NotCalled",
    "OptimizerBuilt",
    "Overwritten",
    "Owned",
    "PlainTensorUsed",
    "Registered",
    "Repeated",
    "Saved",
    "ScalerBuilt",
    "ScalerUpdated",
    "SchedulerBuilt",
    "SchedulerStepped",
    "Stepped",
    "TensorFact",
    "Trail",
    "Unreadable",
    "Unscaled",
    "ZeroGrad",
]
