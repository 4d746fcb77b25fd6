"""Every fixture through the real scan, once: what is marked is reported, and nothing else.

What the marks say is told in `marks.py`. A known miss that is found, and a known false alarm that falls silent, fail here
until the mark is mended.
"""

from __future__ import annotations

import keyword
import os
import re
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import reports
from tests.marks import FIXTURES, Place, conditions, fixtures, marks, name_of, rules_for
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_MESSAGE = 100
SILENT = ("todo", "todo-ok", "probe", "gpu")
MEANT_RIGHT = {"todo-ok", "refuted", "probe"}
KNOWN = frozenset(name for rule in all_rules() for name in (rule.code, rule.name))
AFTER_THE_RUN = {"TDR001"}
"""Rules that speak when everything is found: reports that are kept are those from before the run."""
WITNESSES = {rule.code: rule.witness for rule in all_rules()}


def scanned(fixture: Path) -> Report:
    """The report on a copy of the fixture that lies alone, as a user's project would."""
    rules = rules_for(fixture.parent.name)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as alone:
        copy = Path(alone).resolve() / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        os.chdir(copy.parent)
        try:
            return scan(Options(paths=(copy,), rules=rules, known=KNOWN))
        finally:
            os.chdir(before)


@pytest.mark.parametrize("fixture", fixtures(), ids=name_of)
def test_what_is_marked_is_reported_and_nothing_else(fixture: Path) -> None:
    kept = None if fixture.parent.name in AFTER_THE_RUN else reports.kept(fixture)
    report = kept or scanned(fixture)
    wrong = [
        *_marks_not_met(fixture, report),
        *_name_that_misleads(fixture),
        *_manners_missing(report),
        *_names_made_up(fixture, report),
    ]
    found = [f"{finding.site} {finding.code} {finding.message}" for finding in report.findings]
    assert not wrong, "\n".join([*wrong, "", "found:", *found])


def _marks_not_met(fixture: Path, report: Report) -> Iterator[str]:
    marked: dict[str, set[Place]] = defaultdict(set)
    for kind, place in marks(fixture):
        if WITNESSES.get(place.code) != "P":  # else only a run shows it
            marked[kind if kind in SILENT else ""].add(place)
    found = {
        Place(finding.site.path, finding.site.cell or 0, finding.site.row, finding.code): finding
        for finding in report.findings
    }
    needed = {place: finding.condition.replace("`", "") for place, finding in found.items() if finding.condition}
    stated = conditions(fixture)
    for place in sorted(needed.keys() | stated.keys() & found.keys()):
        if needed.get(place) != stated.get(place):
            yield f"{place} needs {needed.get(place) or 'nothing'}, and not {stated.get(place) or 'nothing'}"
    yield from (f"error: {error}" for error in report.errors)
    yield from (f"{place} is reported now: drop `todo`" for place in sorted(marked["todo"] & found.keys()))
    yield from (f"{place} is silent now: drop `todo-ok`" for place in sorted(marked["todo-ok"] - found.keys()))
    yield from (f"missed: {place}" for place in sorted(marked[""] - found.keys()))
    yield from (
        f"false alarm: {place}" for place in sorted(found.keys() - marked[""] - marked["todo"] - marked["todo-ok"])
    )


def _name_that_misleads(fixture: Path) -> Iterator[str]:
    """What the name of a fixture promises and its marks do not hold."""
    if fixture.parent.name in ("whole", "rivals"):
        return
    kinds = {kind for kind, _ in marks(fixture)}
    codes = {place.code for kind, place in marks(fixture) if kind not in MEANT_RIGHT}
    shown_by_runs = {place.code for kind, place in marks(fixture) if kind == "probe"}
    if ".fixed" in fixture.name:
        if not kinds <= MEANT_RIGHT:
            yield "it is called fixed, and a bug is marked in it"
        if not (fixture.parent / fixture.name.replace(".fixed", "")).exists():
            yield "there is no fixture that it is the fixed form of"
    elif fixture.name.startswith("ok_"):
        if fixture.parent.name in codes:
            yield f"it is called ok, and {fixture.parent.name} is marked in it"
    elif not fixture.name.startswith("bad_"):
        yield "its name begins neither with bad_ nor with ok_"
    elif fixture.parent.name not in codes | shown_by_runs:
        yield f"it is called bad, and {fixture.parent.name} is not marked in it"


