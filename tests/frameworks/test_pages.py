"""The pages of the frameworks show what a scan with the probe says of their scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs/pages"
FINDING = re.compile(r"^train\.py:\d+:\d+: TDR\d+ .*$", re.MULTILINE)
Run = Any
Write = Any


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("accelerate", marks=pytest.mark.frameworks("accelerate")),
        pytest.param("lightning", marks=pytest.mark.frameworks("lightning")),
        pytest.param("peft", marks=pytest.mark.frameworks("peft", "transformers")),
        pytest.param("transformers", marks=pytest.mark.frameworks("transformers", "accelerate")),
    ],
)
def test_a_page_shows_what_the_probe_confirms(page: str, run: Run, write: Write) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    script = re.search(r'```python title="train.py"\n(.*?)```', text, re.DOTALL)
    assert script is not None
    write("train.py", script[1])
    told = run("scan", "train.py", "--probe", "--isolated", "--output-format", "concise").out
    assert FINDING.findall(told) == FINDING.findall(text)
    assert FINDING.findall(text)
