"""What a project wants: `[tool.torch-doctor]` in its pyproject.toml, or a torch-doctor.toml."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from torch_doctor.selection import Layer, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

OWN_NAMES = (".torch-doctor.toml", "torch-doctor.toml")
TABLE = "torch-doctor"


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the file and the key."""


class Config(Struct, frozen=True):
    """The keys of the configuration, with underscores for the hyphens; paths in it start at `base`."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    respect_gitignore: bool = True
    output_format: str | None = None
    torch_version: str | None = None
    installed_libraries: bool = True
    cache_dir: str | None = None
    baseline: str | None = None

    @property
    def layer(self) -> Layer:
        """What the configuration says of the selection."""
        return Layer(self.select, self.ignore, self.extend_select)


class LoadedConfig(Struct, frozen=True):
    """A configuration and where it came from; `path` is None for the built-in one."""

    config: Config
    base: Path
    path: Path | None = None


def find(start: Path) -> LoadedConfig:
    """The nearest configuration at or above a folder; the built-in one where there is none.

    Raises:
        ConfigError: it cannot be used.
    """
    for folder in (start, *start.parents):
        for name in OWN_NAMES:
            if os.path.isfile(folder / name):  # noqa: PTH113 - never raises
                return load(folder / name)
        path = folder / "pyproject.toml"
        if os.path.isfile(path) and TABLE.encode() in _bytes(path) and TABLE in _tool(path):  # noqa: PTH113
            return load(path)
    return LoadedConfig(Config(), start)


def load(path: Path) -> LoadedConfig:
    """The configuration in a file.

    Raises:
        ConfigError: the file is not there, no TOML, or has keys or values that mean nothing.
    """
    if path.name == "pyproject.toml":
        table, where = _tool(path).get(TABLE, {}), f"{path}: [tool.{TABLE}]"
    else:
        table, where = _toml(path), str(path)
    return LoadedConfig(_validated(table, where), path.absolute().parent, path)


def _validated(table: Any, where: str) -> Config:  # noqa: ANN401 - anything can stand in a TOML file
    if not isinstance(table, dict):
        message = f"{where}: must be a table"
        raise ConfigError(message)
    known = [name.replace("_", "-") for name in Config.__struct_fields__]
    for key in table:
        if key not in known:
            message = f"{where}: unknown key `{key}`{did_you_mean(key, known)}"
            raise ConfigError(message)
    try:
        return msgspec.convert({key.replace("-", "_"): value for key, value in table.items()}, Config)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`").replace("_", "-")
        message = f"{where}: `{key}`: {what[:1].lower()}{what[1:].replace('`', '').replace(' | null', '')}"
        raise ConfigError(message) from None


def _tool(path: Path) -> dict[str, Any]:
    tool = _toml(path).get("tool", {})
    return tool if isinstance(tool, dict) else {}


def _toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):  # imported for projects that have settings
        import tomllib  # noqa: PLC0415
    else:
        import tomli as tomllib  # noqa: PLC0415
    raw = _bytes(path)
    try:
        content: dict[str, Any] = tomllib.loads(raw.decode())
    except ValueError as error:  # TOML or UTF-8
        message = f"{path}: not valid TOML: {error}"
        raise ConfigError(message) from None
    return content


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise ConfigError(message) from None
