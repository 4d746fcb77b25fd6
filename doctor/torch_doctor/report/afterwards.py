"""What the probe adds to findings that were shown before scripts were run: their verdicts, and what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.report import concise, full, short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site

FOR_PEOPLE = {"full": full, "short": short, "concise": concise}
"""The formats that are printed before the scripts run, and completed afterwards."""

Shown = tuple[str, "Site"]
"""What tells findings apart."""


def shown(finding: Finding) -> Shown:
    """What tells the finding from others."""
    return finding.code, finding.site


def render(name: str, before: Collection[Shown]) -> Callable[[Reported, Look], str]:
    """Return the function that renders what a format of `FOR_PEOPLE` adds to the findings shown before."""
    module = FOR_PEOPLE[name]
    whole, again = module.render, module.render_verdict

    def rendered(reported: Reported, look: Look) -> str:
        return "".join(
            (again(finding, look) if shown(finding) in before else whole(replace(reported, findings=[finding]), look))
            for finding in reported.findings
        )

    return rendered
