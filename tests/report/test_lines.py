"""Formats of one line per finding: pylint's, Azure's and the grouped one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.report import azure, grouped, pylint
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from torch_doctor.rule import Finding
    from torch_doctor.scan.options import Incomplete

PLAIN = Look(Paint())
# How the warnings plugin of Jenkins reads pylint's lines.
JENKINS = re.compile(
    r"(?P<path>(?:[A-Z]:\\)?[^:]*)(?::(?P<module>.*))?:(?P<line>\d+): "
    r"\[(?P<type>(?P<category>[A-Z])\d*)?(?:\((?P<symbol>.*)\), )?.*?\] (?P<message>.*)"
)


def commands(reported: Reported) -> list[tuple[dict[str, str], str]]:
    """The issues that an agent of Azure Pipelines takes from the lines: their properties and messages."""
    found = []
    for line in azure.render(reported, PLAIN).splitlines():
        head, _, message = line.partition("]")
        assert head.startswith("##vso[task.logissue ")
        pairs = head.removeprefix("##vso[task.logissue ").split(";")
        properties = dict(pair.split("=", 1) for pair in pairs if pair)
        assert properties["type"] in ("error", "warning")
        found.append(({key: unescaped(value) for key, value in properties.items()}, unescaped(message)))
    return found


def unescaped(text: str) -> str:
    for code, character in (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%")):
        text = text.replace(code, character)
    return text


def test_jenkins_reads_the_lines_of_pylint(reported: Reported) -> None:
    text = pylint.render(reported, PLAIN)
    in_notebook, in_file = [JENKINS.fullmatch(line) for line in text.splitlines()]
    assert in_file is not None
    assert in_notebook is not None
    assert in_file.group("path", "line") == ("train.py", "5")
    assert in_file["message"] == "nothing clears the gradients of `model` before `loss.backward()`"
    assert in_notebook.group("path", "line") == ("train.ipynb", "1")
    assert in_notebook["message"].startswith("cell 3, line 1: ")
    assert "train.py:5: [TDR101] nothing clears" in text


def test_a_message_of_several_lines_is_one_line_for_pylint(backward: Finding) -> None:
    odd = replace(backward, message="one\ntwo")
    assert pylint.render(Reported([odd]), PLAIN) == "train.py:5: [TDR101] one two\n"


def test_jenkins_reads_what_was_not_analyzed_as_information(
    backward: Finding, incomplete: tuple[Incomplete, ...]
) -> None:
    finding, *lines = pylint.render(Reported([backward], incomplete=incomplete), PLAIN).splitlines()
    assert "[TDR101]" in finding
    for line, each in zip(lines, incomplete, strict=True):
        read = JENKINS.fullmatch(line)
        assert read is not None
        assert read.group("path", "line", "message") == (each.path, str(each.site.row), f"{each}")
        assert read.group("category", "type", "symbol") == ("I", "I0000", "incomplete-analysis")


def test_azure_gets_an_issue_per_finding(reported: Reported) -> None:
    (in_notebook, told), (in_file, message) = commands(reported)
    assert in_file == {
        "type": "error",
        "sourcepath": "train.py",
        "linenumber": "5",
        "columnnumber": "5",
        "code": "TDR101",
    }
    assert message.startswith("nothing clears the gradients of `model` before `loss.backward()`; help: call ")
    assert (in_notebook["type"], in_notebook["linenumber"]) == ("warning", "1")
    assert told == "cell 3, line 1: `torch.save` pickles, 100% of `model`"


def test_advice_and_what_was_refuted_are_warnings_of_azure(backward: Finding, folder: Path) -> None:  # noqa: ARG001 - gives the environment
    some = [replace(backward, level=Level.ADVICE), replace(backward, verdict=Verdict.REFUTED)]
    assert [properties["type"] for properties, _ in commands(Reported(some))] == ["warning", "warning"]


def test_characters_with_a_meaning_for_azure_come_through(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    odd = replace(backward, message="50%;\r\n]", help="", site=backward.site._replace(path="a;b]%3B.py"))
    ((properties, message),) = commands(Reported([odd]))
    assert (properties["sourcepath"], message) == ("a;b]%3B.py", "50%;\r\n]")


def test_azures_paths_begin_at_the_checkout(backward: Finding, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    monkeypatch.setenv("BUILD_SOURCESDIRECTORY", str(folder))
    ((properties, _),) = commands(Reported([backward]))
    assert properties["sourcepath"] == "sub/train.py"


def test_findings_are_grouped_by_file(backward: Finding, saved: Finding) -> None:
    below = replace(backward, site=backward.site._replace(row=12), verdict=Verdict.CONFIRMED)
    assert grouped.render(Reported([backward, saved, below]), PLAIN) == (
        "train.py:\n"
        "  5:5  TDR101 missing-zero-grad: nothing clears the gradients of `model` before `loss.backward()`\n"
        "  12:5 TDR101 missing-zero-grad: nothing clears the gradients of `model` before `loss.backward()` [confirmed]\n"
        "\n"
        "train.ipynb:\n"
        "  cell 3:1:1 TDR601 whole-model-saved: `torch.save` pickles, 100% of `model`\n"
        "\n"
    )


def test_groups_are_coloured(backward: Finding) -> None:
    text = grouped.render(Reported([backward]), Look(Paint(colours=True)))
    assert "\x1b[1mtrain.py\x1b[0m:\n" in text
    assert "\x1b[1;31mTDR101\x1b[0m" in text
