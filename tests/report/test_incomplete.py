"""Files that were not analyzed completely are in every report for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from torch_doctor.report import merging
from torch_doctor.report.formats import FORMATS, renderer
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.scan.options import Incomplete
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.rule import Finding

PLAIN = Look(Paint())
FOR_PEOPLE = ("full", "short", "concise", "grouped")  # a warning next to them names each file
LOOP = Incomplete("train.py", Site("train.py", 14, 5, 14, 20), "`net` is unknown", loop=True)
LIMIT = Incomplete("a,b.py", Site("a,b.py", 3, 1, 3, 9), "`build` exceeds its share of the step limit")
SAID = ["unresolved training loop in train.py:14: `net` is unknown", f"a,b.py:3: {LIMIT.reason}"]


def rendered(name: str, *findings: Finding) -> str:
    return renderer(name)(Reported(findings, incomplete=[LOOP, LIMIT]), PLAIN)


@pytest.mark.parametrize("name", ["json", "json-lines"])
def test_json_has_records_without_a_code(name: str, backward: Finding) -> None:
    text = rendered(name, backward)
    records = json.loads(text) if name == "json" else [json.loads(line) for line in text.splitlines()]
    assert [record["code"] for record in records] == ["TDR101", None, None]
    assert [record["message"] for record in records[1:]] == SAID
    assert [record["location"]["row"] for record in records[1:]] == [14, 3]
    assert {frozenset(record) for record in records} == {frozenset(records[0])}
    merged = merging.merged([("one", text), ("two", rendered(name))])
    assert merged.count(LIMIT.reason) == 1


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in FOR_PEOPLE])
def test_every_format_for_programs_names_them(name: str, folder: Path) -> None:  # noqa: ARG001 - gives the environment
    assert all(said in rendered(name) for said in SAID)


def test_sarif_has_notifications_with_a_place() -> None:
    (run,) = json.loads(rendered("sarif"))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"]
    notifications = invocation["toolExecutionNotifications"]
    assert [(note["level"], note["message"]["text"]) for note in notifications] == [("warning", each) for each in SAID]
    places = [note["locations"][0]["physicalLocation"] for note in notifications]
    assert [(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places] == [
        ("train.py", 14),
        ("a%2Cb.py", 3),
    ]
    (merged,) = json.loads(merging.merged([("one", rendered("sarif"))]))["runs"]
    assert merged["invocations"] == run["invocations"]


def test_jobs_of_services_show_them_at_their_lines(folder: Path) -> None:  # noqa: ARG001 - gives the environment
    assert rendered("github").splitlines() == [
        f"::notice file=train.py,line=14,title=incomplete analysis::{SAID[0]}",
        f"::notice file=a%2Cb.py,line=3,title=incomplete analysis::{SAID[1]}",
    ]
    assert rendered("azure").splitlines() == [
        f"##vso[task.logissue type=warning;sourcepath=train.py;linenumber=14;]{SAID[0]}",
        f"##vso[task.logissue type=warning;sourcepath=a,b.py;linenumber=3;]{SAID[1]}",
    ]
    assert [line for line in rendered("markdown").splitlines() if line.startswith("- ")] == [
        f"- {each}" for each in SAID
    ]
