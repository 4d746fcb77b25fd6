"""GitLab's Code Quality report: valid by what GitLab's documentation asks of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
from msgspec.structs import replace

from torch_doctor.report import gitlab
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from torch_doctor.rule import Finding
    from torch_doctor.scan.options import Incomplete

POSITION = {
    "type": "object",
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
    "required": ["line"],
    "additionalProperties": False,
}
# What the documentation of GitLab asks of a report: all of these keys, paths relative and without `./` before them.
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!/|\./)."},
                    "positions": {
                        "type": "object",
                        "properties": {"begin": POSITION, "end": POSITION},
                        "required": ["begin"],
                        "additionalProperties": False,
                    },
                },
                "required": ["path", "positions"],
                "additionalProperties": False,
            },
        },
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
    },
}


def rendered(reported: Reported) -> Any:
    issues = json.loads(gitlab.render(reported, Look(Paint())))
    jsonschema.Draft202012Validator(SCHEMA).validate(issues)
    return issues


def test_a_finding_has_its_place_and_its_severity(reported: Reported) -> None:
    in_notebook, in_file = rendered(reported)
    assert in_file["check_name"] == "TDR101"
    assert in_file["severity"] == "major"
    assert in_file["location"] == {
        "path": "train.py",
        "positions": {"begin": {"line": 5, "column": 5}, "end": {"line": 5, "column": 20}},
    }
    assert in_notebook["severity"] == "minor"
    assert in_notebook["location"]["positions"] == {"begin": {"line": 1}, "end": {"line": 1}}
    assert "cell 3, line 1: `torch.save` pickles" in in_notebook["description"]


def test_advice_and_what_was_refuted_is_for_information(backward: Finding, folder: Path) -> None:  # noqa: ARG001 - gives the environment
    advice = replace(backward, level=Level.ADVICE)
    refuted = replace(backward, verdict=Verdict.REFUTED)
    assert [issue["severity"] for issue in rendered(Reported([advice, refuted]))] == ["info", "info"]


def test_what_was_not_analyzed_is_for_information_and_keeps_its_fingerprint_when_lines_move(
    backward: Finding, incomplete: tuple[Incomplete, ...]
) -> None:
    first, loop, limit = rendered(Reported([backward], incomplete=incomplete))
    assert first["check_name"] == "TDR101"
    assert [issue["description"] for issue in (loop, limit)] == [f"{each}" for each in incomplete]
    assert {(issue["check_name"], issue["severity"]) for issue in (loop, limit)} == {("incomplete-analysis", "info")}
    assert loop["location"]["positions"] == {"begin": {"line": 14, "column": 5}, "end": {"line": 14, "column": 20}}
    assert len({issue["fingerprint"] for issue in (first, loop, limit)}) == 3
    below = [replace(each, site=each.site._replace(row=30, end_row=30)) for each in incomplete]
    assert [issue["fingerprint"] for issue in rendered(Reported([], incomplete=below))] == [
        loop["fingerprint"],
        limit["fingerprint"],
    ]


def test_paths_begin_at_the_checkout(backward: Finding, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    monkeypatch.setenv("CI_PROJECT_DIR", str(folder))
    (issue,) = rendered(Reported([backward]))
    assert issue["location"]["path"] == "sub/train.py"


def test_a_real_scan_is_valid_and_no_two_findings_share_a_fingerprint(real_scan: Mapping[str, str]) -> None:
    issues = json.loads(real_scan["gitlab"])
    jsonschema.Draft202012Validator(SCHEMA).validate(issues)
    fingerprints = [issue["fingerprint"] for issue in issues]
    assert len(set(fingerprints)) == len(fingerprints) >= 20


def test_no_findings_are_an_empty_list() -> None:
    assert rendered(Reported([])) == []
