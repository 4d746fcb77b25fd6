"""What the tests of fixes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome


@pytest.fixture
def mended(folder: Path, run: Callable[..., Outcome]) -> Callable[[str, str], str]:
    """What a script holds after the findings of one rule are mended."""

    def made(text: str, code: str) -> str:
        script = folder / "train.py"
        script.write_text(text)
        run(
            "scan", "--isolated", "--no-cache", "-j", "1", "--select", code, "--fix-only", "--unsafe-fixes", str(script)
        )
        return script.read_text()

    return made
