"""An error of ours, wherever it comes up, is one line and the exit status 2; every other finding is still there."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.rule import Rule
from torch_doctor.scan import causes, examining, pipeline, silencing
from torch_doctor.scan.silencing import Silencing
from torch_doctor.scan.unfollowed import Heard
from torch_doctor.sources import project as projects
from torch_doctor.sources.project import Project
from torch_doctor.static import entry_points, imports
from torch_doctor.static.imports import Imports
from torch_doctor_rules.update.missing_zero_grad import MissingZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SCRIPT = """
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(dataset, shuffle=True):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
torch.save(model, "model.pt")  # noqa: TDR999


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
"""
BUGS = {"TDR101", "TDR601"}


def broken(real: Any, *, hit: Callable[..., bool]) -> Any:
    """The function, which fails where it is asked about what is hit."""

    def function(*args: Any, **keywords: Any) -> Any:
        if hit(*args, **keywords):
            message = "boom"
            raise RuntimeError(message)
        return real(*args, **keywords)

    return function


def is_named(*args: Any, **_: Any) -> bool:
    """Whether anything among the arguments is, or belongs to, the file `a.py`."""
    return any(
        str(
            getattr(each, "path", getattr(each, "display", getattr(getattr(each, "site", None), "path", each)))
        ).endswith("a.py")
        for each in args
    )


def has_mark(*args: Any, **_: Any) -> bool:
    """Whether the text among the arguments is that of `a.py`."""
    return any(
        b"hit" in each if isinstance(each, bytes) else "hit" in each for each in args if isinstance(each, (bytes, str))
    )


PLACES: dict[str, tuple[Any, str, Callable[..., bool], set[str]]] = {  # what of a.py is still told
    "reading": (Project, "read", is_named, set()),
    "decoding": (projects, "decode", has_mark, set()),
    "parsing": (projects, "parse", has_mark, set()),
    "lowering": (imports, "lower", has_mark, set()),
    "finding imports": (Imports, "find", is_named, set()),
    "what nobody calls": (entry_points, "in_order", lambda unit: is_named(unit.source), {"TDR101", "TDR601"}),
    "a rule": (MissingZeroGrad, "check", is_named, {"TDR601"}),
    "what is broken": (Rule, "broken", is_named, BUGS),
    "hearing": (Heard, "hear", is_named, BUGS),
    "causes": (causes, "_key", is_named, BUGS),
    "comments": (silencing, "suppressions", is_named, BUGS),
    "misspelt comments": (Silencing, "problems", is_named, BUGS),
    "silencing": (pipeline.Scan, "_is_left_out", is_named, BUGS),
    "what is out of sight": (Heard, "explain", is_named, BUGS),
    "what is not valid": (examining.Examiner, "_unreadable", is_named, BUGS),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_error_costs_what_it_hits_and_nothing_else(
    place: str, write: Callable[..., Path], run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, hit, kept = PLACES[place]
    write("a.py", SCRIPT + "\nimport hit\n")
    write("b.py", SCRIPT)
    monkeypatch.setattr(owner, name, broken(getattr(owner, name), hit=hit))
    outcome = run("scan", "--isolated", "--output-format", "json", ".")
    found = {path: {each["code"] for each in outcome.json if each["filename"] == path} for path in ("a.py", "b.py")}
    assert found["b.py"] >= BUGS
    assert found["a.py"] & BUGS == kept
    errors = [line for line in outcome.err.splitlines() if line.startswith("error:")]
    assert len(errors) == (2 if place == "what is broken" else 1), outcome.err  # of two rules
    assert all("internal error while scanning" in line and "RuntimeError: boom" in line for line in errors)
    assert place == "causes" or all("a.py" in line for line in errors)
    assert "Traceback" not in outcome.err
    assert outcome.status == 2


FORMATS = {
    "full": "torch_doctor.report.full.frame",
    "short": "torch_doctor.report.short.level_and_code",
    "concise": "torch_doctor.report.concise.headline",
    "json": "torch_doctor.report.records.record",
    "json-lines": "torch_doctor.report.records.record",
    "grouped": "torch_doctor.report.grouped._line",
    "github": "torch_doctor.report.github._command",
    "gitlab": "torch_doctor.report.gitlab._issue",
    "azure": "torch_doctor.report.azure._command",
    "junit": "torch_doctor.report.junit._tell",
    "pylint": "torch_doctor.report.pylint._line",
    "rdjson": "torch_doctor.report.rdjson._diagnostic",
    "sarif": "torch_doctor.report.sarif._location",
    "markdown": "torch_doctor.report.markdown._cells",
}
TELL_ERRORS = {"junit", "sarif", "markdown"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_finding_that_cannot_be_written_is_left_out_and_the_others_are_there(
    name: str, write: Callable[..., Path], run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", SCRIPT)
    write("b.py", SCRIPT)
    whole = run("scan", "--isolated", "--output-format", name, "b.py").out
    monkeypatch.setattr(FORMATS[name], broken(_at(FORMATS[name]), hit=is_named))
    outcome = run("scan", "--isolated", "--output-format", name, "--output-format", "concise:out.txt", ".")
    if name not in TELL_ERRORS:
        assert outcome.out == whole
        assert "a.py" not in outcome.out
    assert "b.py" in outcome.out
    errors = [line for line in outcome.err.splitlines() if line.startswith("error:")]
    assert errors
    assert all(
        "internal error while scanning a.py:" in line and f"as {name}: RuntimeError: boom" in line for line in errors
    )
    assert "Traceback" not in outcome.err
    assert outcome.status == 2


def _at(path: str) -> Any:
    module, _, function = path.rpartition(".")
    return getattr(importlib.import_module(module), function)
