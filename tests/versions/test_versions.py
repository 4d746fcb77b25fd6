"""The command, without the environments that it makes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.versions.__main__ import chosen, main, table
from tests.versions.comparing import Probed, differences, read
from tests.versions.environments import NoEnvironmentError, Version, _ran, _requirements, python_of
from tests.versions.running import probed

if TYPE_CHECKING:
    from pathlib import Path

OWN = "{}.{}".format(*sys.version_info[:2])
PLACE = "train.py:7 TDR101"
CONFIRMED = Probed("TDR101/bad_train.py", {PLACE: [("confirmed", "the gradient at step 2 is 1.48 ×")]}, [])
UNDECIDED = Probed("TDR101/bad_train.py", {PLACE: [("undecided", "the loop ended early")]}, [])
FAILED = Probed("TDR101/bad_train.py", {}, ["train.py fails on its own: AttributeError"])


def test_the_same_verdict_with_another_number_is_no_difference() -> None:
    other = Probed(CONFIRMED.name, {PLACE: [("confirmed", "the gradient at step 2 is 1.49 ×")]}, [])
    assert not list(differences(CONFIRMED, other))


def test_another_verdict_is_told_with_its_reason() -> None:
    assert list(differences(CONFIRMED, UNDECIDED)) == [f"{PLACE}: confirmed → undecided (the loop ended early)"]


def test_a_script_that_fails_in_one_environment_alone_is_told_with_its_error() -> None:
    assert list(differences(CONFIRMED, FAILED)) == [
        f"{PLACE}: confirmed → not found",
        "train.py fails on its own: AttributeError",
    ]


def test_the_table_counts_fixtures_and_those_that_differ() -> None:
    version, before = Version("2.4", "3.10"), {CONFIRMED.name: CONFIRMED}
    row, *lines = table(version, before, {CONFIRMED.name: UNDECIDED})
    assert " ".join(row.split()) == "torch 2.4, Python 3.10 1 fixtures, 1 differ from torch 2.13, Python 3.11"
    assert lines == [f"    {CONFIRMED.name}: {line}" for line in differences(CONFIRMED, UNDECIDED)]


@pytest.mark.usefixtures("farm")
def test_what_runs_in_an_environment_says_what_the_probe_says(farm_address: str) -> None:
    name = "TDR101/bad_accumulation_never_cleared.py"
    told = read(probed(name, farm_address))
    assert told.name == name
    assert not told.said
    assert {verdict for verdicts in told.verdicts.values() for verdict, _ in verdicts} == {"confirmed"}


def test_a_sample_is_always_the_same_part() -> None:
    every, some = chosen(["TDR101"], 1), chosen(["TDR101"], 5)
    assert some == chosen(["TDR101"], 5)
    assert set(some) < set(every)


def test_an_interpreter_is_taken_where_it_is_given() -> None:
    assert python_of(OWN, sys.executable).samefile(sys.executable)


def test_an_interpreter_of_another_version_is_not_taken() -> None:
    with pytest.raises(NoEnvironmentError, match=f"does not run as Python 3.1: it is {OWN}"):
        python_of("3.1", sys.executable)


def test_an_environment_gets_what_the_tests_need_but_torch_and_linters() -> None:
    names = " ".join(_requirements())
    assert "numpy" in names
    assert "torch" not in names
    assert "mypy" not in names


def test_why_pip_fails_is_said_in_one_line() -> None:
    program = "print('looking'); print('ERROR: No matching distribution found for torch==2.4.*'); raise SystemExit(1)"
    with pytest.raises(NoEnvironmentError, match=r"^pip fails: No matching distribution found for torch==2\.4\.\*$"):
        _ran([sys.executable, "-c", program], "pip fails")


def test_an_interpreter_that_is_not_there_ends_in_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--work", str(tmp_path), "--interpreter", f"3.11={tmp_path}/python"]) == 2
    assert capsys.readouterr().out == (
        f"torch 2.13, Python 3.11      there is no {tmp_path}/python: put it on PATH, or name it with `--interpreter`\n"
    )
