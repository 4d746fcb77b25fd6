"""Functions and contexts that switch something of the whole process: each may be the context of a `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import library_family
from torch_doctor.static.tables import settings
from torch_doctor.static.values import Call, Tool

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


@library_family({*settings.SWITCHES, *settings.CONTEXTS})
def called(run: Run, name: str, call: Call) -> Tool:
    """What such a function returns keeps what it was given."""
    tool: Tool = run.own(Tool(run.site(call.node), name, args=call.args, keywords=call.keywords))
    return tool
