"""The main job: from paths to findings."""

from torch_doctor.scan.options import FileIgnore, Options, Report
from torch_doctor.scan.pipeline import scan, traces

__all__ = ["FileIgnore", "Options", "Report", "scan", "traces"]
