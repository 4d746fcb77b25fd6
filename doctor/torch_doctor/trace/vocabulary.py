"""All names of the package: events, the trace that they are in, and what both are made of."""

from torch_doctor.trace.broken import *
from torch_doctor.trace.events import *
from torch_doctor.trace.limits import Limits as Limits
from torch_doctor.trace.record import Dependencies as Dependencies
from torch_doctor.trace.record import Trace as Trace
from torch_doctor.trace.rows import ModelInput as ModelInput
from torch_doctor.trace.rows import Preparation as Preparation
from torch_doctor.trace.rows import Rows as Rows
from torch_doctor.trace.run import *
from torch_doctor.trace.scope import *
from torch_doctor.trace.site import Site as Site
from torch_doctor.trace.subject import Subject as Subject
from torch_doctor.trace.versions import *
from torch_doctor.trace.words import *
