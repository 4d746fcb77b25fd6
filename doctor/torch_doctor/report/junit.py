"""JUnit's XML: each finding is a test that failed, for services that show test reports."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import PurePath
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from torch_doctor.report.details import LEVELS, cell_and_line, explanation
from torch_doctor.report.reported import INCOMPLETE, from_checkout
from torch_doctor.report.verdict_words import sentence
from torch_doctor.rule import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.report.reported import Incomplete, Look, Reported

TOOL = "torch-doctor"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One document: a suite per file, a test per finding.

    What the probe refuted is a test that passed, and a file that was not analyzed completely has one that was skipped. What went
    wrong in the scan is a test with an error. A report without findings has one test that passed, because services take a
    report without tests for a broken one.
    """
    files: dict[str, list[Finding | Incomplete]] = defaultdict(list)
    named: list[Finding | Incomplete] = [*reported.findings, *reported.incomplete]
    for each in named:
        files[each.site.path].append(each)
    suites = [_suite(from_checkout(path), findings, reported) for path, findings in files.items()]
    if reported.errors or not reported.findings:
        suites.append(_of_the_scan(reported.errors))
    return _document(suites)


def _document(suites: Sequence[ET.Element]) -> str:
    root = ET.Element("testsuites", name=TOOL)
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        for suite in suites:
            suite.set(kind, f"{sum(1 for _ in suite.iter(tag))}")
        if kind != "skipped":  # all tests together have no such attribute
            root.set(kind, f"{sum(int(suite.get(kind, 0)) for suite in suites)}")
    root.extend(suites)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(path: str, findings: Sequence[Finding | Incomplete], reported: Reported) -> ET.Element:
    """A test for each finding, with a name of its own that has no line number in it: its history goes on when lines move."""
    suite = ET.Element("testsuite", name=_text(path))
    seen: Counter[str] = Counter()
    for each in findings:
        name = f"{each.code} {each.name}" if isinstance(each, Finding) else INCOMPLETE
        seen[name] += 1
        named = f"{name}{f' ({seen[name]})' if seen[name] > 1 else ''}"
        test = ET.SubElement(suite, "testcase", name=named, classname=_text(PurePath(path).with_suffix("").as_posix()))
        test.set("file", _text(path))
        test.set("line", f"{reported.row_in_file(each.site)}")
        if isinstance(each, Finding):
            _tell(test, each)
        else:
            ET.SubElement(test, "skipped", message=_text(f"{each}"))
    return suite


def _tell(test: ET.Element, finding: Finding) -> None:
    """Put into a test what there is to say about its finding."""
    site = finding.site
    if finding.verdict is Verdict.REFUTED or finding.condition:
        said = finding.headline if finding.verdict is None else f"{finding.headline}\n{sentence(finding)}"
        ET.SubElement(test, "system-out").text = _text(said)
        return
    failure = ET.SubElement(test, "failure", message=_text(finding.headline), type=LEVELS[finding.level])
    where = cell_and_line(site) or f"line {site.row}"
    failure.text = _text("\n".join([f"{where}, column {site.column}: {finding.headline}", *explanation(finding)]))


def _of_the_scan(errors: Sequence[str]) -> ET.Element:
    """What there is to say of no file."""
    suite = ET.Element("testsuite", name=TOOL)
    if not errors:
        ET.SubElement(suite, "testcase", name="no findings", classname=TOOL)
    for number, error in enumerate(errors, start=1):
        test = ET.SubElement(suite, "testcase", name=f"error {number}", classname=TOOL)
        ET.SubElement(test, "error", message=_text(error), type="error")
    return suite


def _text(text: str) -> str:
    """The text without the characters that XML cannot hold."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
