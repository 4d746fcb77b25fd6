"""Packages that read and write settings, write letters in ASCII, and know times of the day elsewhere."""

from __future__ import annotations

import datetime as dt
import importlib
import io
import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Yaml:
    """As `ruamel.yaml.YAML`."""

    def __init__(self, **_: Any) -> None:
        self.indent = self.register_class = lambda *_, **__: None

    def load(self, stream: Any) -> Any:
        """What a file or a text says."""
        yaml: Any = importlib.import_module("yaml")
        if hasattr(stream, "open"):
            with stream.open(encoding="utf-8") as file:
                return yaml.safe_load(file)
        return yaml.safe_load(stream)

    def dump(self, data: Any, stream: Any = None, **_: Any) -> None:
        """Writes it."""
        importlib.import_module("yaml").safe_dump(data, stream)


def _ruamel() -> dict[str, Any]:
    yaml: Any = importlib.import_module("yaml")
    return {
        "YAML": Yaml,
        "yaml": yaml,
        **{name: getattr(yaml, name) for name in ("safe_load", "load", "dump", "safe_dump")},
    }


def _toml() -> dict[str, Any]:
    tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

    def load(file: Any) -> Any:
        if isinstance(file, io.TextIOBase):
            return tomllib.loads(file.read())
        if hasattr(file, "read"):
            return tomllib.load(file)
        with open(file, encoding="utf-8") as opened:
            return tomllib.loads(opened.read())

    def dump(settings: Any, file: Any) -> str:
        text = "".join(f"{line}\n" for line in _lines(settings))
        file.write(text)
        return text

    writing = {"dump": dump, "dumps": lambda settings: dump(settings, io.StringIO())}
    return {**writing, "load": load, "loads": tomllib.loads, "TomlDecodeError": tomllib.TOMLDecodeError}


def _lines(settings: dict[str, Any], above: str = "") -> Iterator[str]:
    """Settings as TOML: those of a table first, then the tables in it."""
    for name, value in settings.items():
        if value is not None and not isinstance(value, dict):
            yield f"{name} = {json.dumps(value, default=str)}"
    for name, value in settings.items():
        if isinstance(value, dict):
            yield f"[{above}{name}]"
            yield from _lines(value, f"{above}{name}.")


def in_ascii(text: str, *_: Any, **__: Any) -> str:
    """A text without marks on its letters, and without those that are not Latin."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


class Zone(dt.tzinfo):
    """A time zone, as pytz has them."""

    def __init__(self, name: str) -> None:
        import zoneinfo

        self.zone, self._own = name, zoneinfo.ZoneInfo(name)

    def utcoffset(self, moment: Any) -> Any:
        """How far it is from UTC."""
        return self._own.utcoffset(moment)

    def dst(self, moment: Any) -> Any:
        """How far summer time is from winter time."""
        return self._own.dst(moment)

    def tzname(self, moment: Any) -> Any:
        """What it is called."""
        return self._own.tzname(moment)

    def localize(self, moment: Any, **_: Any) -> Any:
        """A moment in this zone."""
        return moment.replace(tzinfo=self)


def _pytz() -> dict[str, Any]:
    return {"timezone": Zone, "utc": dt.timezone.utc, "UTC": dt.timezone.utc}


def _unidecode() -> dict[str, Any]:
    return dict.fromkeys(("unidecode", "unidecode_expect_ascii", "unidecode_expect_nonascii"), in_ascii)


NAMES: dict[str, tuple[str, Any]] = {
    "ruamel": ("PyYAML", _ruamel),
    "toml": ("the tomllib of Python", _toml),
    "unidecode": ("letters without marks", _unidecode),
    "pytz": ("the zoneinfo of Python", _pytz),
}
"""Packages: what their names are told to be, and these names."""
