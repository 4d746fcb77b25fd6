"""What can happen in a training script: one class for each event, in the families of the rules.

Fields such as `module` and `optimizer` are numbers that identify an object during one run; `name` is an expression of the script.
An event refers to another one by its `index` in the trace. A field of type `Tri` is None if the witness does not know the answer.

There is no list of events: a class in the module of its family is enough.
"""

from torch_doctor.trace.events.axes import *
from torch_doctor.trace.events.checkpoint import *
from torch_doctor.trace.events.control import *
from torch_doctor.trace.events.data import *
from torch_doctor.trace.events.derivatives import *
from torch_doctor.trace.events.device import *
from torch_doctor.trace.events.evaluation import *
from torch_doctor.trace.events.event import NO_EVENTS as NO_EVENTS
from torch_doctor.trace.events.event import Event as Event
from torch_doctor.trace.events.event import TensorFact as TensorFact
from torch_doctor.trace.events.event import Trail as Trail
from torch_doctor.trace.events.figures import *
from torch_doctor.trace.events.graph import *
from torch_doctor.trace.events.ignored import *
from torch_doctor.trace.events.limits import *
from torch_doctor.trace.events.loss import *
from torch_doctor.trace.events.module import *
from torch_doctor.trace.events.operation import *
from torch_doctor.trace.events.oracles import *
from torch_doctor.trace.events.stretch import Stretch as Stretch
from torch_doctor.trace.events.update import *

EVENTS: dict[str, type[Event]] = {
    name: member
    for name, member in list(globals().items())
    if isinstance(member, type) and issubclass(member, Event) and member is not Event
}
"""Every class of events, by its name."""
