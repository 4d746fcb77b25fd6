"""The main job: from paths to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.cache import Storage
from torch_doctor.scan.causes import order
from torch_doctor.scan.clones import checked_out
from torch_doctor.scan.following import Follower
from torch_doctor.scan.options import FileIgnore, Options, Report
from torch_doctor.scan.remembering import Memory
from torch_doctor.scan.sharding import Shard
from torch_doctor.static import Environment, usual_folder

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Trace

__all__ = [
    "Environment",
    "FileIgnore",
    "Follower",
    "Options",
    "Report",
    "Shard",
    "files",
    "scan",
    "traces",
    "usual_folder",
]


def scan(options: Options, follower: Follower | None = None) -> Report:
    """Look at everything under the paths; `follower` hears how it goes on.

    Where `options` names a cache, the report of the last scan is taken if nothing has changed since; else what of it still
    holds.

    Raises:
        ClusterError: `options` names a cluster that cannot be used.
    """
    if options.executor:
        from torch_doctor.scan.cluster import scanned  # noqa: PLC0415 - only where there is one

        report = scanned(options, follower or Follower())
    else:
        errors: list[str] = []
        with checked_out(options, errors) as paths:
            report = _here(paths, follower)
        report.errors += errors
    if options.narrowing and options.probe is None:  # else it was done before the scripts were run
        report.narrow(options.narrowing)
        report.findings.sort(key=order)
    return report


def _here(options: Options, follower: Follower | None) -> Report:
    """Scan in this process, and those that it starts."""
    if options.cache is None or options.probe is not None or options.overlay:
        return _scanned(options, follower, None)
    storage = Storage(options.cache)
    memory = Memory(options, storage)
    report = memory.report() or _scanned(options, follower, memory)
    if storage.trouble:
        report.warnings.append(
            f"the cache in {options.cache} is not used ({storage.trouble}): remove it with `torch-doctor clean`,"
            " or disable it with `--no-cache`"
        )
    return report


def _scanned(options: Options, follower: Follower | None, memory: Memory | None) -> Report:
    from torch_doctor.scan.pipeline import Scan  # noqa: PLC0415 - only where something is new

    return Scan(options, follower, memory=memory).run()


def files(options: Options) -> tuple[list[str], Report]:
    """The names of the files under the paths, in order; the report says which paths lead nowhere."""
    from torch_doctor.scan.pipeline import Scan  # noqa: PLC0415 - as for a scan
    from torch_doctor.sources.discovery import display  # noqa: PLC0415 - as above

    found = Scan(options)
    _, _, paths = found.files()
    return sorted(options.names.get(path) or display(path) for path in paths), found.report


def traces(
    options: Options, follower: Follower | None = None, wanted: frozenset[type[Event]] | None = None
) -> tuple[list[Trace], Report]:
    """What the static witness sees in the files under the paths, and the probe where it is asked for.

    `wanted` are the events that somebody reads, None for all. The report says what they could not see.
    """
    from torch_doctor.scan.tracing import traced  # noqa: PLC0415 - not for a scan of which nothing is new

    return traced(options, follower, wanted)
