"""Data: samples, the loaders that read them, and how they are scaled."""

from torch_doctor.trace.events.data.loading import *
from torch_doctor.trace.events.data.samples import *
from torch_doctor.trace.events.data.scaling import *
