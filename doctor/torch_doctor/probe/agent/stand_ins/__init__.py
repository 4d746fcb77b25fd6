"""Stand-ins for what a script needs and this machine does not have: a GPU, data, pretrained weights, arguments, trackers.

Each is told, with what it makes meaningless (`voids`, the words of `told`); what cannot be known is not made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import (
    absent,
    console,
    cuda,
    distributed,
    folders,
    hub,
    loaders,
    model_hubs,
    nltk_data,
    outputs,
    processes,
    trackers,
    vision,
    weights,
)
from .arguments import argparse_options, click_options, fire_commands, hydra_settings
from .compiled import run_as_written
from .cuda.devices import needed
from .files import Files
from .source import Sources
from .told import Asked, Teller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from ..ranks import Ranks

__all__ = ["Asked", "prepare", "with_torch"]

_prepared: dict[int, tuple[Sources, Teller]] = {}


def prepare(plan: Mapping[str, Any], tell: Callable[..., None], ranks: Ranks) -> None:
    """Sets everything up that has to be in place before the script starts, and hooks for what it may import.

    Args:
        plan: `script` (absolute path), `project` (absolute folder of the user's own files), `args`, `device`.
        tell: called as `tell("stand_in", what=…, for_=…, how=…, voids=[…])`, `tell("missing", what=…, text=…)`,
            `tell("asked", text=…, missing=[…])` (followed by the exception `Asked`) and `tell("note", text=…)`.
        ranks: this process among those that run the script.
    """
    sources, teller = _shared(plan, tell)
    console.prepare(sources, teller)
    trackers.prepare(sources, teller)
    absent.prepare(sources, teller)
    processes.install(sources, teller, ranks)
    distributed.prepare(sources, teller, ranks)
    vision.prepare(teller)
    for options in (argparse_options, click_options, fire_commands, hydra_settings):
        options.prepare(sources, teller)
    Files(sources, teller).prepare()
    outputs.prepare(sources, teller)
    folders.prepare(sources, teller)
    hub.prepare(sources, teller)
    nltk_data.prepare(teller)


def with_torch(torch: ModuleType, plan: Mapping[str, Any], tell: Callable[..., None], ranks: Ranks) -> None:
    """Patches torch right after its import; arguments as for `prepare`, which came before."""
    sources, teller = _shared(plan, tell)
    on_cpu = needed(torch, plan)
    if on_cpu:
        why = "--device cpu" if torch.cuda.is_available() else "no GPU that torch can use"
        cuda.install(torch, sources, teller, why, pretend=bool(plan.get("pretend")), processes=ranks.count)
    loaders.install(torch, teller, on_cpu=on_cpu)
    processes.with_torch(torch, teller, ranks)
    weights.with_torch(torch, sources, teller)
    model_hubs.with_torch(torch, teller)
    hub.with_torch(teller, on_cpu=on_cpu)
    outputs.with_torch(torch, sources, teller)
    distributed.with_torch(torch, teller, ranks, on_cpu=on_cpu)
    run_as_written(torch, teller)


def _shared(plan: Mapping[str, Any], tell: Callable[..., None]) -> tuple[Sources, Teller]:
    return _prepared.setdefault(id(plan), (Sources(plan["project"], plan["script"]), Teller(tell)))
