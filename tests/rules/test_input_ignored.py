from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import InputTried
from torch_doctor_rules.module.input_ignored import InputIgnored

if TYPE_CHECKING:
    from .conftest import Script


def test_what_the_source_never_reads_is_reported(script: Script) -> None:
    script.add(InputTried, "mask", module="Net", name="mask")
    [finding] = script.findings(InputIgnored)
    assert "`mask` has no effect on the output of `Net`" in finding.message


@pytest.mark.parametrize(
    ("tries", "others", "found"),
    [((False, False), 1, 1), ((False,), 1, 0), ((False, True), 1, 0), ((False, False), 0, 0)],
)
def test_a_run_has_to_try_twice_with_another_input_that_changes_something(
    script: Script, tries: tuple[bool, ...], others: int, found: int
) -> None:
    for changed in tries:
        script.add(InputTried, "mask", module="Net", name="mask", changed=changed, others=others)
    assert len(script.found(InputIgnored)) == found


@pytest.mark.parametrize("optional", [False, True])
def test_the_run_alone_says_nothing_of_what_a_setting_may_switch_on(script: Script, *, optional: bool) -> None:
    for _ in range(2):
        script.add(InputTried, "mask", module="Net", name="mask", changed=False, others=1, optional=optional)
    [finding] = script.findings(InputIgnored)
    assert InputIgnored().speaks_alone(script.trace, finding) is not optional
