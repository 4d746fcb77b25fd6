"""The configuration of a project: `[tool.torch-doctor]` in its pyproject.toml, or a torch-doctor.toml."""

from __future__ import annotations

from torch_doctor.config.files import find, load, overridden
from torch_doctor.config.keys import KEYS, Config, ConfigError, LoadedConfig, Part

__all__ = ["KEYS", "Config", "ConfigError", "LoadedConfig", "Part", "find", "load", "overridden"]
