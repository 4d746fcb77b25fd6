"""A sample of what `python -m tests.pairs` does, and what it rests on: each bug alone, and what two bugs cannot both be."""

from __future__ import annotations

import itertools

import pytest

from tests import sweep
from tests.pairs.__main__ import main
from tests.pairs.bugs import BUGS, FREQUENT
from tests.pairs.checking import checked, pairs
from tests.pairs.editing import CannotBeEditedError, Script, scripts, swap
from tests.pairs.exceptions import EXCEPTIONS
from tests.pairs.known import read_known

ONE_IN = 1 if sweep.WHOLE else 20
CASES = [(name, *pair) for pair in pairs() for name in scripts()]
SAMPLE = [case for number, case in enumerate(CASES) if number % ONE_IN == number // ONE_IN % ONE_IN]
BY_BUG = [(name, code, [case for case in SAMPLE if case[:2] == (name, code)]) for name in scripts() for code in BUGS]


@pytest.mark.parametrize("name", scripts())
def test_a_right_script_is_silent(name: str) -> None:
    assert checked(name).holds, str(checked(name))


@pytest.mark.parametrize("code", BUGS)
@pytest.mark.parametrize("name", scripts())
def test_a_bug_alone_is_told_alone(name: str, code: str) -> None:
    assert checked(name, code).holds, str(checked(name, code))


@pytest.mark.parametrize(
    ("name", "code", "cases"), [pytest.param(*each, id=f"{each[0]}-{each[1]}") for each in BY_BUG if each[2]]
)
def test_two_bugs_are_told_both(name: str, code: str, cases: list[tuple[str, str, str]]) -> None:
    del name, code
    known = read_known()
    for case in cases:
        outcome = checked(*case)
        if case in known:
            assert not outcome.holds, f"{case} holds now: take it from known_breaks.txt"
        else:
            assert outcome.holds, f"{case}: {outcome}"


@pytest.mark.parametrize("pair", EXCEPTIONS, ids=lambda pair: " ".join(sorted(pair)))
def test_of_an_exception_both_are_told_nowhere(pair: frozenset[str]) -> None:
    first, second = (code for code in BUGS if code in pair)
    for name in scripts():
        try:
            outcome = checked(name, first, second)
        except CannotBeEditedError:
            continue
        assert outcome.hidden, f"both are told in {name}: it is no exception"


def test_what_is_known_to_break_exists() -> None:
    assert read_known() <= set(CASES)


def test_the_sample_has_every_bug_and_every_script() -> None:
    assert {case[0] for case in SAMPLE} == set(scripts())
    assert {code for case in SAMPLE for code in case[1:]} == set(BUGS)


def test_thirty_bugs_are_frequent() -> None:
    assert len(FREQUENT) == 30
    assert len(BUGS) == len({bug.code for bug in BUGS.values()}) > len(FREQUENT)


def test_an_edit_that_does_not_fit_says_so() -> None:
    script = Script(())
    with pytest.raises(CannotBeEditedError, match="no line called loss"):
        swap("loss", "a", "b")(script)


def test_every_line_has_its_name_once() -> None:
    for name, script in scripts().items():
        names = list(itertools.chain.from_iterable(line.names for line in script.lines))
        assert len(names) == len(set(names)), name


def test_the_command_says_what_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["TDR601", "module_level", "-n", "1"]) == 0
    assert "35 of 35 hold" in capsys.readouterr().out
