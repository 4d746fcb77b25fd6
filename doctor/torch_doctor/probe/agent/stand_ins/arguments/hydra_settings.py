"""Values that a configuration of hydra leaves open (`???`) and that nobody gave."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from .documented import said_of, value_of
from .values import made_up, main_command, untyped

if TYPE_CHECKING:
    from types import ModuleType


WHY = "value missing in the configuration"
GROUP = re.compile(r"You must specify '([^']+)'")
MOST_GROUPS = 10


class HydraSettings(StandIn):
    """Fills settings of hydra that have no value."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches hydra when it is imported."""
        after("hydra._internal.hydra", functools.partial(_patch, self))


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
        _fill(config, stand_in)
        return config

    hydra.Hydra.compose_config = composed


def _choice(text: str) -> str | None:
    """The override that chooses what a list of defaults leaves open, from what hydra says of it."""
    group = GROUP.search(text)
    options = [line.strip() for line in text.partition("Available options:")[2].splitlines() if line.strip()]
    return f"{group[1]}={main_command(options)}" if group and options else None


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
        stand_in.tell(f"{key}={value}", said_of(value), why=WHY)
        with open_dict(config):
            OmegaConf.update(config, key, str(value) if known else _read(value))


def _open(config: Any) -> list[str]:
    """The keys that have no value, of what is not hydra's own."""
    from omegaconf import OmegaConf

    found = []
    for key in config:
        if OmegaConf.is_missing(config, key):
            found.append(str(key))
        elif key != "hydra" and OmegaConf.is_config(config._get_node(key)):
            found += sorted(OmegaConf.missing_keys(config._get_node(key)))  # with what is above them
    return found


def _read(value: str) -> Any:
    """The number that a text is; else the text."""
    if value.isdecimal():
        return int(value)
    return float(value) if value.replace(".", "", 1).isdecimal() else str(value)
