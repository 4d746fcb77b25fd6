"""Uses of what has a successor in torch: which of them warn or fail, and which work in silence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.edits import Successor
from torch_doctor.trace import ANY, BranchKind, OutdatedUsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace, Version

DEVICE = re.compile(r"(torch[\w.]*)\((\"\w+\")\)")
"""A successor that is told the device first, as `torch.autocast(\"cuda\")` is."""


def uses(trace: Trace) -> Iterator[OutdatedUsed]:
    """The uses that are meant for every version of torch, whose successor every torch that the project allows has."""
    for used in trace.of(OutdatedUsed):
        kinds = ((trace.branches[branch].kind, arm) for branch, arm in used.guards)
        if any(kind is BranchKind.VERSION or (kind is BranchKind.RAISED and arm) for kind, arm in kinds):
            continue
        allowed = trace.torch()  # only here: the files that pin versions are read for it
        if allowed == ANY or used.since <= allowed.oldest:
            yield used


def is_gone(trace: Trace, used: OutdatedUsed) -> bool:
    """Whether a torch that the project allows does not have it any more."""
    return used.gone is not None and used.gone <= trace.torch().newest


def is_heard(trace: Trace, used: OutdatedUsed) -> bool:
    """Whether a torch that the project allows warns of it, or fails."""
    return is_gone(trace, used) or (used.warns is not None and used.warns <= trace.torch().newest)


def cause(used: OutdatedUsed) -> str:
    """What its uses have in common under each spelling: an argument of several functions is one."""
    owner, bracket, argument = used.api.partition("(")
    return f"{argument if bracket else owner.rpartition('.')[2]} {used.instead}"


def spelled(version: Version | None) -> str:
    """A version as people write it."""
    return ".".join(map(str, version or ()))


def successor(used: OutdatedUsed) -> list[Successor]:
    """What puts the successor in its place, where it takes what the old one takes."""
    device = DEVICE.fullmatch(used.instead)
    if device:
        return [Successor(used.site, device[1], device[2])]
    old, new = used.name.rpartition(".")[2], used.instead.rpartition(".")[2]
    return [Successor(used.site, used.instead)] if new == f"{old}_" else []
