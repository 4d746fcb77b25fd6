"""Whether the rungs that decide most get their time, and the others say what they would have cost."""

from __future__ import annotations

import re
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken
from torch_doctor.checkup.outcome import RUNGS
from torch_doctor.probe.agent.checkup.pacing import FIRST, SHARES, STEPS, Pacing

if TYPE_CHECKING:
    from tests.checkup.conftest import Examine


def pacing(seconds: float, step: float) -> Pacing:
    """One of a run that began now, where each step takes as long."""
    caps = SimpleNamespace(began=monotonic(), seconds=seconds)
    made = Pacing(caps, {"share": 1.0, "time": 2 * seconds})  # type: ignore[arg-type] # what is read of it
    made.take(SimpleNamespace(seconds=step))  # type: ignore[arg-type] # as above
    return made


def test_each_rung_has_a_share() -> None:
    assert tuple(SHARES) == RUNGS
    assert {*STEPS, *FIRST} <= {*RUNGS}


def test_the_first_rungs_take_what_they_need() -> None:
    made = pacing(100.0, 0.1)
    rungs = list(RUNGS[2:])
    granted = made.begin("overfit-one-batch", rungs) - monotonic()
    assert granted == pytest.approx(1.2 * 0.1 * STEPS["overfit-one-batch"], rel=0.01)
    assert granted > 100 * SHARES["overfit-one-batch"] / sum(SHARES[each] for each in rungs)
    assert made.missing("overfit-one-batch") == ""


def test_each_of_them_gets_its_part_where_time_is_short() -> None:
    made = pacing(10.0, 1.0)
    rungs = list(RUNGS[2:])
    needed = {each: STEPS[each] for each in rungs if each in FIRST}
    granted = made.begin("overfit-one-batch", rungs) - monotonic()
    assert granted == pytest.approx(10 * needed["overfit-one-batch"] / sum(needed.values()), rel=0.01)


def test_the_time_that_is_proposed_is_enough() -> None:
    made = pacing(10.0, 1.0)
    rungs = list(RUNGS[RUNGS.index("throughput") :])
    made.begin("throughput", rungs)
    said = re.fullmatch(r"would take about 17 s of the 4 s left; --time (\d+) runs it", made.missing("throughput"))
    assert said, made.missing("throughput")
    again = pacing(int(said[1]) / 2, 1.0)
    again.begin("throughput", rungs)
    assert again.missing("throughput") == ""


SLOW = broken("optimizer.step()", "optimizer.step()\n        sum(range(20_000_000))")


def test_a_rung_that_has_no_time_says_what_it_costs(examine: Examine) -> None:
    rungs = examine(SLOW, *RUNGS, seconds=10).checkup.rungs
    costs = [rung for rung in rungs if rung.status == "skipped" and "would take about" in rung.reason]
    assert costs, [rung.reason for rung in rungs]
    assert all(
        re.search(r": would take about \d+ s( of the [\d.]+ s left)?; --time \d+ runs it$", rung.reason)
        for rung in costs
    )
    assert next(rung for rung in rungs if rung.name == "receipt").status != "skipped"


def test_the_first_five_rungs_have_a_verdict_in_a_minute(examine: Examine) -> None:
    rungs = examine(TRAINING, *RUNGS, seconds=60, verdicts=True).checkup.rungs
    assert [rung.status for rung in rungs[:5]] == ["passed"] * 5, [rung.reason for rung in rungs]
