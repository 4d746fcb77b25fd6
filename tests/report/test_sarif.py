"""SARIF 2.1.0: valid by the schema, with what code scanning services use."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from msgspec.structs import replace

from tests.report.conftest import TRAIN, WHOLE
from torch_doctor import __version__
from torch_doctor.report import sarif
from torch_doctor.report.line_hashes import line_hashes
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_doctor.rule import Finding

PLAIN = Look(Paint())


def rendered(reported: Reported) -> Any:
    return json.loads(sarif.render(reported, PLAIN))


def an_object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def a_list(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 1}
BAG = {"type": "object"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
URI = {"type": "string", "format": "uri"}
MESSAGE = an_object({"text": TEXT})
SHOWN = an_object({"text": {**TEXT, "maxLength": 1024}})  # more is not shown by GitHub
REGION = an_object(dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), NUMBER))
PLACE = an_object(
    {
        "artifactLocation": an_object({"uri": {"type": "string", "format": "uri-reference"}}, {"uriBaseId": TEXT}),
        "region": REGION,
    }
)
LOCATION = an_object(
    {"physicalLocation": PLACE},
    {"message": MESSAGE, "properties": BAG, "logicalLocations": a_list(an_object({"name": TEXT, "kind": TEXT}))},
)
THREAD_FLOW = an_object({"locations": a_list(an_object({"location": LOCATION}), 1)})
RULE = an_object(
    {
        "id": TEXT,
        "name": TEXT,
        "shortDescription": SHOWN,
        "fullDescription": SHOWN,
        "help": an_object({"text": TEXT, "markdown": TEXT}),
        "defaultConfiguration": an_object({"level": LEVEL, "enabled": {"type": "boolean"}}),
        "properties": an_object(
            {
                "tags": a_list(TEXT, 1),
                "precision": {"enum": ["very-high", "high", "medium", "low"]},
                "problem.severity": {"enum": ["error", "warning", "recommendation"]},
            },
            {"security-severity": {"type": "string", "pattern": r"^\d\.\d$"}},
        ),
        "helpUri": URI,
    }
)
CHANGE = an_object(
    {
        "artifactLocation": an_object({"uri": {"type": "string", "format": "uri-reference"}}, {"uriBaseId": TEXT}),
        "replacements": a_list(
            an_object({"deletedRegion": REGION, "insertedContent": an_object({"text": {"type": "string"}})}), 1
        ),
    }
)
RESULT = an_object(
    {
        "ruleId": TEXT,
        "level": LEVEL,
        "message": MESSAGE,
        "locations": a_list(LOCATION, 1),
        "partialFingerprints": an_object(
            {"torchDoctor/v1": TEXT},
            {"primaryLocationLineHash": {"type": "string", "pattern": "^[0-9a-f]{1,16}:[1-9]"}},
        ),
    },
    {
        "ruleIndex": {"type": "integer", "minimum": 0},
        "codeFlows": a_list(an_object({"threadFlows": a_list(THREAD_FLOW, 1)})),
        "fixes": a_list(an_object({"description": MESSAGE, "artifactChanges": a_list(CHANGE, 1)}), 1),
        "properties": BAG,
    },
)
INVOCATION = an_object(
    {
        "executionSuccessful": {"type": "boolean"},
        "toolExecutionNotifications": a_list(
            an_object({"level": LEVEL, "message": MESSAGE}, {"locations": a_list(LOCATION, 1)})
        ),
    }
)
RUN = an_object(
    {
        "tool": an_object(
            {"driver": an_object({"name": TEXT, "version": TEXT, "informationUri": URI, "rules": a_list(RULE)})}
        ),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "originalUriBaseIds": {"type": "object", "additionalProperties": an_object({"description": MESSAGE})},
        "invocations": a_list(INVOCATION),
        "results": a_list(RESULT),
    }
)
# The part of the official schema that we use, and stricter: what is not listed here, we do not write.
OURS = an_object({"$schema": TEXT, "version": {"const": "2.1.0"}, "runs": a_list(RUN, 1)})


# Byte for byte what OASIS publishes; where this copy comes from stands beside it.
OFFICIAL = Path(__file__).parent / "sarif-schema-2.1.0.json"
DIGEST = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@pytest.fixture(scope="module")
def official() -> Any:
    """The validator of the official schema, by the draft that the schema names."""
    schema = json.loads(OFFICIAL.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema, default=None)
    return validator(schema, format_checker=jsonschema.FormatChecker())


def test_it_is_valid_and_says_nothing_else(reported: Reported) -> None:
    for some in (reported, Reported([]), replace(reported, errors=["a.py does not exist"])):
        jsonschema.Draft202012Validator(OURS, format_checker=jsonschema.FormatChecker()).validate(rendered(some))


def test_the_copy_of_the_official_schema_is_the_one_we_name() -> None:
    assert hashlib.sha256(OFFICIAL.read_bytes()).hexdigest() == DIGEST
    assert json.loads(OFFICIAL.read_text(encoding="utf-8"))["id"] == sarif.SCHEMA


def test_it_is_valid_by_the_official_schema(reported: Reported, official: Any) -> None:
    for some in (reported, Reported([]), replace(reported, errors=["a.py does not exist"])):
        official.validate(rendered(some))


def test_what_a_real_scan_says_is_valid_by_both_schemas(real_scan: Mapping[str, str], official: Any) -> None:
    log = json.loads(real_scan["sarif"])
    assert len(log["runs"][0]["results"]) >= 20
    official.validate(log)
    jsonschema.Draft202012Validator(OURS, format_checker=jsonschema.FormatChecker()).validate(log)


@pytest.mark.parametrize("spoilt", [{"results": [{}]}, {"tool": {}}, {"columnKind": "bytes"}, {"unheardOf": 1}])
def test_the_official_schema_refuses_what_is_wrong(reported: Reported, official: Any, spoilt: dict[str, Any]) -> None:
    log = rendered(reported)
    log["runs"][0].update(spoilt)
    assert not official.is_valid(log)


@pytest.mark.parametrize("schema", ["ours", "official"])
def test_what_is_no_uri_is_refused(reported: Reported, official: Any, schema: str) -> None:
    ours = jsonschema.Draft202012Validator(OURS, format_checker=jsonschema.FormatChecker())
    log = rendered(reported)
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "my code.py"
    assert not (ours if schema == "ours" else official).is_valid(log)


def test_the_rules_come_with_their_pages(reported: Reported) -> None:
    driver = rendered(reported)["runs"][0]["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("torch-doctor", __version__)
    rule = driver["rules"][0]
    assert (rule["id"], rule["name"]) == ("TDR101", "missing-zero-grad")
    assert rule["shortDescription"]["text"] == "Stand-in that dislikes every `backward()`"
    assert rule["fullDescription"]["text"].startswith("Stand-in that dislikes every `backward()`. ")
    assert "## Why is this bad?" in rule["help"]["markdown"]
    assert rule["properties"]["precision"] == "very-high"


def test_only_the_rules_that_are_reported_are_listed(reported: Reported, saved: Finding) -> None:
    def listed(*findings: Finding) -> list[str]:
        log = rendered(replace(reported, findings=findings))
        return [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]

    assert listed(*reported.findings) == ["TDR101", "TDR601"]
    assert listed(saved, saved) == ["TDR601"]
    assert listed() == []


def test_advice_is_a_note_that_is_off_by_default(reported: Reported, backward: Finding) -> None:
    (code,) = [rule.code for rule in reported.rules if rule.level is Level.ADVICE]
    log = rendered(replace(reported, findings=[replace(backward, code=code)]))
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule["defaultConfiguration"] == {"level": "note", "enabled": False}
    assert rule["properties"]["problem.severity"] == "recommendation"


def test_an_unsafe_load_is_a_security_alert(run: Any, write: Any) -> None:
    write("load.py", "import sys\nimport torch\nmodel = torch.load(sys.argv[1], weights_only=False)\n")
    (shown,) = run("scan", "--isolated", "--no-cache", "--select", "TDR603", "--output-format", "sarif").json["runs"]
    (rule,) = shown["tool"]["driver"]["rules"]
    assert rule["properties"]["security-severity"] == "8.0"
    assert "security" in rule["properties"]["tags"]


REQUIRED_BY_GITHUB = {
    "": ["$schema", "version", "runs"],
    "runs": ["tool/driver", "results"],
    "runs/tool/driver": ["name", "rules"],
    "runs/tool/driver/rules": ["id", "shortDescription/text", "fullDescription/text", "help/text"],
    "runs/results": ["message/text", "locations", "partialFingerprints/primaryLocationLineHash"],
    "runs/results/locations": ["physicalLocation/artifactLocation/uri"],
    "runs/results/locations/physicalLocation/region": ["startLine", "startColumn", "endLine", "endColumn"],
    "runs/results/codeFlows/threadFlows/locations": ["location/physicalLocation/artifactLocation/uri"],
}
RECOMMENDED_BY_GITHUB = {
    "runs/tool/driver": ["version"],
    "runs/tool/driver/rules": [
        *("name", "help/markdown", "defaultConfiguration/level"),
        *("properties/tags", "properties/precision", "properties/problem.severity"),
    ],
    "runs/results": ["ruleId", "ruleIndex", "level"],
}
"""The properties of "SARIF support for code scanning" in GitHub's documentation, and where they belong."""


