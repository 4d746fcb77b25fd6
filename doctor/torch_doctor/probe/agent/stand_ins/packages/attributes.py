"""Dictionaries whose items are attributes, as those of the small packages that have little more."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class AttributeDict(dict[str, Any]):
    """A dictionary whose items are attributes, as those of dictionaries in it are."""

    def __init__(self, given: Any = None, **keywords: Any) -> None:
        super().__init__()
        for name, value in {**dict(given or {}), **keywords}.items():
            self[name] = value

    @classmethod
    def _inside(cls, value: Any) -> Any:
        if isinstance(value, dict) and not isinstance(value, AttributeDict):
            return cls(value)
        return [cls._inside(each) for each in value] if type(value) is list else value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, self._inside(value))

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __deepcopy__(self, memory: Any) -> Any:
        found = type(self)()
        for name, value in self.items():
            found[name] = copy.deepcopy(value, memory)
        return found

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)

    def copy(self) -> Any:
        """Another one with the same items."""
        return type(self)(self)

    def update(self, *given: Any, **keywords: Any) -> None:
        """As that of a dictionary."""
        for name, value in dict(*given, **keywords).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As that of a dictionary."""
        if name not in self:
            self[name] = default
        return self[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries with the same items."""
        return {name: plain(value) for name, value in self.items()}

    toDict = to_dict  # noqa: N815 - as munch calls it

    @classmethod
    def fromDict(cls, given: Any) -> Any:  # noqa: N802 - as munch calls it
        """Of a dictionary."""
        return cls._inside(given)

    def to_json(self, **_: Any) -> str:
        """As JSON."""
        return json.dumps(self.to_dict(), default=str)

    toJSON = to_json  # noqa: N815 - as munch calls it


class GrowingDict(AttributeDict):
    """As that of addict: what is not there is an empty one, which is kept once it has an item."""

    def __init__(self, *given: Any, **keywords: Any) -> None:
        object.__setattr__(self, "_above", None)
        super().__init__(*given, **keywords)

    def __missing__(self, name: str) -> Any:
        found = type(self)()
        object.__setattr__(found, "_above", (self, name))
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        above = object.__getattribute__(self, "_above")
        if above is not None:
            object.__setattr__(self, "_above", None)
            above[0][above[1]] = self

    def update(self, *given: Any, **keywords: Any) -> None:
        """With what is in dictionaries in it."""
        for name, value in dict(*given, **keywords).items():
            if isinstance(value, dict) and isinstance(self.get(name), dict):
                self[name].update(value)
            else:
                self[name] = value


class DefaultDict(AttributeDict):
    """What is not there is None."""

    def __missing__(self, _: str) -> Any:
        return None


class ConfigDict(AttributeDict):
    """As that of `ml_collections`: its settings may be locked."""

    def __init__(self, initial_dictionary: Any = None, **keywords: Any) -> None:
        super().__init__(initial_dictionary, **{k: v for k, v in keywords.items() if k not in PARAMETERS})

    def update(self, *given: Any, **keywords: Any) -> None:
        """With what is in dictionaries in it."""
        GrowingDict.update(self, *given, **keywords)  # type: ignore[arg-type]

    def update_from_flattened_dict(self, flat: dict[str, Any], strip_prefix: str = "") -> None:
        """With what is under keys with dots."""
        for key, value in flat.items():
            *above, name = key.removeprefix(strip_prefix).split(".")
            holder: Any = self
            for each in above:
                holder = holder[each]
            holder[name] = value

    def lock(self) -> Any:
        """Itself: nothing is locked."""
        return self

    unlock = lock

    @contextlib.contextmanager
    def unlocked(self) -> Iterator[Any]:
        """Itself."""
        yield self

    ignore_type = unlocked

    @property
    def is_locked(self) -> bool:
        """Never."""
        return False

    def copy_and_resolve_references(self, **_: Any) -> Any:
        """Another one with the same items."""
        return copy.deepcopy(self)

    def to_yaml(self, **_: Any) -> str:
        """As text."""
        return self.to_json()

    to_json_best_effort = to_yaml

    def get_ref(self, name: str) -> Any:
        """The value itself."""
        return self[name]


PARAMETERS = ("type_safe", "convert_dict", "allow_dotted_keys", "sort_keys")
"""What a `ConfigDict` is told that is no setting."""


def plain(value: Any) -> Any:
    """Plain dictionaries and lists."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return type(value)(plain(each) for each in value) if type(value) in (list, tuple) else value


def _munch() -> dict[str, Any]:
    return {
        "Munch": AttributeDict,
        "DefaultMunch": DefaultDict,
        "munchify": AttributeDict.fromDict,
        "unmunchify": plain,
    }


def _collections() -> dict[str, Any]:
    module = {
        "ConfigDict": ConfigDict,
        "FrozenConfigDict": ConfigDict,
        "placeholder": lambda *_, **__: None,
        "required_placeholder": lambda *_, **__: None,
        "FieldReference": lambda default, **_: default,
        "DEFINE_config_file": _define_file,
        "DEFINE_config_dict": _define_dict,
    }
    return {**module, **{name: _Names(module) for name in ("config_dict", "config_flags")}}


class _Names:
    """The names of a module."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.__dict__.update(names)


def _define_file(name: str, default: Any = None, help_string: str = "", **_: Any) -> Any:
    """A flag whose value is what the function `get_config` of a file gives."""
    flags: Any = importlib.import_module("absl.flags")

    class OfFile(flags.ArgumentParser):  # type: ignore[misc]
        """Runs the file."""

        def parse(self, argument: Any) -> Any:
            """What the file gives, with what is written behind a colon."""
            if not isinstance(argument, str):
                return argument
            import runpy

            path, _, given = argument.partition(":")
            return runpy.run_path(path)["get_config"](*([given] if given else []))

        def flag_type(self) -> str:
            """What it is."""
            return "config object"

    return flags.DEFINE(OfFile(), name, default, help_string)


def _define_dict(name: str, config: Any, help_string: str = "", **_: Any) -> Any:
    flags: Any = importlib.import_module("absl.flags")

    class OfSettings(flags.ArgumentParser):  # type: ignore[misc]
        """Takes it as it is."""

        def parse(self, argument: Any) -> Any:
            """Itself."""
            return argument

    return flags.DEFINE(OfSettings(), name, config, help_string)


NAMES: dict[str, tuple[str, Any]] = {
    "easydict": ("a dictionary with attributes", lambda: {"EasyDict": AttributeDict}),
    "addict": ("a dictionary with attributes", lambda: {"Dict": GrowingDict, "addict": _Names({"Dict": GrowingDict})}),
    "munch": ("a dictionary with attributes", _munch),
    "attrdict": ("a dictionary with attributes", lambda: {"AttrDict": AttributeDict, "AttrMap": AttributeDict}),
    "dotmap": ("a dictionary with attributes", lambda: {"DotMap": GrowingDict}),
    "box": ("a dictionary with attributes", lambda: {"Box": AttributeDict, "ConfigBox": AttributeDict}),
    "ml_collections": ("a dictionary with attributes", _collections),
}
"""Packages: what their names are told to be, and these names."""
