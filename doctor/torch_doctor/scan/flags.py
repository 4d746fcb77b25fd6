"""Which arguments a script is run with once more: those with which most of its findings that need another setting show."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_doctor.probing import Probing, Runnable
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace


class Flags(Struct, frozen=True):
    """The arguments that a setting needs, the setting as its findings name it, and how many of them there are."""

    arguments: tuple[str, ...]
    condition: str
    findings: int

    def added_to(self, how: Probing, script: Path) -> Probing:
        """Return how a script is run with these arguments behind its own."""
        return replace(how, args=(*how.args_for(script), *self.arguments), arguments=())

    def told(self, script: str) -> str:
        """Say that a script is run again, with the command."""
        which = "a finding that needs" if self.findings == 1 else f"{self.findings} findings that need"
        return f"running `{shlex.join((script, *self.arguments))}` as well, for {which} another setting"


def flags_for(findings: Sequence[Finding], runnable: Sequence[Runnable]) -> dict[Path, Flags]:
    """Return the arguments for each script by whose settings findings show that no run has confirmed yet."""
    found: dict[Path, Flags] = {}
    for part in runnable:
        for script in part.scripts:
            if (flags := _most_needed(findings, part, script)) is not None:
                found[script] = flags
    return found


def _most_needed(findings: Sequence[Finding], part: Runnable, script: Path) -> Flags | None:
    traces = [trace for trace in part.traces if trace.path == part.project.shown(script)]
    counted: Counter[tuple[tuple[str, ...], str]] = Counter()
    for finding in findings:
        if not finding.condition or finding.verdict is Verdict.CONFIRMED:
            continue
        for trace in traces:
            arguments = _arguments(trace, finding)
            if arguments:
                counted[arguments, finding.condition] += 1
                break
    for (arguments, condition), number in counted.most_common(1):
        return Flags(arguments, condition, number)
    return None


def _arguments(trace: Trace, finding: Finding) -> tuple[str, ...] | None:
    """Return the arguments for the setting that a finding needs; None if this trace does not know them."""
    places = finding.shown()
    if trace.condition(*places) == finding.condition:
        return trace.arguments_for(*places)
    named = {f"with {each.words}": each.arguments for branch in trace.branches if (each := branch.needs) is not None}
    return named.get(finding.condition) if any(event.site in places for event in trace.events) else None
