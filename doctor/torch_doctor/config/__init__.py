"""The configuration of a project: `[tool.torch-doctor]` in its pyproject.toml, or a torch-doctor.toml."""

from __future__ import annotations

from torch_doctor.config.files import find, load, overridden
from torch_doctor.config.keys import KEYS, PROBE_KEYS, Config, ConfigError, LoadedConfig, Part, Probe

__all__ = ["KEYS", "PROBE_KEYS", "Config", "ConfigError", "LoadedConfig", "Part", "Probe", "find", "load", "overridden"]
