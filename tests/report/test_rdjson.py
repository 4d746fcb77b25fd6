"""The Reviewdog Diagnostic Format: valid by the specification, with columns in bytes and fixes as suggestions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from msgspec.structs import replace

from torch_doctor.edits import Change, Proposal
from torch_doctor.report import rdjson
from torch_doctor.report.links import url_of
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from torch_doctor.rule import Finding
    from torch_doctor.scan.options import Incomplete

SIX_BUGS = Path(__file__).parents[2] / "fixtures/whole/six_bugs.py"


def message(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """A message of the specification: a field that it does not have is an error."""
    fields = {**required, **(optional or {})}
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


TEXT = {"type": "string"}
SEVERITY = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
POSITION = message({"line": NUMBER}, {"column": NUMBER})
RANGE = message({"start": POSITION}, {"end": POSITION})
SOURCE = message({"name": TEXT}, {"url": {"type": "string", "format": "uri"}})
DIAGNOSTIC = message(
    {"message": TEXT, "location": message({"path": TEXT}, {"range": RANGE})},
    {
        "severity": SEVERITY,
        "source": SOURCE,
        "code": message({"value": TEXT}, {"url": TEXT}),
        "suggestions": {"type": "array", "items": message({"range": RANGE, "text": TEXT})},
        "original_output": TEXT,
    },
)
RESULT = message({"diagnostics": {"type": "array", "items": DIAGNOSTIC}}, {"source": SOURCE, "severity": SEVERITY})


def rendered(reported: Reported) -> Any:
    result = json.loads(rdjson.render(reported, Look(Paint())))
    validate(result)
    return result["diagnostics"]


def validate(result: Any) -> None:
    jsonschema.Draft202012Validator(RESULT, format_checker=jsonschema.FormatChecker()).validate(result)


def test_what_was_not_analyzed_is_a_diagnostic_for_information(incomplete: tuple[Incomplete, ...]) -> None:
    loop, limit = rendered(Reported([], incomplete=incomplete))
    assert [each["message"] for each in (loop, limit)] == [f"{each}" for each in incomplete]
    assert {(each["severity"], each["code"]["value"]) for each in (loop, limit)} == {("INFO", "incomplete-analysis")}
    assert limit["location"] == {"path": "a,b.py", "range": {"start": {"line": 3}, "end": {"line": 3}}}


def test_a_finding_has_its_range_and_its_explanation(reported: Reported) -> None:
    in_notebook, in_file = rendered(reported)
    assert in_file["location"] == {
        "path": "train.py",
        "range": {"start": {"line": 5, "column": 5}, "end": {"line": 5, "column": 20}},
    }
    assert (in_file["severity"], in_file["code"]) == ("ERROR", {"value": "TDR101", "url": url_of("TDR101")})
    assert "\n2. model.py:3:24: the output of `model` is made here\nhelp: call" in in_file["message"]
    assert in_notebook["location"] == {"path": "train.ipynb", "range": {"start": {"line": 1}, "end": {"line": 1}}}
    assert in_notebook["message"].startswith("cell 3, line 1: ")


def test_columns_count_bytes_and_changes_are_one_suggestion(reported: Reported, mended: Finding) -> None:
    (diagnostic,) = rendered(replace(reported, findings=[mended]))
    line = reported.sources["model.py"].shown[2].encode()
    start, end = (diagnostic["location"]["range"][which]["column"] - 1 for which in ("start", "end"))
    assert line[start:end] == b"F.softmax(x)"
    (suggestion,) = diagnostic["suggestions"]
    start, end = (suggestion["range"][which]["column"] - 1 for which in ("start", "end"))
    after = line[:start] + suggestion["text"].encode() + line[end:]
    assert after.decode() == applied(reported, mended)


def applied(reported: Reported, finding: Finding) -> str:
    """The third line with the changes of a finding, made one by one from the last."""
    assert finding.fix is not None
    line = reported.sources["model.py"].shown[2]
    for change in sorted(finding.fix.changes, key=lambda change: change.site, reverse=True):
        line = line[: change.site.column - 1] + change.content + line[change.site.end_column - 1 :]
    return line


def test_changes_on_several_lines_keep_what_is_between_them(reported: Reported, backward: Finding) -> None:
    changes = (Change(Site("train.py", 6, 5, 6, 14), "opt"), Change(Site("train.py", 4, 5, 4, 5), "a = 1\n    "))
    fixed = replace(backward, fix=Proposal(changes, safe=True))
    (diagnostic,) = rendered(replace(reported, findings=[fixed]))
    (suggestion,) = diagnostic["suggestions"]
    assert suggestion["range"] == {"start": {"line": 4, "column": 5}, "end": {"line": 6, "column": 14}}
    assert suggestion["text"] == "a = 1\n    loss = criterion(model(x), y)\n    loss.backward()\n    opt"


def test_a_fix_of_another_file_is_no_suggestion(reported: Reported, mended: Finding, backward: Finding) -> None:
    elsewhere = replace(backward, fix=mended.fix)
    assert "suggestions" not in rendered(replace(reported, findings=[elsewhere]))[0]


def test_a_real_scan_is_valid_and_its_suggestions_are_the_fixes(run: Any, write: Any) -> None:
    write("six_bugs.py", SIX_BUGS.read_bytes())
    outcome = run("scan", "--output-format", "rdjson")
    validate(outcome.json)
    assert len(outcome.json["diagnostics"]) >= 6
    assert any("suggestions" in diagnostic for diagnostic in outcome.json["diagnostics"])


@pytest.mark.parametrize("spoilt", [{"location": {}}, {"severity": "error"}, {"unheardOf": 1}])
def test_the_schema_refuses_what_is_wrong(reported: Reported, spoilt: dict[str, Any]) -> None:
    result = json.loads(rdjson.render(reported, Look(Paint())))
    result["diagnostics"][0].update(spoilt)
    with pytest.raises(jsonschema.ValidationError):
        validate(result)
