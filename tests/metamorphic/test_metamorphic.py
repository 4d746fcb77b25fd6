"""A sample of what `python -m tests.metamorphic` does, and what both rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import sweep
from tests.marks import FIXTURES, fixtures, name_of
from tests.metamorphic.__main__ import main
from tests.metamorphic.checking import check
from tests.metamorphic.known import read_known, sample
from tests.metamorphic.project import NotRewritableError, Origin, read
from tests.metamorphic.transformation import Kind, transformations

if TYPE_CHECKING:
    from pathlib import Path

    from tests.metamorphic.transformation import Transformation

ONE_IN = 400
NAMES = [name_of(fixture) for fixture in fixtures()]
SAMPLE = [(fixture, name) for fixture, names in sample(NAMES, transformations(), ONE_IN) for name in names]
RUNS_ONE_IN = 1 if sweep.WHOLE else 6000
RUNNING = [one for one in transformations() if one.runs and one.kind is Kind.KEPT]
RUN = [(fixture, name) for fixture, names in sample(NAMES, RUNNING, RUNS_ONE_IN) for name in names]
SOURCE = '''"""Two
lines."""

from torch import (
    nn,
)

net = nn.Linear(1, \\
                1)  # TDR101
'''


@pytest.mark.parametrize(("fixture", "name"), SAMPLE)
def test_a_rewritten_fixture_says_what_the_fixture_says(fixture: str, name: str) -> None:
    outcome = check(fixture, _named(name))
    if (fixture, name) in read_known():
        assert not outcome.holds, (
            "it holds now: take it from known_breaks.txt by `python -m tests.metamorphic --update`"
        )
    else:
        assert outcome.holds, "\n\n".join(str(broken) for broken in outcome.breaks)


@pytest.mark.usefixtures("farm", "records")
@pytest.mark.parametrize(
    ("fixture", "name"),
    [
        ("TDR101/bad_module_level.py", "into-trainer-class"),
        ("TDR104/bad_module_level.py", "loop-by-tqdm"),
        ("TDR501/bad_running_loss.py", "loop-by-next"),
        ("TDR602/bad_best_model.py", "into-main"),
        ("TDR201/bad_softmax_in_training_loop.py", "settings-in-dictionary"),
    ],
)
def test_a_run_of_a_rewritten_fixture_gives_the_verdicts_of_the_fixture(fixture: str, name: str) -> None:
    outcome = check(fixture, _named(name), probe=True)
    assert outcome.applies
    assert outcome.holds, "\n\n".join(str(broken) for broken in outcome.breaks)


@pytest.mark.usefixtures("farm", "records")
@pytest.mark.parametrize(("fixture", "name"), RUN)
def test_verdicts_do_not_depend_on_how_a_script_is_written(fixture: str, name: str) -> None:
    if (fixture, name) in read_known():
        pytest.skip("the source is not understood in this form")
    outcome = check(fixture, _named(name), probe=True)
    assert outcome.holds, "\n\n".join(str(broken) for broken in outcome.breaks)


def _named(name: str) -> Transformation:
    (transformation,) = (one for one in transformations() if one.name == name)
    return transformation


def test_the_sample_has_both_kinds() -> None:
    assert {_named(name).kind for _, name in SAMPLE} == set(Kind)


def test_what_is_known_to_break_exists() -> None:
    names = {one.name for one in transformations()}
    gone = {f"{fixture} {name}" for fixture, name in read_known() if fixture not in NAMES or name not in names}
    assert not gone


@pytest.mark.parametrize("one", transformations(), ids=lambda one: one.name)
def test_a_transformation_says_what_it_does(one: Transformation) -> None:
    assert type(one).__doc__ != type(one).__mro__[1].__doc__


def test_each_row_knows_its_line_of_the_fixture(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SOURCE, encoding="utf-8")
    project = read(path)
    assert project.code("script.py") == SOURCE
    origins = [{origin.row for origin in project.origins("script.py", row)} for row in range(1, 10)]
    assert origins == [{2}, {2}, set(), {4}, {5}, {6}, set(), {9}, {9}]


def test_an_unchanged_fixture_is_written_as_it_was() -> None:
    for name in NAMES[::50]:
        try:
            project = read(FIXTURES / name)
        except NotRewritableError:
            continue
        for path, module in project.modules.items():
            assert project.code(path).encode(module.encoding) == (FIXTURES / name).parent.joinpath(path).read_bytes()


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["TDR101/bad_module_level.py", "-t", "into-main", "-t", "added-decorator", "-n", "1"])
    out = capsys.readouterr().out
    assert "1 added-decorator     0 of     0 hold" in out
    assert "2 into-main           1 of     1 hold (100.0 %)" in out
    assert "\nTDR101        .\n" in out


def test_an_origin_is_written_as_a_mark() -> None:
    assert str(Origin(0, 17)) == "#@0:17"
