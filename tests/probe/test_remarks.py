"""What is said of a run besides its findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.probe import remarks
from torch_doctor.probe.interpreter import Interpreter
from torch_doctor.probe.launch import Launched, Limits
from torch_doctor.probe.output import Output
from torch_doctor.trace import End, Frame, Remark, Run, Site, StandIn, Trace

HERE = Site("train.py", 3, 1, 3, 9)
LIMITS = Limits(seconds=60, memory=4096 << 20)


def launched(printed: str = "", status: int = 0, ended_for: str = "") -> Launched:
    output = Output()
    output.add(printed.encode())
    return Launched([], status, ended_for, output, 1.0, 0)


def ending(run: Run, **how: object) -> str:
    return remarks.ending("train.py", run, launched(**how), LIMITS)  # type: ignore[arg-type]


def test_who_ran_it_how_long_and_how_far() -> None:
    run = Run(python="3.12.1", torch="2.9.0", device="cpu")
    python = Interpreter(Path("/venv/bin/python"), "$VIRTUAL_ENV")
    assert remarks.ran("train.py", Trace("train.py", run=run), python, 2.62) == (
        "train.py ran for 2.6 s on the CPU and reached 0 optimizer steps: Python 3.12.1 with torch 2.9.0, "
        "/venv/bin/python ($VIRTUAL_ENV)"
    )


def test_everything_that_was_not_as_it_would_be_is_a_line() -> None:
    run = Run(
        stand_ins=[StandIn(what="cuda", why="there is none", how="the CPU", site=HERE)],
        refused=[Remark("a connection to example.org:80", HERE)],
        notes=["an instrument failed"],
    )
    assert list(remarks.differences("train.py", run)) == [
        "train.py:3:1: the CPU instead of `cuda` (there is none)",
        "train.py:3:1: blocked: a connection to example.org:80",
        "train.py: an instrument failed",
    ]


def test_all_checks_that_took_too_long_are_one_line() -> None:
    run = Run(notes=["an instrument failed: here", *(f"checks of copies were left out: {each}" for each in ("a", "b"))])
    assert list(remarks.differences("train.py", run)) == [
        "train.py: an instrument failed: here",
        "train.py: checks of copies were left out: a, b",
    ]


def test_what_is_replaced_in_the_same_way_is_one_line() -> None:
    run = Run(
        stand_ins=[
            StandIn(what=name, why="experiment tracker", how="calls that log nothing")
            for name in ("wandb", "SummaryWriter")
        ]
    )
    assert list(remarks.differences("train.py", run)) == [
        "train.py: calls that log nothing instead of `wandb`, `SummaryWriter` (experiment tracker)"
    ]


@pytest.mark.parametrize("end", [End(how="end"), End(how="exit")])
def test_a_script_that_came_to_its_end_needs_no_word(end: End) -> None:
    assert ending(Run(end=end)) == ""


def test_an_error_is_the_script_s_own_unless_something_was_made_up() -> None:
    end = End(how="exception", status=1, exception="ValueError: no data", frames=(Frame(HERE, "<module>", "main()"),))
    assert remarks.is_own(Run(end=end))
    assert remarks.error(Run(end=end)) == "ValueError: no data (train.py:3)"
    table = StandIn(what="rows.csv", why="not found", how="random rows", voids=frozenset({"values"}))
    assert not remarks.is_own(Run(end=end, stand_ins=[table]))
    assert "possible cause: the probe used random rows" in remarks.error(Run(end=end, stand_ins=[table]))
    assert not remarks.is_own(Run(end=end, missing=[Remark("the script imports timm, which is not installed")]))
    older = StandIn(what="torch.symeig", why="removed", how="torch.linalg.eigh", voids=frozenset({"version"}))
    assert not remarks.is_own(Run(end=end, stand_ins=[older]))


def test_a_script_that_fails_by_itself_shows_where() -> None:
    frames = (Frame(HERE, "<module>", "main()"), Frame(HERE._replace(row=9), "main", "raise ValueError"))
    run = Run(
        end=End(how="exception", status=1, exception="ValueError: no data", frames=frames),
        capped={HERE._replace(row=7): 3},
        missing=[Remark("the script imports timm, which is not installed: install timm")],
    )
    assert ending(run, status=1).splitlines() == [
        "train.py fails: ValueError: no data",
        "    train.py:3 in <module>: main()",
        "    train.py:9 in main: raise ValueError",
        "    the script imports timm, which is not installed: install timm",
        "    possible cause: the probe left loops early (train.py:7)",
    ]


@pytest.mark.parametrize(
    ("exception", "said"),
    [
        (
            "_torch_doctor_agent.stand_ins.unread.content.UnknownFormError: its shape is unknown",
            "UnknownFormError: its shape",
        ),
        ("TypeError: unsupported operand type(s) for /: 'Unread' and 'int'", "TypeError: unsupported operand"),
        (
            "UnpicklingError: NEWOBJ class argument must be a type, not Unknown",
            "UnpicklingError: NEWOBJ class argument",
        ),
    ],
)
def test_a_substitute_that_raises_is_no_fault_of_the_script(exception: str, said: str) -> None:
    run = Run(end=End(how="exception", status=1, exception=exception))
    assert not remarks.is_own(run)
    told = ending(run, status=1)
    assert told.startswith(f"train.py stopped at a substitute of the probe that does not fit: {said}")


def made_up(what: str, *voids: str) -> StandIn:
    return StandIn(what=what, why="it must be given", how="a value", voids=frozenset(voids))


@pytest.mark.parametrize(
    ("stand_ins", "line", "blamed"),
    [
        ([made_up("--epochs 2", "arguments")], "first = config['rate']", ""),
        ([made_up("--epochs 2", "arguments")], "best = history[args.epochs]", "--epochs 2"),
        ([made_up("--batch-size 2", "arguments")], "n = len(rows) // args.batch_size", "--batch-size 2"),
        ([made_up("--epochs 2", "arguments"), made_up("rows.csv", "files")], "first = config['rate']", "rows.csv"),
        (
            [made_up("rows.csv", "files"), made_up("--epochs 2", "arguments")],
            "best = history[args.epochs]",
            "--epochs 2",
        ),
        ([made_up("cuda", "device")], "first = config['rate']", ""),
    ],
)
def test_an_argument_that_was_made_up_is_blamed_where_the_failure_names_it(
    stand_ins: list[StandIn], line: str, blamed: str
) -> None:
    end = End(how="exception", status=1, exception="KeyError: 'x'", frames=(Frame(HERE, "<module>", line),))
    last = ending(Run(end=end, stand_ins=stand_ins)).splitlines()[-1].strip()
    why = f"possible cause: the probe used a value instead of `{blamed}` (it must be given)"
    assert last == (why if blamed else f"train.py:3 in <module>: {line}")


def test_who_leaves_for_an_argument_that_was_made_up_is_told_with_it() -> None:
    run = Run(end=End(how="exit", status=2), stand_ins=[made_up("--batch-size 2", "arguments")])
    assert ending(run, printed="train.py: error: --batch-size has to be odd\n").splitlines()[1:] == [
        "    possible cause: the probe used a value instead of `--batch-size 2` (it must be given)"
    ]


@pytest.mark.parametrize(
    ("exception", "told"),
    [
        ("IndexError: list index out of range", True),
        ("AttributeError: 'NoneType' object has no attribute 'state_dict'", True),
        ("AttributeError: 'Net' object has no attribute 'accuracy'", False),
        ("torch.OutOfMemoryError: CUDA out of memory", False),
        ("KeyboardInterrupt", False),
    ],
)
def test_loops_that_were_left_early_are_blamed_for_what_they_may_be_the_cause_of(exception: str, told: bool) -> None:
    run = Run(end=End(how="exception", status=1, exception=exception), capped={HERE: 3})
    assert ("left loops early" in ending(run)) == told


def test_a_syntax_error_is_one_line() -> None:
    said = 'File "/p/train.py", line 5\n    x = = 1\n        ^\nSyntaxError: invalid syntax'
    run = Run(end=End(how="exception", status=1, exception=said))
    assert ending(run) == 'train.py fails on its own: SyntaxError: invalid syntax (File "/p/train.py", line 5)'


def test_an_exception_of_many_lines_is_one() -> None:
    run = Run(end=End(how="exception", status=1, exception="RuntimeError: in loading\n\tMissing key: a\n\tb" * 90))
    (line,) = ending(run).splitlines()
    assert line.startswith("train.py fails on its own: RuntimeError: in loading Missing key: a b")
    assert len(line) < 400


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"status": 3, "printed": "usage: train.py --data DATA\n\n"},
         "train.py ended without an error message: status 3; last line of output: usage: train.py --data DATA"),
        ({"status": -11}, "train.py ended without an error message: signal SIGSEGV"),
        ({"ended_for": "time"}, "train.py did not finish within 60 s and was stopped (see `--probe-timeout`)"),
        ({"ended_for": "memory"},
         "train.py used more than 4096 MiB of memory and was stopped (see `--probe-memory`)"),
        ({"ended_for": "disk"}, "train.py was stopped because the disk is nearly full"),
    ],
)  # fmt: skip
def test_a_script_that_was_ended(how: dict[str, object], said: str) -> None:
    assert ending(Run(), **how) == said


def test_a_script_that_the_agent_stopped_in_time() -> None:
    assert "did not finish within 60 s and was stopped" in ending(Run(end=End(how="stopped", status=75)))


def test_a_script_that_left_with_a_status() -> None:
    assert ending(Run(end=End(how="exit", status=2)), printed="no such file\n") == (
        "train.py exited with status 2; last line of output: no such file"
    )


def test_arguments_that_only_the_user_knows_are_asked_for() -> None:
    run = Run(end=End(how="asked", status=2), asked=[Remark("it needs `--data PATH`: give it after `--`", HERE)])
    assert ending(run) == "train.py:3:1: it needs `--data PATH`: give it after `--`"


def test_a_failure_on_what_stands_in_is_not_called_the_scripts_own() -> None:
    made_up = StandIn(what="train.csv", why="table not found", how="512 rows", voids=frozenset({"files"}))
    run = Run(stand_ins=[made_up], end=End(how="exception", exception="KeyError: 'price'"))
    first, why = ending(run).splitlines()
    assert first == "train.py fails: KeyError: 'price'"
    assert why.strip() == "possible cause: the probe used 512 rows instead of `train.csv` (table not found)"
