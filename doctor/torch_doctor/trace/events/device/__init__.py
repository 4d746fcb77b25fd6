"""Devices and processes: placement, several processes, precision and time."""

from torch_doctor.trace.events.device.placement import *
from torch_doctor.trace.events.device.precision import *
from torch_doctor.trace.events.device.processes import *
