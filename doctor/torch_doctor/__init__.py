"""torch-doctor: finds the bugs in PyTorch training scripts that no exception reports."""

__version__ = "0.1.0"
