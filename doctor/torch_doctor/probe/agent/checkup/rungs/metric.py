"""How does the script's own evaluation score perfect predictions? The probe run before the checkup has asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..telling import result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

NOT_SCORED = "the probe run scored no predictions made from labels"


def climb(_: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Say nothing: the report takes the figures from the probe run."""
    yield from ()
    return result("skipped", NOT_SCORED)
