"""Configurations that are read from files: the node of yacs, and `Config` and registries of mmcv and mmengine."""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import runpy
from typing import Any

from .attributes import AttributeDict, plain


class CfgNode(AttributeDict):
    """As that of yacs and fvcore: files and lists are merged into it."""

    def __init__(self, init_dict: Any = None, key_list: Any = None, new_allowed: bool = False) -> None:  # noqa: FBT001, FBT002 - as yacs has it
        del key_list
        super().__init__(init_dict)
        self.set_new_allowed(new_allowed)

    def set_new_allowed(self, allowed: bool) -> None:  # noqa: FBT001 - as yacs has it
        """Nothing: all names are."""

    def freeze(self) -> None:
        """Nothing: it stays as it is."""

    defrost = freeze

    def is_frozen(self) -> bool:
        """Never."""
        return False

    is_new_allowed = is_frozen

    def register_deprecated_key(self, *_: Any) -> None:
        """Nothing."""

    register_renamed_key = register_deprecated_key

    def clone(self) -> Any:
        """Another one with the same settings."""
        return copy.deepcopy(self)

    def dump(self, **_: Any) -> str:
        """As text."""
        return _text(self.to_dict())

    def merge_from_file(self, cfg_filename: Any, *_: Any, **__: Any) -> None:
        """With the settings of a file, and those of the file that this says to be its base."""
        found = read(os.fspath(cfg_filename))
        base = found.pop("_BASE_", None)
        if isinstance(base, str):
            self.merge_from_file(os.path.join(os.path.dirname(cfg_filename), os.path.expanduser(base)))
        merge(self, found)

    def merge_from_other_cfg(self, cfg_other: Any) -> None:
        """With those of another one."""
        merge(self, plain(cfg_other))

    def merge_from_list(self, cfg_list: Any) -> None:
        """With names and values by turns."""
        pairs = list(cfg_list or ())
        for key, value in zip(pairs[::2], pairs[1::2]):  # noqa: B905 - Python 3.9 has no `strict`
            *above, name = key.split(".")
            holder: Any = self
            for each in above:
                holder = holder.setdefault(each, type(self)())
            holder[name] = _kept(holder.get(name), _decoded(value))

    @classmethod
    def load_cfg(cls, given: Any) -> Any:
        """Of a file or a text."""
        text = given if isinstance(given, str) else given.read()
        return cls(_of_yaml(text))

    @classmethod
    def load_yaml_with_base(cls, filename: str, **_: Any) -> Any:
        """Of a file, with its base."""
        found = cls()
        found.merge_from_file(filename)
        return found


class FileConfig(AttributeDict):
    """As that of mmcv and mmengine, of a file of Python, YAML or JSON."""

    def __init__(self, cfg_dict: Any = None, cfg_text: Any = None, filename: Any = None, **_: Any) -> None:
        object.__setattr__(self, "filename", filename)
        object.__setattr__(self, "text", cfg_text or "")
        super().__init__(cfg_dict)

    @classmethod
    def _inside(cls, value: Any) -> Any:
        if isinstance(value, dict) and not isinstance(value, AttributeDict):
            return AttributeDict(value)
        return [cls._inside(each) for each in value] if type(value) is list else value

    @classmethod
    def fromfile(cls, filename: Any, *_: Any, **__: Any) -> Any:
        """The settings of a file, and those of the files that this says to be its bases."""
        path = os.path.abspath(os.path.expanduser(os.fspath(filename)))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return cls(_with_bases(path), text, path)

    @property
    def pretty_text(self) -> str:
        """As text."""
        return _text(self.to_dict())

    @property
    def _cfg_dict(self) -> Any:
        return self

    def dump(self, file: Any = None, **_: Any) -> Any:
        """As text, or into a file."""
        if file is None:
            return self.pretty_text
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(self.pretty_text)
        return None

    def merge_from_dict(self, options: Any, **_: Any) -> None:
        """With what is under keys with dots."""
        for key, value in dict(options or {}).items():
            *above, name = key.split(".")
            holder: Any = self
            for each in above:
                holder = holder[int(each)] if isinstance(holder, list) else holder.setdefault(each, AttributeDict())
            if isinstance(holder, list):
                holder[int(name)] = value
            else:
                merge(holder, {name: value})


