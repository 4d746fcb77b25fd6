"""Finds and reads the files in which a project says what it wants."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from torch_doctor.config.keys import KEYS, Config, ConfigError, LoadedConfig, Part
from torch_doctor.selection import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROJECT = "pyproject.toml"
OWN_NAMES = (".torch-doctor.toml", "torch-doctor.toml")
NEAR_NAMES = ("torch_doctor.toml", ".torch_doctor.toml", "torchdoctor.toml", ".torchdoctor.toml")
TABLE = "torch-doctor"
SPELLINGS = (b"torch-doctor", b"torch_doctor", b"torchdoctor")


def find(start: Path) -> LoadedConfig:
    """The nearest configuration at or above a folder; the built-in one where there is none.

    Raises:
        ConfigError: it cannot be used.
    """
    warnings: list[str] = []
    for folder in (start, *start.parents):
        path = None
        for name in OWN_NAMES:
            if path is None and os.path.isfile(folder / name):  # noqa: PTH113 - never raises
                path = folder / name
        warnings += _near_files(folder)
        project = folder / PROJECT
        if path is None and os.path.isfile(project):  # noqa: PTH113
            raw = _bytes(project).lower()
            if any(spelling in raw for spelling in SPELLINGS):
                content = _toml(project)
                warnings += _near_tables(project, content)
                if TABLE in _tables(content):
                    path = project
        if path is not None:
            return msgspec.structs.replace(load(path), warnings=tuple(warnings))
    return LoadedConfig(Config(), start, warnings=tuple(warnings))


def _near_files(folder: Path) -> Iterator[str]:
    for name in NEAR_NAMES:
        if os.path.isfile(folder / name):  # noqa: PTH113 - never raises
            right = f"{'.' * name.startswith('.')}{TABLE}.toml"
            yield f"{folder / name} is not read: a configuration is called `{right}`"


def _near_tables(path: Path, content: dict[str, Any]) -> Iterator[str]:
    """Tables that look like ours, and are not."""
    for table, within in (("", content), ("tool.", _tables(content))):
        for name, value in within.items():
            plain = name.lower().replace("_", "-").replace("torchdoctor", TABLE)
            if plain == TABLE and isinstance(value, dict) and (table, name) != ("tool.", TABLE):
                yield f"{path}: [{table}{name}] is not read: the table is called [tool.{TABLE}]"


def load(path: Path) -> LoadedConfig:
    """The configuration in a file, and in those that it extends.

    Raises:
        ConfigError: one of them is not there, no TOML, or has keys or values that mean nothing.
    """
    parts = list(_parts(path, []))
    return _of(parts, parts[-1].base, path)


def overridden(loaded: LoadedConfig, settings: Iterable[str], base: Path) -> LoadedConfig:
    """The configuration with settings of the command line, such as `output-format = "concise"`, which come last.

    Raises:
        ConfigError: one of them is no TOML, or means nothing.
    """
    table: dict[str, Any] = {}
    for text in settings:
        table |= _setting(text)
    if not table:
        return loaded
    own = Part(_validated(table, "--config"), base, None, frozenset(table))
    first = loaded.parts or (Part(loaded.config, loaded.base, loaded.path),)
    merged = _of([*first, own], loaded.base, loaded.path)
    return msgspec.structs.replace(merged, warnings=loaded.warnings)


def _setting(text: str) -> dict[str, Any]:
    """What `key = value` says."""
    try:
        table = _parsed(text)
    except ValueError as error:
        key, _, value = text.partition("=")
        quoted = f"; did you mean `{key.strip()} = {_quoted(value.strip())}`?" if _is_word(value.strip()) else ""
        message = f"--config {text}: neither a file nor a TOML `key = value`: {error}{quoted}"
        raise ConfigError(message) from None
    if "extend" in table:
        message = f"--config {text}: `extend` belongs into a file; `--config PATH` uses that one"
        raise ConfigError(message)
    return table


def _is_word(text: str) -> bool:
    return bool(text) and all(character.isalnum() or character in "-_./:~<>=,*" for character in text)


def _quoted(text: str) -> str:
    return '"' + text + '"'


def _of(parts: list[Part], base: Path, path: Path | None) -> LoadedConfig:
    """The parts as one: of each key, what the last one says that has it."""
    said = {key.replace("-", "_"): part for part in parts for key in part.said}
    values = {name: getattr(part.config, name) for name, part in said.items() if name != "extend"}
    return LoadedConfig(Config(**values), base, path, tuple(parts))


def _parts(path: Path, before: list[Path]) -> Iterator[Part]:
    """What the file says, after what those say that it extends; `before` are the files that lead here."""
    if path.name == PROJECT:
        tool = _tables(_toml(path))
        if before and TABLE not in tool:
            message = f"{before[-1]}: `extend`: {path} has no [tool.{TABLE}]"
            raise ConfigError(message)
        table, where = tool.get(TABLE, {}), f"{path}: [tool.{TABLE}]"
    else:
        table, where = _toml(path), str(path)
    config = _validated(table, where)
    base = path.absolute().parent
    if config.extend is not None:
        yield from _extended(config.extend, path, [*before, path])
    yield Part(config, base, path, frozenset(table))


def _extended(name: str, path: Path, before: list[Path]) -> Iterator[Part]:
    """The parts of the file that another one extends."""
    other = Path(os.path.normpath(path.absolute().parent / os.path.expanduser(name)))  # noqa: PTH111 - never raises
    if not os.path.isfile(other):  # noqa: PTH113
        what = "is no file" if os.path.exists(other) else "does not exist"  # noqa: PTH110
        message = f"{path}: `extend`: {other} {what}"
        raise ConfigError(message)
    if os.path.realpath(other) in map(os.path.realpath, before):
        circle = " extends ".join(map(str, [*before, other]))
        message = f"{path}: `extend` leads in a circle: {circle}"
        raise ConfigError(message)
    yield from _parts(other, before)


def _validated(table: Any, where: str) -> Config:  # noqa: ANN401 - anything can stand in a TOML file
    if not isinstance(table, dict):
        message = f"{where}: must be a table"
        raise ConfigError(message)
    for key in table:
        if key not in KEYS:
            plain = f"; write the keys of [tool.{TABLE}] without its name" if key in {"tool", TABLE} else ""
            message = f"{where}: unknown key `{key}`{plain or did_you_mean(key, KEYS)}"
            raise ConfigError(message)
    try:
        return msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`")
        message = f"{where}: `{key}`: {what[:1].lower()}{what[1:].replace('`', '').replace(' | null', '')}"
        raise ConfigError(message) from None


def _tables(content: dict[str, Any]) -> dict[str, Any]:
    """The tables of tools."""
    tool = content.get("tool", {})
    return tool if isinstance(tool, dict) else {}


def _toml(path: Path) -> dict[str, Any]:
    raw = _bytes(path)
    try:
        return _parsed(raw.decode())
    except ValueError as error:  # TOML or UTF-8
        message = f"{path}: not valid TOML: {error}"
        raise ConfigError(message) from None


def _parsed(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):  # imported for projects that have settings
        import tomllib  # noqa: PLC0415
    else:
        import tomli as tomllib  # noqa: PLC0415
    content: dict[str, Any] = tomllib.loads(text)
    return content


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise ConfigError(message) from None
