"""Traces of files, for those who want to see what happens in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.probing import Runnable
from torch_doctor.scan.pipeline import Scan
from torch_doctor.scan.running import observed

if TYPE_CHECKING:
    from torch_doctor.scan.following import Follower
    from torch_doctor.scan.options import Options, Report
    from torch_doctor.trace import Event, Trace


def traced(
    options: Options, follower: Follower | None = None, wanted: frozenset[type[Event]] | None = None
) -> tuple[list[Trace], Report]:
    """What the static witness sees in the files under the paths, and the probe where it is asked for.

    `wanted` are the events that somebody reads, None for all. The report says what they could not see.
    """
    scan = Scan(options, follower, everything=wanted is None, wanted=wanted or frozenset())
    found: list[Trace] = []
    for project, files in scan.projects():
        scan.look(project, files, found.append)
        if options.probe is not None:
            found += [trace for trace, _ in observed(scan, [Runnable(project, scan.scripts[project], found)])]
        sites = {branch.site for trace in found for branch in trace.branches}
        for site in sites.union(event.site for trace in found if wanted is not None for event in trace.events):
            scan.show(site, project)
    return found, scan.report
