"""Hooks of parameters: they may give back another gradient, such as one that is divided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_path

if TYPE_CHECKING:
    from collections.abc import MutableSet

    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


class Hooked(Knowledge):
    """The methods by which hooks were registered for gradients of parameters."""

    by: MutableSet[str] = per_path(set)


def registered(run: Run, name: str) -> None:
    """A method of parameters is called by this name, which may register a hook."""
    if name in ("register_hook", "register_post_accumulate_grad_hook"):
        run.of(Hooked).by.add(name)


def divided(run: Run, flow: Flow) -> Tri:
    """Whether the gradients of a loss are divided: not known where a hook may do it."""
    return None if flow.divided is False and run.of(Hooked).by else flow.divided
