"""The update: forward, loss, backward, step and clearing, with scalers and schedulers."""

from torch_doctor.trace.events.update.adapters import *
from torch_doctor.trace.events.update.averages import *
from torch_doctor.trace.events.update.copies import *
from torch_doctor.trace.events.update.cuts import *
from torch_doctor.trace.events.update.gradients import *
from torch_doctor.trace.events.update.optimizers import *
from torch_doctor.trace.events.update.schedules import *
from torch_doctor.trace.events.update.terms import *
