"""JSON: exactly the keys that programs rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from torch_doctor.report import records, statistics
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Evidence, Finding, Verdict

if TYPE_CHECKING:
    import pytest

PLAIN = Look(Paint())
KEYS = [
    "code",
    "name",
    "message",
    "filename",
    "cell",
    "location",
    "end_location",
    "fix",
    "url",
    "severity",
    "level",
    "witness",
    "verdict",
    "evidence",
    "trail",
    "help",
    "condition",
]


def test_a_finding_has_ruffs_keys_and_ours(reported: Reported) -> None:
    in_notebook, in_file = json.loads(records.render(reported, PLAIN))
    assert list(in_file) == KEYS
    assert in_file["filename"] == "train.py"
    assert in_file["cell"] is None
    assert in_file["location"] == {"row": 5, "column": 5}
    assert in_file["end_location"] == {"row": 5, "column": 20}
    assert (in_file["severity"], in_file["level"], in_file["witness"]) == ("error", "E", "static")
    assert (in_file["fix"], in_file["verdict"], in_file["evidence"]) == (None, None, [])
    assert in_file["url"] == "https://torch-doctor.github.io/torch-doctor/rules/TDR101/"
    assert in_file["trail"][1] == {
        "filename": "model.py",
        "cell": None,
        "location": {"row": 3, "column": 24},
        "end_location": {"row": 3, "column": 36},
        "note": "the output of `model` is made here",
    }
    assert (in_notebook["cell"], in_notebook["severity"], in_notebook["trail"]) == (3, "warning", [])


def test_nothing_found_is_an_empty_list() -> None:
    assert json.loads(records.render(Reported([]), PLAIN)) == []
    assert records.render_lines(Reported([]), PLAIN) == ""


def test_json_lines_are_the_same_objects(reported: Reported) -> None:
    lines = records.render_lines(reported, PLAIN).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(records.render(reported, PLAIN))


def test_a_verdict_comes_with_its_evidence(backward: Finding) -> None:
    proof = (Evidence("gradient norm before backward", 3.5, "", backward.site), Evidence("steps", 2, "steps"))
    record = records.record(backward.with_verdict(Verdict.CONFIRMED, proof))
    assert record["verdict"] == "confirmed"
    assert record["evidence"][0]["site"]["location"] == {"row": 5, "column": 5}
    assert record["evidence"][1] == {
        "claim": "steps",
        "value": 2,
        "unit": "steps",
        "site": None,
    }


def test_statistics_are_a_list_too(reported: Reported) -> None:
    assert json.loads(statistics.render_json(reported, PLAIN))[0] == {
        "code": "TDR101",
        "name": "missing-zero-grad",
        "count": 1,
    }


def test_nothing_depends_on_the_terminal(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = records.render(reported, PLAIN)
    monkeypatch.setenv("COLUMNS", "20")
    assert records.render(reported, Look(Paint(colours=True), 20)) == plain
