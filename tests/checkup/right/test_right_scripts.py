"""Scripts that train as they should climb without a failed rung and without a finding."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from torch_doctor.checkup.outcome import Checkup

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

SCRIPTS = Path(__file__).parent / "scripts"
CLASSES = {
    "inspect",
    "baseline",
    "overfit-one-batch",
    "small-subset",
    "repeatability",
    "device",
    "non-finite",
    "receipt",
}
"""What can be decided of a script with classes and two loaders."""
PASSED = {
    "charlm": CLASSES - {"baseline", "small-subset"},  # its batches come from a function, its loss from the model
    "cnn": CLASSES,
    "gan": {"inspect", "repeatability", "device", "non-finite", "receipt"},
    "regression": CLASSES - {"baseline"},
    "reinforce": {"repeatability", "device", "non-finite", "receipt"},
    "segmentation": CLASSES - {"baseline", "overfit-one-batch"},  # its loss is a sum
    "simclr": CLASSES
    - {"baseline", "overfit-one-batch", "repeatability"},  # views of its validation samples are random
}
"""The rungs that have to pass, of each script."""


@pytest.mark.parametrize("name", PASSED)
def test_nothing_is_said_against_a_right_script(name: str, folder: Path, run: Callable[..., Outcome]) -> None:
    shutil.copy(SCRIPTS / f"{name}.py", folder)
    status = run("checkup", f"{name}.py", "--isolated", "-q", "--json", "out.json", "--python", sys.executable).status
    one = msgspec.json.decode((folder / "out.json").read_bytes(), type=Checkup)
    reasons = {rung.name: (rung.status, rung.reason) for rung in one.rungs}
    assert [reason for reason in reasons.values() if reason[0] == "failed"] == []
    assert [reason for reason in reasons.values() if "itself failed" in reason[1]] == []
    assert [(finding.code, finding.site, finding.verdict) for finding in one.findings] == []
    assert (status, one.cause) == (0, "")
    assert {rung for rung, (status, _) in reasons.items() if status == "passed"} >= PASSED[name], reasons
    restored = {fact.value for rung in one.rungs for fact in rung.evidence if fact.group == "restored"}
    assert restored == {0}
