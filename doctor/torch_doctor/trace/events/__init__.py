"""What can happen in a training script: one class per event, each field with its meaning, in the families of the rules.

References (`module`, `optimizer`, ...) are numbers that stand for one object during one run; names (`name`) are the user's
own spelling of it. An event that names another event does so by the other's `index` in the trace. Fields of type `Tri`
are None where the witness does not know.

The classes are the only list of events there is: whoever adds one writes it into the module of its family.
"""

from torch_doctor.trace.events.checkpoint import *
from torch_doctor.trace.events.control import *
from torch_doctor.trace.events.data import *
from torch_doctor.trace.events.device import *
from torch_doctor.trace.events.evaluation import *
from torch_doctor.trace.events.event import NO_EVENTS as NO_EVENTS
from torch_doctor.trace.events.event import Event as Event
from torch_doctor.trace.events.event import TensorFact as TensorFact
from torch_doctor.trace.events.event import Trail as Trail
from torch_doctor.trace.events.graph import *
from torch_doctor.trace.events.limits import *
from torch_doctor.trace.events.loss import *
from torch_doctor.trace.events.module import *
from torch_doctor.trace.events.operation import *
from torch_doctor.trace.events.scaling import *
from torch_doctor.trace.events.stretch import Stretch as Stretch
from torch_doctor.trace.events.update import *

EVENTS: dict[str, type[Event]] = {
    name: member
    for name, member in list(globals().items())
    if isinstance(member, type) and issubclass(member, Event) and member is not Event
}
"""Every class of events, by its name."""
