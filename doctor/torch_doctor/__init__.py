"""torch-doctor: finds bugs in PyTorch training scripts that raise no exception."""

__version__ = "0.1.0"
