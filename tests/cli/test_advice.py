"""The advice of a rule that also warns: who selects the rule hears it, once for all files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Any

USES = "import torch\nsteps = torch.range(1, 3)\nrates = torch.range(0, 2)\n"
ASKING = ("scan", "--isolated", "--no-cache", "--output-format", "concise")
OLD = "TDR807 outdated-api: `torch.range` is deprecated since torch 0.4: use `torch.arange`"


@pytest.fixture
def both(write: Callable[..., Path]) -> None:
    write("first.py", USES)
    write("second.py", USES)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "selecting", [("--extend-select", "TDR807"), ("--select", "ALL"), ("--select", "outdated-api")]
)
def test_advice_is_told_where_the_rule_is_selected(run: Run, selecting: tuple[str, str]) -> None:
    assert run(*ASKING).out == ""
    assert run(*ASKING, *selecting).out == f"first.py:2:9: {OLD} (3 more, in 2 files)\n"
    assert run(*ASKING, *selecting, "second.py").out == f"second.py:2:9: {OLD} (1 more)\n"


@pytest.mark.usefixtures("both")
def test_what_is_silenced_in_one_file_is_told_in_the_others(run: Run) -> None:
    ignoring = ("--per-file-ignores", "first.py:TDR807", "--extend-select", "TDR807")
    assert run(*ASKING, *ignoring).out == f"second.py:2:9: {OLD} (1 more)\n"


@pytest.mark.usefixtures("both")
def test_a_comment_is_put_at_each_of_the_uses(run: Run) -> None:
    asking = (*ASKING, "--extend-select", "TDR807")
    assert run("scan", "--isolated", "--no-cache", "--extend-select", "TDR807", "--add-noqa").err == (
        "Suppressed 4 findings in 2 files.\n"
    )
    assert run(*asking).out == ""
    assert run(*ASKING).out == ""  # the comments are no idle ones where nobody asks for the advice
