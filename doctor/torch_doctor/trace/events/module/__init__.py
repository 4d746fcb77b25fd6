"""Modules: their members, and what they do when they are called."""

from torch_doctor.trace.events.module.behaviour import *
from torch_doctor.trace.events.module.chaining import *
from torch_doctor.trace.events.module.foresight import *
from torch_doctor.trace.events.module.masking import *
from torch_doctor.trace.events.module.members import *
from torch_doctor.trace.events.module.positions import *
from torch_doctor.trace.events.module.reshaping import *
from torch_doctor.trace.events.module.summing import *