def at(place: str, value: Any) -> list[Any]:
    """What is at a place, in each item of the lists on the way there."""
    values = value if isinstance(value, list) else [value]
    if not place:
        return values
    name, _, rest = place.partition("/")
    return [found for each in values if name in each for found in at(rest, each[name])]


@pytest.mark.parametrize("required", [REQUIRED_BY_GITHUB, RECOMMENDED_BY_GITHUB], ids=["required", "recommended"])
def test_a_real_scan_has_what_github_asks_for(real_scan: Mapping[str, str], required: dict[str, list[str]]) -> None:
    log = json.loads(real_scan["sarif"])
    for place, names in required.items():
        owners = at(place, log)
        assert owners, place
        for owner in owners:
            for name in names:
                assert all(found not in ("", None) for found in at(name, owner) or [None]), (place, name, owner)
    for result in at("runs/results", log):
        assert len(result["locations"]) == 1
        assert at("runs/tool/driver/rules", log)[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_result_points_to_its_rule_and_place(reported: Reported) -> None:
    run = rendered(reported)["runs"][0]
    result = run["results"][1]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "TDR101"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5, "startColumn": 5, "endLine": 5, "endColumn": 20},
    }
    assert "%SRCROOT%" in run["originalUriBaseIds"]
    assert run["columnKind"] == "unicodeCodePoints"


