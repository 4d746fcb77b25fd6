"""Every fixture is run under the probe: it confirms what is marked, and nothing else.

What the marks say is told in `tests/marks.py`.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
import shutil
import tempfile
from collections import defaultdict
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
import torch

from tests.marks import Place, files_of, fixtures, marks, name_of, rules_for
from tests.probe.farm import farm as farming
from torch_doctor import probe as probing
from torch_doctor.probe import judge
from torch_doctor.probe.launch import Launched, Limits, launched
from torch_doctor.probe.protocol import Reader
from torch_doctor.probing import Probing
from torch_doctor.rule import Finding, Verdict, all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60.0
PROBED = fixtures()
WITNESSES = {rule.code: rule.witness for rule in all_rules()}


class Probed(NamedTuple):
    """What came of the probes of one fixture: `runs` are the lines of the agent, `folder` what their paths are in."""

    findings: list[Finding]
    said: list[str]
    runs: list[list[bytes]]
    folder: Path


def scripts(fixture: Path) -> list[Path]:
    """The files that somebody would run: those that no other file of the fixture imports."""
    files = files_of(fixture)
    imported = {name for path in files for name in _imports(path)}
    alone = [path for path in files if path.stem not in imported and path.stem != "__init__"]
    return alone or files


def _imports(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").rpartition(".")[2]
            yield from (alias.name for alias in node.names)


def probe(fixture: Path) -> Probed:
    """Scans and runs a copy of the fixture that lies alone, as a user's project would."""
    rules = rules_for(fixture.parent.name)
    with tempfile.TemporaryDirectory() as alone:
        copy = Path(alone).resolve() / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        os.chdir(copy.parent)
        runs: list[list[bytes]] = []

        def listened(python: Path, plan: dict[str, object], limits: Limits) -> Launched:
            done = launched(python, plan, limits)
            runs.append(done.lines)
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(probing, "launched", listened)
            report = scan(Options(paths=tuple(scripts(copy)), rules=rules, probe=Probing(seconds=SECONDS)))
        os.chdir("/")
        return Probed(report.findings, report.errors + report.warnings, runs, copy.parent)


@pytest.fixture(scope="session")
def probed(request: pytest.FixtureRequest, farm_address: str) -> Iterator[dict[Path, Future[Probed]]]:
    """The probes of all fixtures that this session has tests of, under way on all cores."""
    tests = (item for item in request.session.items if isinstance(item, pytest.Function))
    chosen = {cast("Path", item.callspec.params["fixture"]) for item in tests if "probed" in item.fixturenames}
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), spawned, farming.use, (farm_address,)) as pool:
        yield {fixture: pool.submit(probe, fixture) for fixture in sorted(chosen)}
        pool.shutdown(cancel_futures=True)


OPEN: frozenset[str] = frozenset()
"""Known to be wrong; one that comes right fails until it is taken out here."""

every_fixture = pytest.mark.parametrize(
    "fixture",
    [
        pytest.param(fixture, marks=[pytest.mark.xfail(raises=AssertionError)] * (name_of(fixture) in OPEN))
        for fixture in PROBED
    ],
    ids=map(name_of, PROBED),
)


@every_fixture
def test_the_run_confirms_what_is_marked_and_nothing_else(fixture: Path, probed: dict[Path, Future[Probed]]) -> None:
    if not torch.cuda.is_available() and any(kind == "gpu" for kind, _ in marks(fixture)):
        pytest.skip("only a machine with a GPU shows it")
    findings, said, *_ = probed[fixture].result()
    told = [_told(finding) for finding in findings]
    verdicts: dict[Place, set[Verdict | None]] = defaultdict(set)
    for finding in findings:
        site = finding.site
        verdicts[Place(site.path, site.cell or 0, site.row, finding.code)].add(finding.verdict)
    marked: set[Place] = set()
    for kind, place in marks(fixture):
        marked.add(place)
        if kind == "todo-ok":
            assert Verdict.CONFIRMED not in verdicts[place], f"{place} is right; {told}, {said}"
        elif kind != "todo":
            assert verdicts[place] == {_meant(kind, place)}, f"{place} {kind}: {told}, {said}"
    wrong = {place for place, given in verdicts.items() if given - {Verdict.REFUTED}} - marked
    assert not wrong, f"{', '.join(map(str, sorted(wrong)))}: {told}, {said}"


