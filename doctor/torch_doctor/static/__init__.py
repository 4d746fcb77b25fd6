"""The first witness: executes source abstractly and writes the events it can prove."""

from torch_doctor.static.failure import Failure
from torch_doctor.static.installed.environment import Environment
from torch_doctor.static.installed.keeping import usual_folder
from torch_doctor.static.runs import witness

__all__ = ["Environment", "Failure", "usual_folder", "witness"]
