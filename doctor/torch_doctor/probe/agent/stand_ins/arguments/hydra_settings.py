"""Values that a configuration of hydra leaves open (`???`) and that nobody gave; and plugins of hydra that are not there."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from .documented import said_of, value_of
from .values import made_up, main_command, untyped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


WHY = "value missing in the configuration"
GROUP = re.compile(r"You must specify '([^']+)'")
MOST_GROUPS = 10
MISSING = "???"
USUAL = {"job_logging": "default", "hydra_logging": "default", "launcher": "basic", "sweeper": "basic"}
"""Groups of hydra's own settings that plugins add choices to, and the choice that is always there."""


class HydraSettings(StandIn):
    """Fills settings of hydra that have no value."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches hydra when it is imported."""
        after("hydra._internal.hydra", functools.partial(_patch, self))
        after("hydra._internal.config_repository", functools.partial(_patch_plugins, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    hydra: Any = module
    compose = hydra.Hydra.compose_config

    @functools.wraps(compose)
    def composed(self: Any, config_name: Any, overrides: Any, *arguments: Any, **keywords: Any) -> Any:
        overrides = list(overrides)
        for _ in range(MOST_GROUPS):
            try:
                config = compose(self, config_name, overrides, *arguments, **keywords)
                break
            except Exception as error:
                chosen = _choice(str(error))
                if chosen is None:
                    raise
                stand_in.tell(chosen, "the first choice", why=WHY)
                overrides.append(chosen)
        else:
            config = compose(self, config_name, overrides, *arguments, **keywords)
        for given in [each for key in _open(config) for each in _of_a_group(self, key, stand_in)]:
            with contextlib.suppress(Exception):  # one that is in the list of defaults, or one that is not
                config = compose(self, config_name, [*overrides, given], *arguments, **keywords)
                overrides.append(given)
                stand_in.tell(given.lstrip("+"), "one of the choices", why=WHY)
        _fill(config, stand_in)
        return config

    hydra.Hydra.compose_config = composed


def _patch_plugins(stand_in: StandIn, module: ModuleType) -> None:
    """Has hydra log and launch as usual where a plugin is to do it that is not there: no plugin plays a part in training."""
    repository: Any = module
    load = repository.ConfigRepository.load_config

    @functools.wraps(load)
    def loaded(self: Any, config_path: str) -> Any:
        found = load(self, config_path)
        own, _, chosen = config_path.partition("hydra/")
        group, _, name = chosen.rpartition("/")
        if found is not None or own or group not in USUAL:
            return found
        stand_in.tell(f"hydra/{group}={name}", USUAL[group], why="a plugin that is not installed", voids=[])
        return load(self, f"hydra/{group}/{USUAL[group]}")

    repository.ConfigRepository.load_config = loaded


def _choice(text: str) -> str | None:
    """The override that chooses what a list of defaults leaves open, from what hydra says of it."""
    group = GROUP.search(text)
    options = [line.strip() for line in text.partition("Available options:")[2].splitlines() if line.strip()]
    return f"{group[1]}={main_command(options)}" if group and options else None


def _of_a_group(hydra: Any, key: str, stand_in: StandIn) -> list[str]:
    """The overrides that may choose a configuration for a setting that is a group of them; the documented one if there is one."""
    group = key.replace(".", "/")
    options = list(hydra.config_loader.get_group_options(group))
    if not options:
        return []
    documented = value_of(stand_in.sources, [key], None)
    chosen = documented if documented in options else main_command(options)
    return [f"{group}={chosen}", f"+{group}={chosen}"]


def _fill(config: Any, stand_in: StandIn) -> None:
    from omegaconf import OmegaConf, open_dict

    for key in _open(config):
        *above, name = key.split(".")
        holder = OmegaConf.select(config, ".".join(above)) if above else config
        node = holder._get_node(name) if hasattr(holder, "_get_node") else None
        kind = getattr(getattr(node, "_metadata", None), "ref_type", None)
        known = kind in (int, float, bool, str)
        guess = made_up(name, kind, [], "", stand_in.sources) if known else untyped(name, stand_in.sources)
        value = value_of(stand_in.sources, [key], kind if known else None) or guess
        with contextlib.suppress(Exception), open_dict(config):  # of another type: a class of the script's
            OmegaConf.update(config, key, str(value) if known else _read(value))
            stand_in.tell(f"{key}={value}", said_of(value), why=WHY)


def _open(config: Any) -> list[str]:
    """The keys that have no value, of what is not hydra's own; what refers to others stays as it is until hydra is set up."""
    from omegaconf import OmegaConf

    plain: Any = OmegaConf.to_container(config, resolve=False)
    return list(_missing({key: value for key, value in plain.items() if key != "hydra"}))


def _missing(plain: dict[Any, Any], above: str = "") -> Iterator[str]:
    for key, value in plain.items():
        if value == MISSING:
            yield f"{above}{key}"
        elif isinstance(value, dict):
            yield from _missing(value, f"{above}{key}.")


def _read(value: str) -> Any:
    """The number that a text is; else the text."""
    if value.isdecimal():
        return int(value)
    return float(value) if value.replace(".", "", 1).isdecimal() else str(value)
