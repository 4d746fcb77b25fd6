"""Packages that write objects to files and read them."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

LIBRARY = Library(
    harmless=words("joblib dill cloudpickle msgpack safetensors orjson ujson"),
    harmful=("joblib.Parallel", "safetensors.torch.load_model"),
)
