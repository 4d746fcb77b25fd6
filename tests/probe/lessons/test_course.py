"""When attempts follow each other, and what is read from an exception."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torch_doctor.probe.following import Attention
from torch_doctor.probe.hearing import Heard
from torch_doctor.probe.launch import Launched
from torch_doctor.probe.lessons.course import Course
from torch_doctor.probe.lessons.reading import learn
from torch_doctor.probe.output import Output
from torch_doctor.probe.plan import Request
from torch_doctor.probe.protocol import Reader
from torch_doctor.trace import End, Frame, Run, Site, StandIn

HERE = Site("train.py", 3, 1, 3, 1)
TEXT = "ids = open('corpus.txt').read()\n\nmodel(ids)\n"
GUESS = StandIn(
    what="corpus.txt", why="file not found", how="2000 lines of synthetic text", voids=frozenset({"files"}), site=HERE
)
KNOWN = StandIn(
    what="torchvision.datasets.CIFAR100", why="data not found", how="random samples", voids=frozenset({"values"})
)
LOOKED_UP = {"kinds": ["IndexError", "LookupError"], "layer": {"class": "Embedding", "num_embeddings": 60}}


class Memory:
    """Keeps lessons in a variable."""

    def __init__(self, lessons: bytes = b"[]") -> None:
        self.lessons = lessons

    def get(self, _: Request) -> bytes:
        """What was kept."""
        return self.lessons

    def put(self, _: Request, lessons: bytes) -> None:
        """Keep others."""
        self.lessons = lessons


def failed(exception: str, values: dict[str, Any], *stand_ins: StandIn, line: str = "model(ids)") -> Run:
    """A run that an exception ended."""
    end = End(how="exception", exception=exception, frames=(Frame(HERE, "main", line),), values=values)
    return Run(end=end, stand_ins=list(stand_ins))


def heard(run: Run, seconds: float = 1.0, ended_for: str = "") -> Heard:
    """What was heard of an attempt."""
    reader = Reader("train.py", str)
    reader.run = reader.trace.run = run
    reader.greeted = True
    return Heard(Launched([], 1, ended_for, Output(), seconds, 0), [reader], reader)


def course(kept: Memory | None = None, seconds: float = 60.0) -> Course:
    """The attempts of a script."""
    here = Path("train.py")
    return Course(Request(script=here, root=here, cwd=here, seconds=seconds, kept=kept), "train.py", lambda _: TEXT)


def test_an_index_above_a_vocabulary_says_how_large_it_is() -> None:
    run = failed("IndexError: index out of range in self", LOOKED_UP, GUESS)
    assert [(each.kind, each.value) for each in learn(run, (), lambda _: TEXT)] == [("range", 60)]


def test_nothing_is_learnt_of_data_whose_form_is_known() -> None:
    assert learn(failed("IndexError: index out of range in self", LOOKED_UP, KNOWN), (), lambda _: TEXT) == []


def test_an_error_of_a_script_without_substitutes_is_its_own() -> None:
    for words, kind in (
        ("KeyError: 'label'", "KeyError"),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 5x2)", "RuntimeError"),
    ):
        assert learn(failed(words, {"kinds": [kind], "key": "label"}), (), lambda _: TEXT) == []


@pytest.mark.parametrize("written", ["args.folder", "self.settings.folder", "settings['folder']"])
def test_a_setting_that_is_none_has_a_value_next_time(written: str) -> None:
    run = failed("TypeError: expected str, not NoneType", {"kinds": ["TypeError"], "terms": {written: None}})
    assert [(each.kind, each.what) for each in learn(run, (), lambda _: TEXT)] == [("argument", "folder")]


@pytest.mark.parametrize(
    ("words", "line", "on"),
    [
        ("ValueError: num_samples=0", "loader = DataLoader(data)", True),
        ("ValueError: not split", "raise ValueError('not split')", True),
        ("ValueError: too many values to unpack", "a, b = c", False),
    ],
)
def test_a_script_that_has_nothing_finds_what_it_asked_for(words: str, line: str, *, on: bool) -> None:
    values = {"kinds": ["ValueError"], "sought": ["data/train.txt"]}
    learnt = learn(failed(words, values, line=line), (), lambda _: TEXT)
    assert [(each.kind, each.value) for each in learnt] == ([("sought", ["data/train.txt"])] if on else [])
    assert learn(failed(words, values, line=line), learnt, lambda _: TEXT) == []


def test_a_size_that_was_made_up_for_an_argument() -> None:
    option = StandIn(
        what="--hidden 4", why="required argument", how="a placeholder value", voids=frozenset({"arguments"})
    )
    run = failed(
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x4 and 16x2)", {"kinds": ["RuntimeError"]}, option
    )
    assert [(each.what, each.value) for each in learn(run, (), lambda _: TEXT)] == [("hidden", "16")]


def test_the_same_error_twice_ends_it() -> None:
    attempts = course()
    run = failed("IndexError: index out of range in self", LOOKED_UP, GUESS)
    attempts.hear(heard(run))
    assert attempts.goes_on(Attention())
    attempts.hear(heard(run))
    assert not attempts.goes_on(Attention())
    assert [note.rpartition("; ")[2] for note in attempts.notes] == [
        "in the next one, placeholder numbers are below 60",
        "nothing more can be learnt",
    ]


@pytest.mark.parametrize(("seconds", "on"), [(60.0, True), (1.5, False)])
def test_another_attempt_has_to_have_the_time_of_the_last_one(seconds: float, on: bool) -> None:
    attempts = course(seconds=seconds)
    attempts.hear(heard(failed("IndexError: index out of range in self", LOOKED_UP, GUESS)))
    assert attempts.goes_on(Attention()) is on


def test_an_attempt_that_used_no_lesson_needed_none() -> None:
    attempts = course()
    attempts.hear(heard(Run(end=End(how="end"))))
    assert not attempts.goes_on(Attention())
    assert (attempts.end(), attempts.notes) == ("", [])


def test_what_came_to_no_update_in_time_is_smaller_in_the_next_probe() -> None:
    kept = Memory()
    first = course(kept)
    first.hear(heard(Run(end=End(how="stopped")), 60.0, "time"))
    assert not first.goes_on(Attention())
    first.end()
    assert [each["kind"] for each in course(kept).told(60.0)["lessons"]] == ["time"]


def test_what_has_not_begun_to_train_in_time_is_smaller_in_the_next_attempt() -> None:
    attempts = course()
    assert attempts.told(60.0)["patience"] > 0
    attempts.hear(heard(Run(end=End(how="stopped")), 20.0))
    assert attempts.goes_on(Attention())
    told = attempts.told(40.0)
    assert ([each["kind"] for each in told["lessons"]], told["patience"]) == (["time"], 0.0)
    attempts.hear(heard(Run(end=End(how="stopped")), 35.0))
    assert not attempts.goes_on(Attention())


def test_lessons_that_cannot_be_read_are_none() -> None:
    assert course(Memory(b"nonsense")).told(60.0)["lessons"] == []


def test_what_was_taken_for_a_data_set_and_has_other_attributes_is_none() -> None:
    taken = StandIn(
        what="pycocotools.coco.COCO", why="package not installed", how="placeholder samples", voids=frozenset({"files"})
    )
    values = {"kinds": ["AttributeError"], "owner": ["_torch_doctor_agent.stand_ins.unknown.data", "UnknownDataset"]}
    lessons = learn(failed("AttributeError: anns", {**values, "attribute": "anns"}, taken), (), lambda _: TEXT)
    assert [(each.kind, each.what) for each in lessons] == [("plain", "pycocotools.coco.COCO")]


def test_files_of_records_are_learnt_of_at_once() -> None:
    def missing(path: str, row: int) -> StandIn:
        why = f"the data cannot be read (FileNotFoundError: [Errno 2] No such file or directory: '{path}')"
        site = HERE._replace(row=row)
        return StandIn(what=f"line {row}", why=why, how="placeholder values", voids=frozenset({"files"}), site=site)

    run = failed(
        "IndexError: list index out of range", {"kinds": ["IndexError"]}, missing("a.json", 1), missing("b.json", 2)
    )
    run.left_out = [
        End(how="exception", exception="FileNotFoundError: a.json", values={"kinds": ["FileNotFoundError"]}),
        End(how="exception", exception="TypeError: string indices", values={"kinds": ["TypeError"]}),
    ]
    assert [(each.what, each.value) for each in learn(run, (), lambda _: TEXT)] == [
        ("a.json", "settings"),
        ("b.json", "settings"),
    ]


@pytest.mark.parametrize(
    ("run", "on"),
    [
        (failed("RuntimeError: no server", {"kinds": ["RuntimeError", "Exception"]}), True),
        (Run(end=End(how="exit", status=1)), True),
        (failed("SyntaxError: invalid syntax", {"kinds": ["SyntaxError", "Exception"]}), False),
        (Run(end=End(how="end")), False),
        (Run(end=End(how="stopped")), False),
        (Run(end=End(how="asked")), False),
    ],
    ids=["exception", "exit", "syntax", "end", "stopped", "asked"],
)
def test_what_stops_before_its_training_loop_is_run_without_what_fails(run: Run, on: bool) -> None:
    attempts, given = course(), list[dict[str, Any]]()

    def attempt(scheme: dict[str, Any], _: float) -> Heard:
        given.append(scheme)
        return heard(Run(end=End(how="end")))

    attempts.hear(heard(run, 31.0))
    best = attempts.ended({}, Path("python"), attempt, Attention())
    assert any(each["alone"] for each in given) is on
    assert best.reader.run is run  # the other came to no update
    assert attempts.stopped is None
