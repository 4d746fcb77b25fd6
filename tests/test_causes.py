"""One cause is told once."""

from __future__ import annotations

import pytest

from torch_doctor.rule import Finding, Level, Rule, Step
from torch_doctor.scan.causes import Causes
from torch_doctor.trace import Site, Trace


class Telling(Rule):
    """It names the cause."""

    code, name, level, witness = "TDR201", "telling", Level.ERROR, "S"

    def check(self, trace: Trace) -> list[Finding]:  # noqa: ARG002 - the signature of rules
        """Nothing."""
        return []


class Yielding(Telling):
    """It yields to the other one."""

    code, name = "TDR212", "yielding"
    yields_to = frozenset(("TDR201",))


class OnTheWay(Telling):
    """What it finds may be a step of what the other one tells."""

    code, name = "TDR310", "on-the-way"
    step_of = frozenset(("TDR201",))


TELLING, YIELDING, ON_THE_WAY = Telling(), Yielding(), OnTheWay()


@pytest.fixture
def causes() -> Causes:
    return Causes((TELLING, YIELDING, ON_THE_WAY))


def found(
    rule: Rule,
    row: int,
    cause: str = "",
    message: str = "it is wrong",
    path: str = "train.py",
    *,
    wide: bool = False,
    level: Level | None = None,
) -> Finding:
    site, there = Site(path, row, 1, row, 9), Site(path, 40, 1, 40, 9)
    trail = [Step(site, "here"), Step(there, "there")]
    return rule.finding(site, message, cause=cause, trail=trail, wide=wide, level=level)


def told(causes: Causes) -> list[str]:
    return [f"{each.site.row} {each.code} {each.message}" for each in causes.told()]


def test_of_one_cause_the_first_is_told_and_counts_the_others(causes: Causes) -> None:
    for row in (9, 3, 7):
        causes.add(found(TELLING, row, "one sigmoid"))
    causes.add(found(TELLING, 5, "another"))
    assert told(causes) == ["3 TDR201 it is wrong (2 more)", "5 TDR201 it is wrong"]


def test_another_file_and_another_rule_are_other_causes(causes: Causes) -> None:
    causes.add(found(TELLING, 1, "model"))
    causes.add(found(TELLING, 2, "model", path="test.py"))
    causes.add(found(YIELDING, 3, "model"))
    assert told(causes) == ["1 TDR201 it is wrong", "2 TDR201 it is wrong", "3 TDR212 it is wrong"]


def test_a_wide_cause_is_told_once_for_all_files(causes: Causes) -> None:
    for path in ("train.py", "model.py", "predict.py"):
        causes.add(found(TELLING, 3, "old name", path=path, wide=True))
        causes.add(found(TELLING, 5, "old name", path=path, wide=True))
    (said,) = causes.told()
    assert (said.site.path, said.message) == ("model.py", "it is wrong (5 more, in 3 files)")
    causes.add(found(TELLING, 3, "old name", path="serve.py", wide=True))
    (said,) = causes.told()
    assert said.message == "it is wrong"


def test_of_a_quiet_rule_no_advice_is_told() -> None:
    causes = Causes((TELLING,), quiet={TELLING.code})
    seen = [found(TELLING, 3, "old", level=Level.ADVICE), found(TELLING, 5, "gone")]
    for each in seen:
        causes.add(each)
    assert told(causes) == ["5 TDR201 it is wrong"]
    assert [causes.is_new(each) for each in seen] == [False, False]
    assert causes.is_new(found(TELLING, 7, "also gone"))
    assert not causes.is_new(found(TELLING, 9, "also old", level=Level.ADVICE))


def test_findings_without_a_cause_are_one_for_each_place(causes: Causes) -> None:
    for row in (1, 2, 1):
        causes.add(found(TELLING, row))
    assert told(causes) == ["1 TDR201 it is wrong", "2 TDR201 it is wrong"]
    assert told(causes) == []


def test_a_rule_yields_at_the_very_place_that_another_explains(causes: Causes) -> None:
    causes.add(found(YIELDING, 1))
    causes.add(found(YIELDING, 2))
    causes.add(found(TELLING, 1))
    assert told(causes) == ["2 TDR212 it is wrong", "1 TDR201 it is wrong"]


def test_the_count_has_room_in_a_long_message(causes: Causes) -> None:
    text = "`x` and `" + "a" * 70 + "` give a message of 100 letters"
    for row in range(12):
        causes.add(found(TELLING, row, "one", text))
    (said,) = causes.told()
    assert len(said.message) == 100
    assert said.message.startswith("`x` and `aaaa")
    assert said.message.endswith("aaaa` give a message of 100 letters (11 more)")


def test_a_name_is_not_cut_for_the_count(causes: Causes) -> None:
    text = "`criterion` takes indices and gets something else, which is told in a message of 95 characters"
    for row in (1, 2):
        causes.add(found(TELLING, row, "one", text))
    assert [each.message for each in causes.told()] == [text]


def test_what_only_a_run_shows_is_new_once(causes: Causes) -> None:
    causes.add(found(TELLING, 1, "known"))
    assert told(causes) == ["1 TDR201 it is wrong"]
    seen = [found(TELLING, 2, "known"), found(TELLING, 3, "new"), found(TELLING, 4, "new"), found(TELLING, 5)]
    assert [each.site.row for each in seen if causes.is_new(each)] == [3, 5]


def test_a_step_on_the_trail_of_another_is_not_told_apart(causes: Causes) -> None:
    causes.add(found(ON_THE_WAY, 40))
    causes.add(found(ON_THE_WAY, 41))
    causes.add(found(YIELDING, 40))
    causes.add(found(TELLING, 7))
    assert told(causes) == ["41 TDR310 it is wrong", "40 TDR212 it is wrong", "7 TDR201 it is wrong"]
