"""Fixes in SARIF and rdjson: what makes the changes that they carry comes to the file that `--fix` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parents[2] / "fixtures"
MENDED = (
    "TDR101/bad_module_level.py",
    "TDR201/bad_functional_in_forward.py",
    "TDR301/bad_list_from_method.py",
    "TDR501/bad_trainer_attribute.py",
    "TDR501/bad_weighted_sum.py",
)
WIDE = "日本語 = 'ü'; "  # one code point, two or three bytes


def of_sarif(log: Any, text: str) -> str:
    """The text with the replacements of the only fix, from the last; columns count code points."""
    (fix,) = [fix for result in log["runs"][0]["results"] for fix in result.get("fixes", ())]
    (change,) = fix["artifactChanges"]
    for replacement in sorted(change["replacements"], key=lambda each: place(each["deletedRegion"]), reverse=True):
        region = replacement["deletedRegion"]
        start, end = place(region), (region["endLine"], region["endColumn"])
        text = replaced(text.encode("utf-32-le"), start, end, replacement["insertedContent"]["text"], "utf-32-le")
    return text


def place(region: dict[str, int]) -> tuple[int, int]:
    return region["startLine"], region["startColumn"]


def of_rdjson(result: Any, text: str) -> str:
    """The text with the only suggestion; columns count bytes of UTF-8."""
    (suggestion,) = [each for diagnostic in result["diagnostics"] for each in diagnostic.get("suggestions", ())]
    start, end = ((at["line"], at["column"]) for at in (suggestion["range"]["start"], suggestion["range"]["end"]))
    return replaced(text.encode(), start, end, suggestion["text"], "utf-8")


def replaced(raw: bytes, start: tuple[int, int], end: tuple[int, int], content: str, encoding: str) -> str:
    """The text with what lies between two places written anew."""
    newline = "\n".encode(encoding)
    unit = len(newline)
    offsets = [0]
    for line in raw.decode(encoding).split("\n"):
        offsets.append(offsets[-1] + len(line.encode(encoding)) + unit)
    first, last = (offsets[row - 1] + (column - 1) * unit for row, column in (start, end))
    return (raw[:first] + content.encode(encoding) + raw[last:]).decode(encoding)


@pytest.mark.parametrize(("kind", "made"), [("sarif", of_sarif), ("rdjson", of_rdjson)])
@pytest.mark.parametrize("name", MENDED)
def test_the_changes_lead_to_what_fix_writes(
    name: str, kind: str, made: Callable[[Any, str], str], run: Any, write: Callable[..., Path]
) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    path = write("train.py", text)
    options = ("--isolated", "--no-cache", "--select", name[:6])
    result = run("scan", *options, "--output-format", kind).json
    run("scan", *options, "--fix", "--unsafe-fixes")
    assert made(result, text) == path.read_text(encoding="utf-8") != text


@pytest.mark.parametrize(("kind", "made"), [("sarif", of_sarif), ("rdjson", of_rdjson)])
def test_columns_behind_wide_characters_are_counted_as_the_format_does(
    kind: str, made: Callable[[Any, str], str], run: Any, write: Callable[..., Path]
) -> None:
    text = f"import torch\n\nmodel = torch.nn.Linear(2, 2)\n{WIDE}model.eval\nprint(model(torch.rand(1, 2)))\n"
    write("train.py", text)
    result = run("scan", "--isolated", "--no-cache", "--output-format", kind).json
    assert made(result, text) == text.replace("model.eval\n", "model.eval()\n")
