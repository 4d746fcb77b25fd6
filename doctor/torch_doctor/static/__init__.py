"""The first witness: executes source abstractly and writes the events it can prove."""

from torch_doctor.static.budget import OutOfTime
from torch_doctor.static.failure import Failure
from torch_doctor.static.followed import Followed
from torch_doctor.static.imports import Imports
from torch_doctor.static.installed.environment import Environment, Installed
from torch_doctor.static.installed.keeping import usual_folder
from torch_doctor.static.order import FileOrder
from torch_doctor.static.runs import Witness
from torch_doctor.static.searching import is_there
from torch_doctor.static.shipped import shipped
from torch_doctor.static.spending import Spending

__all__ = [
    "Environment",
    "Failure",
    "FileOrder",
    "Followed",
    "Imports",
    "Installed",
    "OutOfTime",
    "Spending",
    "Witness",
    "is_there",
    "shipped",
    "usual_folder",
]