def _manners_missing(report: Report) -> Iterator[str]:
    """What is wrong with the form of findings: long messages, no help, trails that lead nowhere."""
    for finding in report.findings:
        told = f"{finding.site} {finding.code}"
        if not 0 < len(finding.message) <= LONGEST_MESSAGE:
            yield f"{told}: the message has {len(finding.message)} characters"
        if finding.message.endswith(".") or "\n" in finding.message:
            yield f"{told}: the message is more than one line without a full stop"
        if not finding.help:
            yield f"{told}: no help"
        for step in finding.trail:
            if not step.note:
                yield f"{told}: a step of the trail has no note"
            source = report.sources.get(step.site.path)
            if source is None or source.row_of(step.site) not in source.row_range(step.site):
                yield f"{told}: the trail leads to {step.site}, which is not there"


IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
WORDS = """
torch nn functional optim amp cuda distributed backends cudnn torchvision transforms v2 np random copy Module F
backward step zero_grad no_grad inference_mode autograd grad requires_grad requires_grad_ unscale_ clip_grad_norm_
train eval training forward super __init__ item detach to cpu float long bool squeeze argmax mean sum clone
softplus NLLLoss CrossEntropyLoss BCEWithLogitsLoss logsigmoid log_softmax softmax sigmoid reduction batchmean dim ignore_index
batch_first transpose view
ModuleList ModuleDict ParameterList ParameterDict Parameter register_buffer Dropout inplace
state_dict load_state_dict deepcopy load save map_location weights_only set_epoch
shuffle drop_last num_workers pin_memory non_blocking persistent_workers worker_init_fn
default_rng initial_seed manual_seed from_numpy tensor ToDtype float32 scale bfloat16 GradScaler
synchronize get_rank isfinite save_for_backward gradcheck device schedule benchmark deterministic key_padding_mask
DistributedDataParallel find_unused_parameters set_device SyncBatchNorm convert_sync_batchnorm
"""
TORCH = frozenset(WORDS.split())
"""What messages and remedies may name although the script does not: the API of torch, and modules of which it is part."""
API = {"TDR001", "TDR807", "TDR813"}
"""Rules that name successors, of which there is a table, or rules."""


def _names_made_up(fixture: Path, report: Report) -> Iterator[str]:
    """Names in backticks that are neither the script's nor torch's."""
    files = [path for path in fixture.rglob("*") if path.is_file()] if fixture.is_dir() else [fixture]
    known = TORCH.union(*(IDENTIFIER.findall(path.read_text(errors="replace")) for path in files))
    for finding in report.findings:
        for quoted in re.findall(r"`([^`]*)`", f"{finding.message} {finding.help}" * (finding.code not in API)):
            words = {word for part in re.split(r"\w*…\w*", quoted) for word in IDENTIFIER.findall(part)}
            if unknown := sorted(word for word in words - known if not keyword.iskeyword(word)):
                yield f"{finding.site} {finding.code} names {', '.join(unknown)} in `{quoted}`, which the script does not"


@pytest.mark.parametrize(
    ("name", "bytes_in_it"),
    [
        ("ok_windows_line_ends.py", b"\r\n"),
        ("ok_byte_order_mark.py", b"\xef\xbb\xbf"),
        ("ok_latin1_cookie.py", b"\xfc"),
        ("bad_latin1_without_cookie.py", b"\xe9"),
        ("bad_tabs_and_spaces.py", b"\t"),
    ],
)
def test_a_fixture_about_bytes_still_has_them(name: str, bytes_in_it: bytes) -> None:
    assert bytes_in_it in (FIXTURES / "TDR000" / name).read_bytes()
