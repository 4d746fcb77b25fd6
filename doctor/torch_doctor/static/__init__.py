"""The first witness: executes source abstractly and writes the events it can prove."""

from torch_doctor.static.runs import Failure, witness

__all__ = ["Failure", "witness"]