def test_the_trail_is_a_code_flow_that_begins_at_the_finding(reported: Reported) -> None:
    in_notebook, in_file = rendered(reported)["runs"][0]["results"]
    (flow,) = in_file["codeFlows"][0]["threadFlows"]
    places = [
        (step["location"]["physicalLocation"]["artifactLocation"]["uri"], step["location"]["message"]["text"])
        for step in flow["locations"]
    ]
    assert [uri for uri, _ in places] == ["train.py", "train.py", "model.py"]
    assert places[2][1] == "the output of `model` is made here"
    assert "codeFlows" not in in_notebook


def test_a_cell_is_a_logical_location(reported: Reported) -> None:
    result = rendered(reported)["runs"][0]["results"][0]
    assert result["properties"] == {"cell": 3, "row": 1, "column": 1}
    assert result["locations"][0]["logicalLocations"] == [{"name": "cell 3", "kind": "member"}]
    assert "(cell 3)" in result["message"]["text"]


def test_regions_of_a_notebook_are_rows_of_its_file(run: Any, write: Any) -> None:
    text = (WHOLE / "six_bugs.ipynb").read_text(encoding="utf-8")
    write("six_bugs.ipynb", text)
    results = run("scan", "--no-cache", "--output-format", "sarif").json["runs"][0]["results"]
    cells = json.loads(text)["cells"]
    assert len(results) >= 6
    for result in results:
        place = result["properties"]
        region = result["locations"][0]["physicalLocation"]["region"]
        row = text.splitlines()[region["startLine"] - 1]
        source = cells[place["cell"] - 1]["source"][place["row"] - 1]
        assert json.loads(row.strip().removesuffix(",")) == source
        end = region["endColumn"] - 1 if region["endLine"] == region["startLine"] else None
        marked = row[region["startColumn"] - 1 : end].removesuffix(",").removesuffix('"')
        assert source[place["column"] - 1 :].startswith(json.loads(f'"{marked}"'))
        assert marked


