"""Finds, reads and checks configuration files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from torch_doctor import __version__
from torch_doctor.config.keys import KEYS, PROBE_KEYS, Config, ConfigError, LoadedConfig, Part, Probe
from torch_doctor.selection import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROJECT = "pyproject.toml"
OWN_NAMES = (".torch-doctor.toml", "torch-doctor.toml")
NEAR_NAMES = ("torch_doctor.toml", ".torch_doctor.toml", "torchdoctor.toml", ".torchdoctor.toml")
TABLE = "torch-doctor"
PROBE = "probe"
SPELLINGS = (b"torch-doctor", b"torch_doctor", b"torchdoctor")


def find(start: Path) -> LoadedConfig:
    """Return the nearest configuration in a folder or its parents, or the defaults if there is none.

    Raises:
        ConfigError: the configuration is invalid.
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
            yield f"{folder / name} is ignored: rename it to `{right}`"


def _near_tables(path: Path, content: dict[str, Any]) -> Iterator[str]:
    """Yield a warning for each table whose name is almost [tool.torch-doctor]."""
    for table, within in (("", content), ("tool.", _tables(content))):
        for name, value in within.items():
            plain = name.lower().replace("_", "-").replace("torchdoctor", TABLE)
            if plain == TABLE and isinstance(value, dict) and (table, name) != ("tool.", TABLE):
                yield f"{path}: [{table}{name}] is ignored: rename it to [tool.{TABLE}]"


def load(path: Path) -> LoadedConfig:
    """Return the configuration of a file, merged with the files that it extends.

    Raises:
        ConfigError: a file is missing, is not TOML, or has unknown keys or invalid values.
    """
    parts = list(_parts(path, []))
    return _of(parts, parts[-1].base, path)


def overridden(loaded: LoadedConfig, settings: Iterable[str], base: Path) -> LoadedConfig:
    """Return the configuration with command-line settings, such as `output-format = "concise"`, which take precedence.

    Raises:
        ConfigError: a setting is not TOML, has an unknown key or an invalid value.
    """
    table: dict[str, Any] = {}
    for text in settings:
        table = _both(table, _setting(text))
    if not table:
        return loaded
    own = Part(_validated(table, "--config"), base, None, _said(table))
    first = loaded.parts or (Part(loaded.config, loaded.base, loaded.path),)
    merged = _of([*first, own], loaded.base, loaded.path)
    return msgspec.structs.replace(merged, warnings=loaded.warnings)


