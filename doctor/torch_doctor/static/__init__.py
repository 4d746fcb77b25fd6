"""The first witness: executes source abstractly and writes the events it can prove."""

from torch_doctor.static.budget import OutOfTime
from torch_doctor.static.failure import Failure
from torch_doctor.static.installed.environment import Environment
from torch_doctor.static.installed.keeping import usual_folder
from torch_doctor.static.runs import witness
from torch_doctor.static.spending import Spending

__all__ = ["Environment", "Failure", "OutOfTime", "Spending", "usual_folder", "witness"]
