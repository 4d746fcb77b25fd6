"""The agent's server, with what makes its forks cheaper, which also runs scripts that nobody watches.

A probe leaves the compiler of torch out while it can (`tests/probe/agent/test_compiler.py`); here it is there from the start.

`server.py SOCKET AGENT`: listens on the socket until somebody ends it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import runpy
import sys
from pathlib import Path

COLLAPSE = 25  # MADV_COLLAPSE, since Linux 6.1
LARGE = 2 << 20
KEPT: list[
    object
] = []  # what scripts leave; a process group that is dropped joins threads that wait for the GIL it holds


def of_script(path: str) -> int:
    """What `python PATH` does: nobody watches the script."""
    sys.argv = [path]
    sys.path[0] = str(Path(path).parent)
    KEPT.append(runpy.run_path(path, run_name="__main__"))
    return 0


def use_large_pages() -> None:
    """Move what is written to into large pages, where the kernel can: a fork copies an entry for each page, and drops it."""
    kernel = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, rights, _, _, _, *name = line.split()
        first, end = (int(each, 16) for each in place.split("-"))
        if rights == "rw-p" and name in ([], ["[heap]"]) and end - first >= LARGE:
            kernel.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), COLLAPSE)


def main() -> int:
    """Serve where we are told to."""
    path, folder = sys.argv[1:]
    start = runpy.run_path(f"{folder}/__main__.py", run_name="_agent_start")["load"]()
    process, server = (importlib.import_module(f".{name}", start.__package__) for name in ("process", "server"))
    process.prepare()
    importlib.import_module("torch._dynamo")  # as DDP does, in every process of the tests of ranks
    server.load()
    gc.collect()
    gc.freeze()
    use_large_pages()
    sys.argv[0] = str(start.__file__)

    def run(arguments: list[str]) -> int:
        status: int = start.main(arguments) if "--plan" in arguments else of_script(*arguments)
        return status

    status: int = server.serve(run, path, 0.0)
    return status


sys.exit(main())