def _both(table: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return two tables as one: tables that both have are joined, of other values those of the second count."""
    common = {key for key, value in other.items() if isinstance(value, dict) and isinstance(table.get(key), dict)}
    return {**table, **other, **{key: _both(table[key], other[key]) for key in common}}


def _setting(text: str) -> dict[str, Any]:
    """Return the table that `key = value` stands for."""
    try:
        table = _parsed(text)
    except ValueError as error:
        key, _, value = text.partition("=")
        quoted = f"; did you mean `{key.strip()} = {_quoted(value.strip())}`?" if _is_word(value.strip()) else ""
        message = f"--config {text}: not a file, and not a TOML `key = value`: {error}{quoted}"
        raise ConfigError(message) from None
    if "extend" in table:
        message = f"--config {text}: `extend` only works in a file; use `--config PATH` instead"
        raise ConfigError(message)
    return table


def _is_word(text: str) -> bool:
    return bool(text) and all(character.isalnum() or character in "-_./:~<>=,*" for character in text)


def _quoted(text: str) -> str:
    return '"' + text + '"'


def _of(parts: list[Part], base: Path, path: Path | None) -> LoadedConfig:
    """Return the parts merged into one configuration; the last part that has a key decides its value."""
    said = {key.replace("-", "_"): part for part in parts for key in part.said}
    names = [name.replace("-", "_") for name in KEYS if name not in {"extend", PROBE}]
    values = {name: getattr(said[name].config, name) for name in names if name in said}
    values["levels"] = _merged(part.config.levels for part in parts)
    probe = {key: getattr(part.config.probe, key) for key in PROBE_KEYS if (part := said.get(f"{PROBE}.{key}"))}
    probe["arguments"] = _merged(part.config.probe.arguments for part in parts)
    return LoadedConfig(Config(**values, probe=Probe(**probe)), base, path, tuple(parts))


def _said(table: dict[str, Any]) -> frozenset[str]:
    """Return the keys of a valid table, those of the probe with its name in front, too."""
    return frozenset((*table, *(f"{PROBE}.{key}" for key in table.get(PROBE, {}))))


def _merged(tables: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return one table; entries of later tables replace those of earlier ones and come after all of them."""
    merged: dict[str, Any] = {}
    for table in tables:
        merged = {key: value for key, value in merged.items() if key not in table} | table
    return merged


def _parts(path: Path, before: list[Path]) -> Iterator[Part]:
    """Yield the part of a file, after the parts of the files it extends; `before` are the files that extend it."""
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
    yield Part(config, base, path, _said(table))


def _extended(name: str, path: Path, before: list[Path]) -> Iterator[Part]:
    """Yield the parts of the file `name`, which `path` extends."""
    other = Path(os.path.normpath(path.absolute().parent / os.path.expanduser(name)))  # noqa: PTH111 - never raises
    if not os.path.isfile(other):  # noqa: PTH113
        what = "is not a file" if os.path.exists(other) else "does not exist"  # noqa: PTH110
        message = f"{path}: `extend`: {other} {what}"
        raise ConfigError(message)
    if os.path.realpath(other) in map(os.path.realpath, before):
        circle = " extends ".join(map(str, [*before, other]))
        message = f"{path}: `extend` is circular: {circle}"
        raise ConfigError(message)
    yield from _parts(other, before)


def _validated(table: Any, where: str) -> Config:  # noqa: ANN401 - a TOML file can hold anything
    """Return the configuration of a table; `where` starts each error message."""
    if not isinstance(table, dict):
        message = f"{where}: must be a table"
        raise ConfigError(message)
    _check_version(table.get("required-version"), where)  # another version may have other keys
    for key in table:
        if key not in KEYS:
            plain = f"; did you mean `{PROBE}.{key}`?" if key in PROBE_KEYS else ""
            plain = f"; in a {TABLE}.toml, write the keys without [tool.{TABLE}]" if key in {"tool", TABLE} else plain
            message = f"{where}: unknown key `{key}`{plain or did_you_mean(key, KEYS)}"
            raise ConfigError(message)
    nested = table.get(PROBE)
    for key in nested if isinstance(nested, dict) else ():
        if key not in PROBE_KEYS:
            near = did_you_mean(f"{PROBE}.{key}", [f"{PROBE}.{each}" for each in PROBE_KEYS])
            message = f"{where}: unknown key `{PROBE}.{key}`{near}"
            raise ConfigError(message)
    try:
        return msgspec.convert(table, Config)
    except msgspec.ValidationError:
        message = f"{where}: {_wrong(table)}"
        raise ConfigError(message) from None


def _check_version(required: object, where: str) -> None:
    """Make sure that the running version is one that the configuration is written for; a bare version means that one only.

    Raises:
        ConfigError: it is not, or `required` is not a version specifier.
    """
    if not isinstance(required, str):  # absent, or of the wrong type, which is reported as for all keys
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - only for projects that ask for it

    try:
        allowed = SpecifierSet(f"=={required}" if required[:1].isdigit() else required)
    except InvalidSpecifier:
        message = f'{where}: `required-version`: `{required}` is not a version specifier such as ">=0.1,<0.2"'
        raise ConfigError(message) from None
    if not allowed.contains(__version__, prereleases=True):
        message = (
            f"{where}: requires torch-doctor {required}, but this is {__version__}; install a version that matches"
        )
        raise ConfigError(message)


def _wrong(table: dict[str, Any]) -> str:
    """Return which value of an invalid table is wrong, and how to write it."""
    from torch_doctor.config.schema import described, in_toml, key_in_toml, kind  # noqa: PLC0415 - only for an error

    key = next(key for key, value in table.items() if not _is_valid({key: value}))
    value = table[key]
    entries = value if isinstance(value, dict) else {}
    entry = next((name for name, each in entries.items() if not _is_valid({key: {name: each}})), None)
    about = described(key, entry)
    name = key if entry is None else f"{key}.{key_in_toml(entry)}"
    article = "" if "enum" in about else "a "
    return f"`{name}` must be {article}{kind(about)}, for example `{key} = {in_toml(about['examples'][0])}`"


def _is_valid(table: dict[str, Any]) -> bool:
    try:
        msgspec.convert(table, Config)
    except msgspec.ValidationError:
        return False
    return True


def _tables(content: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of all tools in a pyproject.toml."""
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
