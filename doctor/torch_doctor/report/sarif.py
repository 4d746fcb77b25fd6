"""SARIF 2.1.0, for code scanning services; the trail becomes a code flow."""

from __future__ import annotations

import json
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torch_doctor import __version__
from torch_doctor.report.fingerprints import Fingerprints
from torch_doctor.report.line_hashes import line_hashes
from torch_doctor.report.links import SITE, url_of
from torch_doctor.report.reported import from_checkout
from torch_doctor.report.verdict_words import sentence
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.edits import Change, Proposal
    from torch_doctor.report.reported import Incomplete, Look, Reported
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.trace import Site

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.ADVICE: "note"}
SEVERITIES = {Level.ERROR: "error", Level.WARNING: "warning", Level.ADVICE: "recommendation"}
PRECISIONS = {Level.ERROR: "very-high", Level.WARNING: "high", Level.ADVICE: "medium"}
SECURITY = {"TDR603": ("8.0", ["security", "external/cwe/cwe-502"])}
"""Rules about security: the score, from 0 to 10, by which GitHub ranks their results, and their tags."""
LONGEST = 1024
"""Most characters that GitHub shows of a description."""


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One log with one run."""
    codes = {finding.code for finding in reported.findings}
    rules = sorted((rule for rule in reported.rules if rule.code in codes), key=lambda rule: rule.code)
    positions = {rule.code: position for position, rule in enumerate(rules)}
    fingerprints = _Fingerprints(reported)
    run = {
        "tool": {
            "driver": {
                "name": "torch-doctor",
                "version": __version__,
                "informationUri": SITE,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder that holds the project."}}},
        "invocations": [
            {
                "executionSuccessful": not reported.errors,
                "toolExecutionNotifications": [
                    *({"level": "error", "message": {"text": error}} for error in reported.errors),
                    *(_notification(each, reported) for each in reported.incomplete),
                ],
            }
        ],
        "results": [_result(finding, positions, fingerprints, reported) for finding in reported.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _notification(incomplete: Incomplete, reported: Reported) -> dict[str, Any]:
    """Return what says that a file was not analyzed completely."""
    return {
        "level": "warning",
        "message": {"text": f"{incomplete}"},
        "locations": [_location(incomplete.site, reported)],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    url = url_of(rule.code)
    return {
        "id": rule.code,
        "name": rule.name,
        **({} if url is None else {"helpUri": url}),
        "shortDescription": {"text": rule.summary() or rule.name},
        "fullDescription": {"text": _description(rule)},
        "help": {"text": rule.page() or rule.name, "markdown": rule.page() or rule.name},
        "defaultConfiguration": {"level": LEVELS[rule.level], "enabled": rule.level is not Level.ADVICE},
        "properties": _ranking(rule),
    }


def _description(rule: Rule) -> str:
    """Return the summary of a rule with the first paragraph of its explanation."""
    _, _, explanation = rule.page().partition("\n## Why is this bad?\n")
    text = f"{rule.summary() or rule.name}. {explanation.strip().partition(f'{chr(10)}{chr(10)}')[0]}"
    return textwrap.shorten(text, LONGEST, placeholder=" …")


def _ranking(rule: Rule) -> dict[str, Any]:
    """Return the properties by which GitHub sorts and filters results."""
    score, tags = SECURITY.get(rule.code, ("", []))
    return {
        "tags": ["pytorch", "correctness" if rule.level is Level.ERROR else "maintainability", *tags],
        "precision": PRECISIONS[rule.level],
        "problem.severity": SEVERITIES[rule.level],
        **({"security-severity": score} if score else {}),
    }


class _Fingerprints:
    """The fingerprints of the results of one report."""

    def __init__(self, reported: Reported) -> None:
        self._names = Fingerprints(reported)
        self._sources = reported.sources
        self._hashes: dict[str, list[str]] = {}

    def of(self, finding: Finding, line: int) -> dict[str, str]:
        """Return the fingerprints of a finding that starts on a line of its file: our own, and the one that GitHub uses."""
        path = finding.site.path
        if path not in self._hashes:
            source = self._sources.get(path)
            self._hashes[path] = [] if source is None else line_hashes(source.lines_in_file)
        found = self._hashes[path][line - 1 : line]
        return {"torchDoctor/v1": self._names.of(finding), **({"primaryLocationLineHash": found[0]} if found else {})}


def _result(
    finding: Finding, positions: dict[str, int], fingerprints: _Fingerprints, reported: Reported
) -> dict[str, Any]:
    cell = "" if finding.site.cell is None else f" (cell {finding.site.cell})"
    remedy = f"\n{finding.help}" if finding.help else ""
    verdict = f"\n{said}" if (said := sentence(finding)) else ""
    location = _location(finding.site, reported)
    line = location["physicalLocation"]["region"]["startLine"]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": LEVELS[finding.level],
        "message": {"text": f"{finding.headline}{cell}{remedy}{verdict}"},
        "locations": [location],
        "partialFingerprints": fingerprints.of(finding, line),
    }
    if finding.code in positions:
        result["ruleIndex"] = positions[finding.code]
    if finding.trail:
        flow = [_location(step.site, reported, step.note) for step in finding.trail]
        if all(step.site != finding.site for step in finding.trail):
            flow.insert(0, _location(finding.site, reported, finding.headline))
        result["codeFlows"] = [{"threadFlows": [{"locations": [{"location": location} for location in flow]}]}]
    if finding.fix is not None and all(change.site.cell is None for change in finding.fix.changes):
        result["fixes"] = [_fix(finding, finding.fix)]
    if finding.verdict is Verdict.REFUTED:  # it was looked at, and is no problem
        result |= {"kind": "pass", "level": "none"}
    properties = _properties(finding)
    if properties:
        result["properties"] = properties
    return result


def _fix(finding: Finding, fix: Proposal) -> dict[str, Any]:
    """The changes that mend a finding, file by file."""
    files: dict[str, list[Change]] = defaultdict(list)
    for change in fix.changes:
        files[change.site.path].append(change)
    return {
        "description": {"text": finding.help or f"fix {finding.name}"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": [
                    {"deletedRegion": _region(change.site), "insertedContent": {"text": change.content}}
                    for change in changes
                ],
            }
            for path, changes in files.items()
        ],
    }


def _properties(finding: Finding) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if finding.site.cell is not None:
        properties |= _in_cell(finding.site)
    if finding.verdict is not None:
        properties |= {"verdict": finding.verdict.value, "witness": finding.witness}
        properties["evidence"] = [
            {
                "claim": evidence.claim,
                "value": evidence.value,
                "unit": evidence.unit,
                "site": evidence.site and str(evidence.site),
            }
            for evidence in finding.evidence
        ]
    return properties


def _location(site: Site, reported: Reported, note: str | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(site.path),
            "region": _region(site) if site.cell is None else _region_in_notebook(site, reported),
        }
    }
    if site.cell is not None:
        location["logicalLocations"] = [{"name": f"cell {site.cell}", "kind": "member"}]
        location["properties"] = _in_cell(site)
    if note is not None:
        location["message"] = {"text": note}
    return location


def _in_cell(site: Site) -> dict[str, int | None]:
    return {"cell": site.cell, "row": site.row, "column": site.column}


def _region_in_notebook(site: Site, reported: Reported) -> dict[str, int]:
    """Return the region of a place in a cell in the JSON of the notebook, or its start where that is unknown."""
    source, cell = reported.sources.get(site.path), site.cell or 0
    start = source and source.place_in_file(cell, site.row, site.column)
    end = source and source.place_in_file(cell, site.end_row, site.end_column)
    (line, column), (end_line, end_column) = (start, end) if start and end else ((1, 1), (1, 2))
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _region(site: Site) -> dict[str, int]:
    return {
        "startLine": site.row,
        "startColumn": site.column,
        "endLine": site.end_row,
        "endColumn": site.end_column,
    }


def _artifact(filename: str) -> dict[str, str]:
    shown = from_checkout(filename)
    if Path(shown).is_absolute():
        return {"uri": Path(shown).as_uri()}
    return {"uri": quote(shown), "uriBaseId": "%SRCROOT%"}
