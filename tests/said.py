"""What the static witness says of a script: the text of `torch-doctor trace`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look
from torch_doctor.report.trace_text import render
from torch_doctor.scan import Options, traces

SCRIPT = Path("/nowhere/train.py")
_POSITION = re.compile(r"^\s*(\[\d+\] )?\d+:\d+\s+")


def said(source: str, about: str = "") -> list[str]:
    """The lines of `torch-doctor trace` for this source; with `about`, the events that contain this text, bare."""
    written = textwrap.dedent(source).lstrip("\n").encode()
    found, report = traces(Options(paths=(SCRIPT,), rules=(), overlay={SCRIPT: written}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    lines = render(found, report.sources, Look(Paint())).splitlines()
    return [_POSITION.sub("", line) for line in lines if about in line] if about else lines
