"""The main job: from paths to findings."""

from torch_doctor.scan.following import Follower
from torch_doctor.scan.options import FileIgnore, Options, Report
from torch_doctor.scan.pipeline import scan, traces
from torch_doctor.static import Environment, usual_folder

__all__ = ["Environment", "FileIgnore", "Follower", "Options", "Report", "scan", "traces", "usual_folder"]
