"""Hands a scan to other machines in parts: whole projects and shards of them, over an executor of `concurrent.futures`."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from torch_doctor.scan.causes import order
from torch_doctor.scan.options import Report
from torch_doctor.scan.sharding import Shard
from torch_doctor.sources.discovery import display

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from torch_doctor.scan.following import Follower
    from torch_doctor.scan.options import Options

PARTS = 2
"""Parts for each worker, at least: who is done early takes another."""
DASK = "dask:"
PATIENCE = "10s"
"""How long a scheduler may take to answer."""
_PART = """
import sys
sys.path[:] = filter(None, sys.path)
from torch_doctor.scan import scan
from torch_doctor.scan.cluster import do
do(scan)
"""
"""A part of a scan runs in the user's folder, whose files may be named like modules of a library: they are not run."""
_LOOK = 0.5  # seconds between two looks at whether anybody still wants the result


class ClusterError(Exception):
    """The cluster cannot be used; the message is one line that says why."""


def scanned(options: Options, follower: Follower) -> Report:
    """Scan on the cluster that the options name.

    Raises:
        ClusterError: it cannot be reached, or its library is not there.
    """
    address = options.executor.removeprefix(DASK)
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        message = "`--executor dask:ADDRESS` needs Dask: `pip install 'torch-doctor[cluster]'`"
        raise ClusterError(message) from None
    try:
        client = dask.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        message = f"no Dask scheduler answers at {address}: {str(error).splitlines()[0] if str(error) else error!r}"
        raise ClusterError(message) from None
    with client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        return over(client.get_executor(pure=False, retries=3), options, max(1, workers), follower)


def over(executor: Executor, options: Options, workers: int, follower: Follower) -> Report:
    """Scan over an executor; what comes back is in the order in which one process would tell it."""
    shards = -(-PARTS * workers // len(options.paths))
    alone = replace(options, executor="", jobs=1, narrowing=())
    parts = [
        replace(alone, paths=(path,), shard=Shard(number, shards) if shards > 1 else None)
        for path in options.paths
        for number in range(1, shards + 1)
    ]
    futures = [executor.submit(_part, pickle.dumps(part), os.getcwd()) for part in parts]  # noqa: PTH109 - a word for it
    reports = []
    for number, (part, future) in enumerate(zip(parts, futures, strict=True)):
        follower.reading(number, len(parts), display(part.paths[0]))
        try:
            reports.append(pickle.loads(future.result()))  # noqa: S301 - what our own process has written
        except Exception as error:  # noqa: BLE001 - one part costs no other
            lost = Report()
            lost.failed(f"{display(part.paths[0])} on the cluster", error)
            reports.append(lost)
    return joined(reports, shards)


def joined(reports: Sequence[Report], shards: int) -> Report:
    """One report of those of the parts, of which so many, one after the other, are shards of one path."""
    whole = Report(files=sum(report.files for report in reports[::shards]))
    told = {(finding.code, finding.site): finding for report in reversed(reports) for finding in report.findings}
    whole.findings = sorted(told.values(), key=order)
    for report in reports:
        whole.sources |= report.sources
        for own, more in (
            (whole.errors, report.errors),
            (whole.warnings, report.warnings),
            (whole.notes, report.notes),
        ):
            own += [line for line in more if line not in own]
        for stage, seconds in report.seconds.items():
            whole.seconds[stage] = whole.seconds.get(stage, 0.0) + seconds
    return whole


def _part(packed: bytes, folder: str) -> bytes:
    """Scan in a process of its own, in a folder: workers have threads, and a scan has its process for itself.

    Raises:
        RuntimeError: it did not come to its end.
    """
    command = [sys.executable, "-c", _PART]
    done = subprocess.run(command, input=packed, cwd=folder, capture_output=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        message = f"a part of the scan exited with status {done.returncode}: {' '.join(last)}"
        raise RuntimeError(message)
    return done.stdout


def do(scan: Callable[[Options], Report]) -> None:
    """Do the part of a scan that comes on stdin, and write its report to stdout."""
    out, parent = os.dup(1), os.getppid()
    os.dup2(2, 1)
    Thread(target=_leave_without, args=(parent,), daemon=True).start()
    options = pickle.load(sys.stdin.buffer)  # noqa: S301 - what our own process has written
    report = scan(options)
    with open(out, "wb") as file:  # noqa: PTH123 - a descriptor
        pickle.dump(report, file)


def _leave_without(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
