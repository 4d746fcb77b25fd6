"""Whether a project asks for a torch that the probe, or the Python that runs the script, does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.versions import ANY

if TYPE_CHECKING:
    from torch_doctor.trace.versions import Version

OLDEST = (2, 4)
"""The oldest torch in which the probe runs."""
NEWEST_PYTHON = {(2, 4): (3, 12), (2, 6): (3, 13), (2, 9): (3, 14)}
"""The newest Python for which there are wheels of torch, from a version on (https://pypi.org/project/torch)."""


def unsupported(newest: Version, python: str) -> str:
    """Say that the newest torch which a project allows does not run here; empty where it does, or any is allowed.

    `python` is the version of the interpreter that runs the scripts.
    """
    if newest == ANY.newest:
        return ""
    wanted = ".".join(map(str, newest))
    if newest < OLDEST:
        return f"the project asks for torch {wanted}, and the probe needs torch {'.'.join(map(str, OLDEST))} or later"
    last = max(each for each in NEWEST_PYTHON.items() if each[0] <= newest)[1]
    here = tuple(int(part) for part in python.split(".")[:2] if part.isdecimal())
    if here <= last:
        return ""
    return (
        f"the project asks for torch {wanted}, which has no wheel for Python {'.'.join(map(str, here))}: "
        f"pass an environment with Python {'.'.join(map(str, last))} to `--python`"
    )