@every_fixture
def test_a_verdict_comes_with_its_number(fixture: Path, probed: dict[Path, Future[Probed]]) -> None:
    for finding in probed[fixture].result().findings:
        numbers = [evidence.value for evidence in finding.evidence if evidence.value is not None]
        if finding.verdict in {Verdict.CONFIRMED, Verdict.REFUTED}:
            assert numbers, _told(finding)
        elif finding.verdict is Verdict.UNDECIDED:
            assert finding.evidence, "the reason is not said"


BUGGY = [fixture for fixture in PROBED if fixture.name.startswith("bad_") and fixture.suffix != ".ipynb"]
CUTS = 16


@pytest.mark.parametrize("fixture", [fixture for fixture in BUGGY if ".fixed" not in fixture.name], ids=name_of)
def test_a_run_that_ends_earlier_refutes_no_bug(fixture: Path, probed: dict[Path, Future[Probed]]) -> None:
    findings, _, runs, folder = probed[fixture].result()
    bugs = {place for kind, place in marks(fixture) if kind in {"", "not-reached", "undecided"}}
    suspected = [finding for finding in findings if finding.witness == "static"]
    for lines in runs:
        for cut in range(len(lines), 0, -max(1, len(lines) // CUTS)):
            reader = Reader(fixture.name, lambda path: Path(path).relative_to(folder).as_posix())
            trace = reader.read(lines[:cut])
            for finding in judge(suspected, trace, all_rules()).judged:
                place = Place(finding.site.path, finding.site.cell or 0, finding.site.row, finding.code)
                refuted = finding.verdict is Verdict.REFUTED
                assert not (refuted and place in bugs), f"{_told(finding)} after {cut} of {len(lines)} lines"


RIGHT = [fixture for fixture in PROBED if not fixture.name.startswith("bad_") or ".fixed" in fixture.name]
ENDS_EARLY = {
    "TDR207/ok_labels_of_image_folders.py": "No module named 'torchvision'",
    "TDR207/ok_range_only_a_run_knows.py": "IndexError: Target 5 is out of bounds",
    "TDR302/ok_base_of_a_library.py": "No module named 'sklearn'",
    "TDR302/ok_data_module.py": "No module named 'lightning'",
    "TDR402/ok_deepspeed_engine.py": "No module named 'deepspeed'",
    "TDR502/bad_gan_logs.fixed.py": "KeyError: 10",  # it reads what a pass writes that the probe leaves out
    "TDR706/ok_own_transforms_in_compose.py": "No module named 'torchvision'",
    "TDR706/ok_vision.py": "No module named 'torchvision'",
    "TDR707/ok_each_sample_alone.py": "No module named 'sklearn'",
    "TDR707/ok_fitted_on_training_rows.py": "No module named 'sklearn'",
    "TDR707/ok_nothing_is_split.py": "No module named 'sklearn'",
    "TDR707/ok_series_split_first.py": "No module named 'sklearn'",
    "TDR708/ok_two_folders.py": "No module named 'torchvision'",
    "TDR904/ok_apex.py": "No module named 'apex'",
    "whole/accelerate_clean.py": "No module named 'accelerate'",
    "whole/lightning_clean.py": "No module named 'pytorch_lightning'",
}


@pytest.mark.parametrize("fixture", RIGHT, ids=name_of)
def test_a_right_script_comes_to_its_end(fixture: Path, probed: dict[Path, Future[Probed]]) -> None:
    said = "\n".join(probed[fixture].result().said)
    if why := ENDS_EARLY.get(name_of(fixture)):
        assert why in said
    else:
        assert said == "" or fixture.parent.name == "TDR000"


def _meant(kind: str, place: Place) -> Verdict | None:
    if "P" not in WITNESSES[place.code]:
        return None
    return Verdict.CONFIRMED if kind in ("", "probe", "gpu") else Verdict(kind)


def _told(finding: Finding) -> str:
    verdict = finding.verdict.value if finding.verdict else "no verdict"
    why = "; ".join(evidence.claim for evidence in finding.evidence)
    return f"{finding.site} {finding.code} by the {finding.witness}: {verdict}{f' ({why})' if why else ''}"
