"""Keeps what the script does away from the machine: its files, its processes, the network.

Writes go to a scratch folder and later reads see them; deletions are remembered only; connections and commands are refused.
These are guard rails for scripts that mean no harm, not a sandbox: code that wants to get past them can.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from . import captured, native, real, shared, signals
from .audit import Audit
from .descriptors import Descriptors
from .fence import Fence
from .files import FileReplacements
from .network import Network
from .overlay import Overlay
from .processes import ProcessGuard
from .refusal import Refusals, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["RefusedError", "install"]


def install(plan: Mapping[str, Any], tell: Callable[..., None], kept: Iterable[int] = ()) -> Fence:
    """Puts the guard rails up, for the rest of the process.

    Args:
        plan: `scratch` (folder that takes what is written, made if need be) and `cwd` (the script's working directory);
            `processes`, if there, says how many share that folder, `signals` names further signals whose handlers the
            script may not set.
        tell: called as `tell("refused", what=…)` once for each thing refused, and as `tell("ended", how="exit",
            status=…)` just before `os._exit`.
        kept: descriptors that stay open whatever the script closes.

    Returns:
        What the kernel holds back besides.
    """
    refusals = Refusals(tell)
    overlay = Overlay(plan["scratch"], plan["cwd"], refusals, shared=plan.get("processes", 1) > 1)
    network, processes = Network(refusals, overlay.is_free), ProcessGuard(refusals, tell)
    _temporary_files(os.path.join(overlay.scratch, "tmp"))
    sys.dont_write_bytecode = True
    pairs = FileReplacements(overlay).install()
    pairs += processes.install()
    pairs += Descriptors(kept).install()
    pairs += signals.install(plan.get("signals", ()))
    pairs.append((real.remove_tree, _tree_remover(overlay)))
    network.install()
    captured.replace(pairs, keep=__name__.rpartition(".")[0])
    native.install(overlay)
    shared.install(overlay.scratch)
    fence = Fence(overlay.scratch, alone=plan.get("processes", 1) == 1)
    fence.install()
    Audit(overlay, refusals, {**network.events, **processes.events}).install()
    return fence


def _temporary_files(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    tempfile.tempdir = folder
    os.environ["TMPDIR"] = folder


def _tree_remover(overlay: Overlay) -> Callable[..., None]:
    def rmtree(path: Any, ignore_errors: bool = False, onerror: Any = None, **keywords: Any) -> None:  # noqa: FBT001, FBT002
        """`shutil.rmtree`: the folder is gone from the script's view."""
        if real.is_inside():
            real.remove_tree(path, ignore_errors, onerror, **keywords)
            return
        try:
            os.listdir(path)  # raises what the script expects
            overlay.remove(os.fsdecode(path))
        except OSError:
            report = keywords.get("onexc")
            if report is not None:
                report(os.listdir, path, sys.exc_info()[1])
            elif onerror is not None:
                onerror(os.listdir, path, sys.exc_info())
            elif not ignore_errors:
                raise

    shutil.rmtree = rmtree  # type: ignore[assignment]
    return rmtree
