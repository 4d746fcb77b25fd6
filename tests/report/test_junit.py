"""JUnit's XML, read by a library that reads it for others."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import junitparser
from msgspec.structs import replace

from torch_doctor.report import junit
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.scan.options import Incomplete

# What a report may hold, by the schema that Jenkins publishes, with `file` and `line` as newer services read them.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
    "failure": set[str](),
    "error": set(),
    "skipped": set(),
    "system-out": set(),
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname", "file", "line"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set[str](),
}


def rendered(reported: Reported) -> junitparser.JUnitXml:
    return parsed(junit.render(reported, Look(Paint())))


def parsed(text: str) -> junitparser.JUnitXml:
    for element in ET.fromstring(text.encode()).iter():  # noqa: S314 - we wrote it
        assert {child.tag for child in element} <= CHILDREN[element.tag]
        assert set(element.keys()) <= ATTRIBUTES[element.tag]
    report = junitparser.JUnitXml.fromstring(text.encode())
    assert isinstance(report, junitparser.JUnitXml)
    counted = report.tests, report.failures, report.errors, [suite.skipped for suite in report]
    report.update_statistics()  # type: ignore[no-untyped-call]
    assert (report.tests, report.failures, report.errors, [suite.skipped for suite in report]) == counted
    return report


def cases(report: junitparser.JUnitXml) -> list[junitparser.TestCase]:
    return [test for suite in report for test in suite]


def test_a_file_is_a_suite_and_a_finding_a_test_that_failed(reported: Reported) -> None:
    report = rendered(reported)
    assert [suite.name for suite in report] == ["train.ipynb", "train.py"]
    in_notebook, in_file = cases(report)
    assert (in_file.name, in_file.classname) == ("TDR101 missing-zero-grad", "train")
    (failure,) = in_file.result
    assert isinstance(failure, junitparser.Failure)
    assert failure.message == "nothing clears the gradients of `model` before `loss.backward()`"
    assert failure.type == "error"
    assert failure.text.startswith("line 5, column 5: nothing clears")
    assert "\n1. train.py:3:1: the batch loop begins here\n" in failure.text
    assert in_notebook.result[0].text.startswith("cell 3, line 1, column 1: ")


def test_names_have_no_line_numbers_and_are_each_their_own(backward: Finding, folder: Path) -> None:  # noqa: ARG001 - gives the environment
    below = replace(backward, site=backward.site._replace(row=9, end_row=9))
    names = [test.name for test in cases(rendered(Reported([backward, below])))]
    assert names == ["TDR101 missing-zero-grad", "TDR101 missing-zero-grad (2)"]


def test_what_the_probe_refuted_has_passed(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    refuted = backward.with_verdict(Verdict.REFUTED, (Evidence("the gradient at step 2 is its own"),))
    (test,) = cases(rendered(Reported([refuted])))
    assert test.is_passed
    assert test.system_out.endswith("probe: refuted: the gradient at step 2 is its own")


def test_without_findings_one_test_has_passed() -> None:
    (test,) = cases(rendered(Reported([])))
    assert (test.name, test.is_passed) == ("no findings", True)


def test_a_file_that_was_not_analyzed_completely_has_a_test_that_was_skipped(
    backward: Finding, incomplete: tuple[Incomplete, ...]
) -> None:
    report = rendered(Reported([backward], incomplete=incomplete))
    assert [(suite.name, suite.tests, suite.skipped) for suite in report] == [("train.py", 2, 1), ("a,b.py", 1, 1)]
    _, loop, limit = cases(report)
    assert [(test.name, test.result[0].message) for test in (loop, limit)] == [
        ("incomplete-analysis", f"{each}") for each in incomplete
    ]
    assert all(isinstance(test.result[0], junitparser.Skipped) for test in (loop, limit))
    *_, last = cases(rendered(Reported([], incomplete=incomplete)))
    assert (last.name, last.is_passed) == ("no findings", True)


def test_what_went_wrong_is_an_error(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    report = rendered(Reported([backward], errors=["a.py cannot be read"]))
    assert (report.failures, report.errors) == (1, 1)
    assert cases(report)[-1].result[0].message == "a.py cannot be read"


def test_characters_that_xml_cannot_hold_are_replaced(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    odd = replace(backward, message='a\0b\x1b\udc80\uffff <&">', site=backward.site._replace(path="\x01.py"))
    (test,) = cases(rendered(Reported([odd])))
    assert test.result[0].message == 'a\ufffdb\ufffd\ufffd\ufffd <&">'


def test_a_real_scan_is_read(real_scan: Mapping[str, str]) -> None:
    report = parsed(real_scan["junit"])
    assert report.failures == report.tests >= 20
    names = [(suite.name, test.name) for suite in report for test in suite]
    assert len(set(names)) == len(names)
