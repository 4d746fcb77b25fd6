"""Joins what the shards of a scan wrote, so that it is what the whole scan would have written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class UnmergeableError(ValueError):
    """What is to be joined is not JSON or SARIF of this command; the message says which."""


def merged(texts: Sequence[tuple[str, str]]) -> str:
    """One text for those of several shards, each with its name: all of them JSON, JSON lines, or SARIF.

    Raises:
        UnmergeableError: one is none of these, or they are of several kinds.
    """
    read = [(name, *_read(name, text)) for name, text in texts]
    kinds = {kind for _, kind, _ in read}
    if len(kinds) > 1:
        first, other = read[0], next(each for each in read if each[1] != read[0][1])
        message = f"{first[0]} is {first[1]} and {other[0]} is {other[1]}: they cannot be joined"
        raise UnmergeableError(message)
    contents = [content for _, _, content in read]
    if kinds == {"SARIF"}:
        return json.dumps(_logs(contents), indent=2, ensure_ascii=False) + "\n"
    records = _sorted((record for content in contents for record in content), _place)
    if kinds == {"JSON lines"}:
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"


def _read(name: str, text: str) -> tuple[str, Any]:
    """The kind of a text and its content."""
    try:
        content = json.loads(text)
    except ValueError:
        return _read_lines(name, text)
    if isinstance(content, dict) and isinstance(content.get("runs"), list) and len(content["runs"]) == 1:
        return "SARIF", content
    if isinstance(content, list) and all(map(_is_record, content)):
        return "JSON", content
    if _is_record(content):
        return "JSON lines", [content]
    raise _unknown(name)


def _read_lines(name: str, text: str) -> tuple[str, Any]:
    try:
        lines = [json.loads(line) for line in text.splitlines()]
    except ValueError:
        raise _unknown(name) from None
    if not all(map(_is_record, lines)):
        raise _unknown(name)
    return "JSON lines", lines


def _is_record(content: object) -> bool:
    return isinstance(content, dict) and {"code", "filename", "location", "cell"} <= content.keys()


def _unknown(name: str) -> UnmergeableError:
    return UnmergeableError(f"{name} is not what `torch-doctor scan --output-format json` or `sarif` writes")


def _logs(logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One log: the results of all, and what went wrong in any."""
    runs = [log["runs"][0] for log in logs]
    notifications = [
        note for run in runs for invocation in run["invocations"] for note in invocation["toolExecutionNotifications"]
    ]
    invocation = {
        "executionSuccessful": all(note["level"] != "error" for note in notifications),
        "toolExecutionNotifications": notifications,
    }
    results = _sorted((result for run in runs for result in run["results"]), _location)
    run = {**runs[0], "invocations": [invocation], "results": results}
    if "tool" in run:
        run["tool"] = _with_rules_of_all(runs)
        positions = {rule["id"]: position for position, rule in enumerate(run["tool"]["driver"]["rules"])}
        for result in results:
            if "ruleIndex" in result:
                result["ruleIndex"] = positions[result["ruleId"]]
    return {**logs[0], "runs": [run]}


def _with_rules_of_all(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the tool of the runs with the rules that any of them reported."""
    rules = {rule["id"]: rule for run in runs for rule in run["tool"]["driver"]["rules"]}
    tool = runs[0]["tool"]
    return {**tool, "driver": {**tool["driver"], "rules": [rules[code] for code in sorted(rules)]}}


def _sorted(found: Iterable[dict[str, Any]], place: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a function of one
    """Findings in the order of a report, each once."""
    return [each for _, each in sorted({place(each): each for each in found}.items())]


def _place(record: dict[str, Any]) -> tuple[str, int, int, int, str]:
    location = record["location"]
    return record["filename"], record["cell"] or 0, location["row"], location["column"], record["code"] or ""


def _location(result: dict[str, Any]) -> tuple[str, int, int, int, str]:
    where = result["locations"][0]["physicalLocation"]
    properties = result.get("properties", {})
    if "cell" in properties:  # the region has no columns, and may be the same for several rows of a cell
        place = properties["cell"], properties["row"], properties["column"]
    else:
        place = 0, where["region"]["startLine"], where["region"]["startColumn"]
    return where["artifactLocation"]["uri"], *place, result["ruleId"]
