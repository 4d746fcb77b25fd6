"""The first witness: executes source abstractly and writes the events it can prove."""

from torch_doctor.static.witness import witness

__all__ = ["witness"]
