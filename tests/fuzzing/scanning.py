"""What holds of a scan of any file: it ends in time, fails nowhere, and says the same each time."""

from __future__ import annotations

import io
import json
import os
import tempfile
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import HealthCheck, settings

from torch_doctor import cli
from torch_doctor.static import budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLES = int(os.environ.get("TORCH_DOCTOR_FUZZ", "0"))
"""How many examples each test tries; 0: so few that nobody waits for them, and always the same."""
SLOW = 1.5
"""How much longer than its limit a file may take: whoever looks at the clock does so now and then."""


def few(number: int) -> settings:
    """So many examples, always the same; or as many as are asked for, each time others."""
    return settings(
        max_examples=EXAMPLES or number,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class Said(NamedTuple):
    """What a scan said."""

    status: int
    out: str
    err: str


@contextmanager
def _working_in(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def command(*arguments: str) -> Said:
    """Run one command of the command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.run(arguments)
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    return Said(status, *texts)


def scanned(files: Mapping[str, bytes], *, twice: bool = True) -> list[dict[str, object]]:
    """The findings in these files, of which everything holds that holds of any file."""
    with tempfile.TemporaryDirectory() as folder, _working_in(folder):
        Path("pyproject.toml").write_text("", encoding="utf-8")
        for name, content in files.items():
            Path(name).write_bytes(content)
        arguments = ("scan", "--isolated", "--no-cache", "-v", "--select", "ALL", "--output-format", "json", ".")
        start = time.process_time()
        said = command(*arguments)
        seconds = time.process_time() - start
        again = command(*arguments) if twice and seconds < budget.SECONDS / 2 else said
    assert "internal error" not in said.err, said.err
    assert "Traceback" not in said.err, said.err
    assert seconds < len(files) * SLOW * budget.SECONDS, f"{seconds} s"
    found: list[dict[str, object]] = json.loads(said.out)
    assert said.status == int(any(each["code"] and not each["condition"] for each in found)), said.err
    assert again == said
    return found