def test_uris_are_quoted(backward: Finding, folder: Path) -> None:
    odd = replace(backward, site=backward.site._replace(path="my code/trän%.py"), trail=())
    (result,) = rendered(Reported([odd]))["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == "my%20code/tr%C3%A4n%25.py"
    absolute = replace(backward, site=backward.site._replace(path=str(folder / "a.py")), trail=())
    (result,) = rendered(Reported([absolute]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": (folder / "a.py").as_uri()}


def test_fingerprints_survive_moved_lines_and_tell_equal_lines_apart(reported: Reported, backward: Finding) -> None:
    def fingerprints(*findings: Finding) -> list[str]:
        results = rendered(replace(reported, findings=findings))["runs"][0]["results"]
        return [result["partialFingerprints"]["torchDoctor/v1"] for result in results]

    once = fingerprints(backward)
    twice = fingerprints(backward, replace(backward))
    elsewhere = fingerprints(replace(backward, site=backward.site._replace(row=6, end_row=6)))
    assert twice[0] == once[0] != twice[1]
    assert elsewhere != once


@pytest.mark.usefixtures("stand_ins")
def test_fingerprints_of_a_file_stay_when_its_lines_move(run: Any, write: Any) -> None:
    def scanned(text: str) -> list[tuple[int, str]]:
        write("train.py", text)
        results = run("scan", "--no-cache", "--output-format", "sarif").json["runs"][0]["results"]
        return [
            (
                result["locations"][0]["physicalLocation"]["region"]["startLine"],
                result["partialFingerprints"]["torchDoctor/v1"],
            )
            for result in results
        ]

    code = "import torch\nloss.backward()\nx = 1\nloss.backward()\n"
    before, after = (
        scanned(code),
        scanned(code.replace("x = 1", "x = 1\n\nif x:\n    x = 2\n").replace("import", "# moved\nimport")),
    )
    assert [row for row, _ in before] == [2, 4]
    assert [row for row, _ in after] == [3, 9]
    assert [fingerprint for _, fingerprint in before] == [fingerprint for _, fingerprint in after]
    assert len({fingerprint for _, fingerprint in before}) == 2


@pytest.mark.usefixtures("stand_ins")
def test_a_finding_keeps_its_fingerprint_where_those_that_were_known_are_left_out(run: Any, write: Any) -> None:
    options = ("scan", "--isolated", "--no-cache", "--baseline", "known.json", "--output-format", "sarif")
    write("train.py", "import torch\nx = 1\nloss.backward()\n")
    run(*options, "--write-baseline")
    write("train.py", "import torch\nx = 1\nloss.backward()\nloss.backward()\n")
    (new,) = run(*options).json["runs"][0]["results"]
    known, same = run("scan", "--isolated", "--no-cache", "--output-format", "sarif").json["runs"][0]["results"]
    assert new["partialFingerprints"] == same["partialFingerprints"] != known["partialFingerprints"]


def test_the_line_hash_is_that_of_github_and_survives_moved_lines() -> None:
    assert line_hashes([""]) == ["c129715d7a2bc9a3:1"]  # what github/codeql-action expects of an empty file
    rows = ["for x, y in loader:", "    loss.backward()", "\tloss.backward()  # ü 🔥", *["x = 1"] * 40, ""]
    hashes = line_hashes(rows)  # the others come from a run of its algorithm in JavaScript
    assert hashes[:4] == ["6de62ac4d5255021:1", "d4ec8adb59d4f707:1", "4bdb4502b6113d8a:1", "ca3e9a077b09da0c:1"]
    assert hashes[4] == "ca3e9a077b09da0c:2"
    assert line_hashes(["import torch", "", *rows])[2:] == hashes
    assert line_hashes([]) == []


def test_a_result_has_the_hash_of_its_line(reported: Reported, backward: Finding) -> None:
    (result,) = rendered(replace(reported, findings=[backward]))["runs"][0]["results"]
    assert result["partialFingerprints"]["primaryLocationLineHash"] == line_hashes(TRAIN.split("\n"))[4]


def test_a_fix_names_what_is_replaced_in_each_file(reported: Reported, mended: Finding, official: Any) -> None:
    log = rendered(replace(reported, findings=[mended]))
    official.validate(log)
    jsonschema.Draft202012Validator(OURS, format_checker=jsonschema.FormatChecker()).validate(log)
    (fix,) = log["runs"][0]["results"][0]["fixes"]
    assert fix["description"]["text"] == mended.help
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "model.py"
    assert change["replacements"][1] == {
        "deletedRegion": {"startLine": 3, "startColumn": 24, "endLine": 3, "endColumn": 36},
        "insertedContent": {"text": "x"},
    }


def test_what_went_wrong_is_told(reported: Reported) -> None:
    (invocation,) = rendered(replace(reported, errors=["a.py does not exist"]))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "a.py does not exist"
