"""Every fixture that a rule can mend becomes its fixed twin, byte for byte."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import sweep
from tests.marks import rules_for
from torch_doctor.cli.scan import command
from torch_doctor.mending import with_proposals, without_harm
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

ROOT = Path(__file__).parents[2]
MARKER = re.compile(rb"[ \t]*# (?:[a-z-]+ )*TDR\d{3}(?:[ ,].*)?$", re.MULTILINE)


def twin(bad: Path) -> Path:
    return bad.with_name(f"{bad.stem}.fixed{bad.suffix}")


BAD = [
    bad
    for bad in sorted((ROOT / "fixtures").glob("TDR*/bad_*"))
    if not bad.stem.endswith(".fixed") and twin(bad).exists()
]
ONE_IN = 1 if sweep.WHOLE else 8
WITHOUT_TWIN = [
    bad for bad in sorted((ROOT / "fixtures").glob("*/bad_*")) if ".fixed" not in bad.stem and not twin(bad).exists()
][::ONE_IN]
"""Other fixtures, of which many have fixes: a part of them, in which all rules are selected."""
LEFT = [
    line.split(maxsplit=1)
    for line in (Path(__file__).parent / "not_mended.txt").read_text(encoding="utf-8").splitlines()
]
NOT_MENDED = frozenset(line[0] for line in LEFT)
"""Fixtures for which a rule offers no fix, rather than a wrong one; the file says why no edit there can be right."""

ONLY_PROBED = frozenset(rule.code for rule in all_rules() if rule.witness == "P")
"""Rules whose findings, and so whose fixes, take a run."""

LEAST_REASON = 40
"""Characters that say why something is as it is."""

WITH_OTHERS = {"TDR001": "TDR001,TDR101,TDR104,TDR201,TDR902"}
"""What has to be selected beside a rule that speaks of what others find; their own, unsafe, fixes are not made."""


def without_markers(source: Path, target: Path) -> Path:
    """A copy of a script or a folder of them without the comments that say what is expected."""
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        target.mkdir()
        shutil.copy(source, target / source.name)
    for file in target.rglob("*.py"):
        file.write_bytes(MARKER.sub(b"", file.read_bytes()))
    return target


def marked(bad: Path) -> str:
    """The codes of the bugs that a fixture has."""
    marks = [
        mark for file in (bad.rglob("*.py") if bad.is_dir() else [bad]) for mark in MARKER.findall(file.read_bytes())
    ]
    return ",".join(
        sorted({bad.parent.name, *(code.decode() for mark in marks for code in re.findall(rb"TDR\d{3}", mark))})
    )


def mended(bad: Path, folder: Path, codes: str = "") -> str:
    """What `--fix` makes of a fixture, and what it says; `codes` are those that are selected, if not its own alone."""
    code = bad.parent.name
    asked = ["--select", WITH_OTHERS[code]] if code in WITH_OTHERS else ["--select", codes or code, "--unsafe-fixes"]
    paths = [folder]
    if code in ONLY_PROBED:
        asked, paths = [*asked, "--probe"], sorted(folder.glob("*.py"))
    arguments = [*asked, "--isolated", "--no-cache", "-j", "1", *map(str, paths)]
    result = CliRunner().invoke(command, ["--fix-only", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.py")}


def name(bad: Path) -> str:
    return f"{bad.parent.name}/{bad.stem}"


@pytest.mark.usefixtures("farm", "records")
@pytest.mark.parametrize("bad", [bad for bad in BAD if name(bad) not in NOT_MENDED], ids=name)
def test_a_fixture_becomes_its_twin(bad: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = without_markers(bad, tmp_path / "bad")
    expected = contents(without_markers(twin(bad), tmp_path / "twin"))
    if bad.is_file():
        expected = {bad.name: expected[twin(bad).name]}
    assert "not applied" not in mended(bad, folder, marked(bad))
    assert contents(folder) == expected
    assert "Fixed" not in mended(bad, folder, marked(bad))
    assert contents(folder) == expected


@pytest.mark.parametrize("bad", WITHOUT_TWIN, ids=name)
def test_all_fixes_together_are_applied_and_cause_no_finding(
    bad: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = without_markers(bad, tmp_path / "bad")
    monkeypatch.chdir(folder)
    options = Options(paths=(folder,), rules=rules_for(bad.parent.name))
    report = with_proposals(scan(options), options)
    offered = {(each.code, each.site) for each in report.findings if each.fix is not None}
    if not offered:
        return
    left, fixed, withheld = without_harm(report, options, {}, unsafe=True)
    assert not withheld
    assert not fixed.errors
    assert fixed.after != fixed.before
    for path, content in fixed.after.items():
        path.write_bytes(content)
    now = scan(options).findings
    assert [str(each.site) for each in now] == [str(each.site) for each in left.findings]
    assert not {(each.code, site) for each, site in zip(fixed.findings, fixed.moved.values(), strict=True)} & {
        (each.code, each.site) for each in now
    }
    assert len(now) <= len(report.findings) - len(offered & set(fixed.origins))


@pytest.mark.parametrize("bad", [bad for bad in BAD if name(bad) in NOT_MENDED], ids=name)
def test_what_cannot_be_mended_stays(bad: Path, tmp_path: Path) -> None:
    folder = without_markers(bad, tmp_path / "bad")
    before = contents(folder)
    mended(bad, folder)
    assert contents(folder) == before


def test_each_fixture_that_is_not_mended_has_a_reason_and_a_twin() -> None:
    assert [each for each, *reason in LEFT if len("".join(reason)) < LEAST_REASON] == []
    assert {name(bad) for bad in BAD} >= NOT_MENDED
    assert len(NOT_MENDED) == len(LEFT)