class DictAction(argparse.Action):
    """The action of argparse for settings `key=value`."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Keeps them."""
        del parser, option_string
        pairs = (each.partition("=") for each in values or ())
        setattr(namespace, self.dest, {key: _decoded(value) for key, _, value in pairs})


class Registered:
    """Classes by their names, which settings choose by `type`."""

    def __init__(self, name: str, build_func: Any = None, parent: Any = None, **_: Any) -> None:
        self.name, self.parent, self._build = name, parent, build_func
        self.module_dict: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        """The class of a name; None where there is none."""
        found = self.module_dict.get(key)
        return self.parent.get(key) if found is None and self.parent is not None else found

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def register_module(self, name: Any = None, force: bool = False, module: Any = None) -> Any:  # noqa: FBT001, FBT002 - as mmcv has it
        """Takes a class in, or decorates one so."""
        del force
        if module is None and isinstance(name, type):
            name, module = None, name
        if module is None:
            return lambda given: self.register_module(name, module=given)
        for each in [name] if isinstance(name, str) else name or [module.__name__]:
            self.module_dict[each] = module
        return module

    def build(self, cfg: Any, *given: Any, **keywords: Any) -> Any:
        """What settings describe."""
        build: Any = self._build or build_from_cfg
        return build(cfg, *given, **{**keywords, "registry": self})


def build_from_cfg(cfg: Any, registry: Registered, default_args: Any = None, **_: Any) -> Any:
    """What settings describe: of the class that `type` names."""
    given = {**dict(default_args or {}), **dict(cfg)}
    kind = given.pop("type")
    found = registry.get(kind) if isinstance(kind, str) else kind
    if found is None:
        message = f"{kind} is not in the {registry.name} registry"
        raise KeyError(message)
    return found(**given)


# --- files ---


def read(path: str) -> dict[str, Any]:
    """The settings in a file."""
    if path.endswith(".py"):
        found = runpy.run_path(path)
        own = found.get("cfg") or found.get("_C")
        if own is not None:
            return dict(plain(own))
        return {name: value for name, value in found.items() if not name.startswith("__") and _is_setting(value)}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return dict(json.loads(text) if path.endswith(".json") else _of_yaml(text))


def merge(into: dict[str, Any], given: dict[str, Any]) -> None:
    """Puts settings into others, and what is in mappings into those that are there."""
    for name, value in given.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict) and not value.get("_delete_"):
            merge(into[name], value)
        else:
            whole = (
                {key: each for key, each in value.items() if key != "_delete_"} if isinstance(value, dict) else value
            )
            into[name] = _kept(into.get(name), whole)


def _with_bases(path: str) -> dict[str, Any]:
    found = read(path)
    bases = found.pop("_base_", [])
    whole: dict[str, Any] = {}
    for base in [bases] if isinstance(bases, str) else bases:
        merge(whole, _with_bases(os.path.join(os.path.dirname(path), base)))
    merge(whole, found)
    return whole


def _kept(old: Any, new: Any) -> Any:
    """A value in the form of the one that it replaces: a tuple stays one."""
    return type(old)(new) if type(old) in (list, tuple) and type(new) in (list, tuple) else new


def _decoded(value: Any) -> Any:
    try:
        return ast.literal_eval(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError):
        return value


def _of_yaml(text: str) -> Any:
    return importlib.import_module("yaml").safe_load(text) or {}


def _text(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, default=str)


def _is_setting(value: Any) -> bool:
    return not isinstance(value, type(os)) and not callable(value)


def _made_folder(path: Any, **_: Any) -> None:
    os.makedirs(os.path.expanduser(path), exist_ok=True)


def _yacs() -> dict[str, Any]:
    return {"CfgNode": CfgNode}


def mm() -> dict[str, Any]:
    """The names of mmcv and mmengine that concern settings."""
    return {
        "Config": FileConfig,
        "ConfigDict": AttributeDict,
        "DictAction": DictAction,
        "Registry": Registered,
        "build_from_cfg": build_from_cfg,
        "mkdir_or_exist": _made_folder,
    }


NAMES: dict[str, tuple[str, Any]] = {"yacs": ("a configuration that files are merged into", _yacs)}
PARTS: dict[str, Any] = {"fvcore": _yacs, "mmcv": mm, "mmengine": mm}
"""Packages of which only these names are known."""
