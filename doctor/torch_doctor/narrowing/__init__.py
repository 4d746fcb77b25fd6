"""Which of the findings are reported: those since a revision of git, or those that no baseline holds."""

from torch_doctor.narrowing.baseline import Baseline, BaselineError
from torch_doctor.narrowing.git import GitError
from torch_doctor.narrowing.since import Since

__all__ = ["Baseline", "BaselineError", "GitError", "Since"]
