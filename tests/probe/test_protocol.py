"""The lines that the agent writes become the trace that rules read; broken ones do no harm to the others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor import trace as t
from torch_doctor.probe.protocol import Reader

SITE = {"t": "site", "id": 1, "at": ["/project/train.py", 7, 5, 7, 20]}
ROOT = {"t": "scope", "id": 0, "parent": None, "kind": "root", "name": "", "site": 1}
BATCH = {
    "t": "scope",
    "id": 1,
    "parent": 0,
    "kind": "iteration",
    "site": 1,
    "loop": 3,
    "number": 2,
    "loop_kind": "batches",
}
BACKWARD = {
    "t": "event",
    "e": "Backward",
    "at": 1,
    "in": 1,
    "name": "loss",
    "through": "backward",
    "loss": {"kind": "loss", "graph": True, "graph_forwards": [0]},
    "modules": [4, 5],
    "whole": True,
    "forwards": [0],
}
STEP = {"t": "event", "e": "Stepped", "at": 1, "in": 1, "optimizer": 2, "name": "sgd", "modules": [4], "whole": True}
HELLO = {"t": "hello", "python": "3.12.1", "torch": "2.9.0", "device": "cpu"}
LINES = [json.dumps(record).encode() for record in (HELLO, SITE, ROOT, BATCH, BACKWARD, STEP)]


def read(*lines: bytes | dict[str, Any]) -> Reader:
    reader = Reader("train.py", lambda path: path.rpartition("/")[2])
    reader.read(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return reader


def test_events_come_back_as_the_agent_saw_them() -> None:
    reader = read(*LINES)
    backward, step = reader.trace.events
    assert isinstance(backward, t.Backward)
    assert backward.site == t.Site("train.py", 7, 5, 7, 20)
    assert backward.loss.kind is t.Kind.LOSS
    assert backward.modules == frozenset((4, 5))
    (batch,) = backward.scope.iterations()
    assert (batch.loop, batch.number, batch.loop_kind) == (3, 2, t.LoopKind.BATCHES)
    assert isinstance(step, t.Stepped)
    assert step.scope is backward.scope
    assert reader.trace.observed
    assert reader.garbled == 0


def test_who_ran_it_is_known() -> None:
    run = read(HELLO).run
    assert (run.python, run.torch, run.device) == ("3.12.1", "2.9.0", "cpu")


def test_what_is_told_besides_events() -> None:
    run = read(
        SITE,
        {"t": "stand_in", "what": "cuda", "for": "there is none", "how": "the CPU", "voids": ["device"], "at": 1},
        {"t": "measured", "claim": "graphs alive", "value": 4, "unit": "graphs", "at": 1, "about": [7]},
        {"t": "refused", "what": "a connection to example.org:80", "at": 1},
        {"t": "missing", "what": "timm", "text": "install timm"},
        {"t": "asked", "text": "needs `--data`"},
        {"t": "capped", "at": 1, "passes": 3},
        {"t": "note", "text": "it is part of a package"},
        {"t": "doubt", "text": "an instrument failed"},
        {"t": "doubt", "text": "another failed"},
        {"t": "ended", "how": "exception", "status": 1, "exception": "ValueError: no",
         "traceback": [["/project/train.py", 9, "main", "  run()"]]},
    ).run  # fmt: skip
    assert str(run.stand_ins[0]) == "the CPU instead of `cuda` (there is none)"
    assert run.voids("device", "values") is run.stand_ins[0]
    assert run.voids("values") is None
    assert [each.value for each in run.measurements("graphs alive", 7)] == [4]
    assert run.measurements("graphs alive", 8) == []
    assert run.refused[0].text == "a connection to example.org:80"
    assert run.missing[0].text == "install timm"
    assert run.asked[0].text == "needs `--data`"
    assert list(run.capped.values()) == [3]
    assert run.notes == ["it is part of a package", "an instrument failed", "another failed"]
    assert run.doubt == "an instrument failed"
    assert (run.end.how, run.end.exception) == ("exception", "ValueError: no")
    assert run.end.frames == (t.Frame(t.Site("train.py", 9, 1, 9, 1), "main", "run()"),)


def test_a_run_without_a_last_line_was_killed() -> None:
    assert read(*LINES).run.end.how == "killed"


def test_rows_of_a_notebook_are_given_their_cell() -> None:
    reader = Reader("n.ipynb", str, lambda site: site._replace(row=site.row - 5, cell=2))
    reader.read(LINES[1:5])
    assert reader.trace.events[0].site == t.Site("/project/train.py", 2, 5, 7, 20, 2)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe\x00",
        b'{"t": "event"',
        b'{"t": "no such word"}',
        b'{"t": "site", "id": 9}',
        b'{"t": "site", "id": 9, "at": ["a.py", "x", 1, 1, 1]}',
        b'{"t": "scope", "id": 5, "parent": 77, "kind": "call", "site": 1}',
        b'{"t": "capped", "at": 55, "passes": 3}',
        b'{"t": "ended"}',
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("position", [0, 3, 6])
def test_a_broken_line_is_counted_and_the_rest_is_read(broken: bytes, position: int) -> None:
    reader = read(*LINES[:position], broken, *LINES[position:])
    assert reader.garbled == 1
    assert [type(event) for event in reader.trace.events] == [t.Backward, t.Stepped]


@pytest.mark.parametrize(
    "event",
    [
        {"t": "event", "e": "NoSuchEvent", "at": 1, "in": 0},
        {**BACKWARD, "through": 7},
        {**BACKWARD, "loss": {"kind": "no such kind"}},
        {**STEP, "modules": 4},
        {key: value for key, value in STEP.items() if key != "optimizer"},
    ],
)
def test_an_event_that_cannot_be_read_keeps_its_number(event: dict[str, Any]) -> None:
    reader = read(*LINES[:4], event, *LINES[4:])
    unknown, backward, step = reader.trace.events
    assert isinstance(unknown, t.GaveUp)
    assert (backward.index, step.index) == (1, 2)
    assert reader.garbled == 1


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=5), st.data())
def test_whatever_stands_between_the_lines_the_events_are_read(noise: list[bytes], data: st.DataObject) -> None:
    lines = list(LINES)
    for line in noise:
        lines.insert(data.draw(st.integers(0, len(lines))), line)
    assert [type(event) for event in read(*lines).trace.events] == [t.Backward, t.Stepped]


@given(st.integers(0, len(b"\n".join(LINES))))
def test_a_run_that_was_cut_off_anywhere_is_read_to_there(length: int) -> None:
    cut = b"\n".join(LINES)[:length].split(b"\n")
    reader = read(*cut)
    assert reader.garbled <= 1
    assert len(reader.trace.events) == max(0, sum(line in LINES for line in cut) - 4)


def test_every_event_of_the_vocabulary_can_be_written() -> None:
    assert {
        "Forward",
        "Backward",
        "Stepped",
        "Retained",
        "Unregistered",
        "ModeSet",
        "ParameterSeen",
        "Reevaluated",
    } <= set(t.EVENTS)
    assert "Event" not in t.EVENTS


def test_what_users_are_shown_does_nothing_to_their_terminal() -> None:
    run = read(
        {"t": "refused", "what": "the command `a\x1b[2J\nb`"},
        {"t": "ended", "how": "exception", "status": 1, "exception": "ValueError: a\n\rb \u00e9"},
    ).run
    assert run.refused[0].text == "the command `a\\x1b[2J\\nb`"
    assert run.end.exception == "ValueError: a\n\\rb \u00e9"
