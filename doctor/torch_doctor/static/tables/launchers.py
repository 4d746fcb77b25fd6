"""The functions that only launch another one: processes, threads, trials, command lines."""

from __future__ import annotations

from torch_doctor.static import libraries
from torch_doctor.static.libraries.library import Launcher

LAUNCHERS: dict[str, Launcher] = {
    "torch.multiprocessing.spawn": Launcher(0, "fn", 1, prepended=1),
    "torch.multiprocessing.start_processes": Launcher(0, "fn", 1, prepended=1),
    "torch.multiprocessing.Process": Launcher(1, "target", 3),
    "multiprocessing.Process": Launcher(1, "target", 3),
    "multiprocessing.context.Process": Launcher(1, "target", 3),
    "threading.Thread": Launcher(1, "target", 3, beside=True),
    "torch.distributed.launcher.elastic_launch": Launcher(1, "entrypoint"),
    "torch.distributed.launcher.api.elastic_launch": Launcher(1, "entrypoint"),
    "torch.distributed.launcher.api.launch_agent": Launcher(1, "entrypoint", 2),
    "asyncio.run": Launcher(0, "main"),
    "cProfile.run": Launcher(None),
    **libraries.table(lambda library: library.launchers),
}
"""Calls that run a function of the user's; those with no position are decorators."""

LAUNCHER_METHODS: dict[str, Launcher] = libraries.table(lambda library: library.launcher_methods)
"""The same for methods."""
