"""Scripts whose data is not there: what is learnt of each, and that it then runs.

The first line of a script says which lessons are needed (`# lessons: KINDS`), or on which words it fails, whatever is learnt
(`# fails: WORDS`): that is its own error, and nothing may hide it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe import Names, Outcome, Own, Request, judge, probe
from torch_doctor.rule import Verdict, all_rules
from torch_doctor.scan.keeping import KeptLessons
from torch_doctor.trace import Stepped

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPTS = sorted(Path(__file__).with_name("fixtures").glob("*.py"))
PACKAGES = ("h5py", "pandas", "scipy", "torchvision", "yaml")


@pytest.fixture(scope="module")
def own() -> Iterator[Own]:
    """Servers for all runs."""
    with contextlib.closing(Own(several=True)) as servers:
        yield servers


def _probed(script: Path, own: Own, kept: KeptLessons | None = None) -> Outcome:
    folder = script.parent
    request = Request(script=script, root=folder, cwd=folder, python=sys.executable, own=own, kept=kept)
    return probe(request, all_rules(), [], Names(lambda path: path.name, folder.joinpath, lambda site: site))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_is_learnt(script: Path, own: Own, tmp_path: Path) -> None:
    text = script.read_text(encoding="utf-8")
    for name in PACKAGES:
        if re.search(rf"(import|from) {name}\b", text) and importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    shutil.copy(script, tmp_path / "train.py")
    done = _probed(tmp_path / "train.py", own)
    word, _, wanted = text.partition("\n")[0].removeprefix("# ").partition(":")
    if word == "fails":
        assert wanted.strip() in done.ending
        assert not any("attempt 1" in note for note in done.notes), done.notes
        return
    assert done.trace is not None
    assert done.trace.run is not None
    assert len(done.trace.of(Stepped)) > 1, (done.ending, done.notes)
    told = [remark for remark in done.remarks if "needed: " in remark]
    count = len(wanted.split())
    assert len(done.trace.run.learnt) == count, done.notes
    assert bool(told) is bool(count)
    assert not [each for each in judge([], done.trace, all_rules()).new if each.verdict is Verdict.CONFIRMED]


def test_the_second_probe_begins_where_the_first_arrived(own: Own, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("fixtures") / "environment.py", tmp_path / "train.py")
    kept = KeptLessons(tmp_path / "cache")
    first, second = (_probed(tmp_path / "train.py", own, kept) for _ in range(2))
    assert len(first.notes) == 3
    assert second.notes == ()
    assert any("3 lessons were needed" in remark for remark in second.remarks)
    (tmp_path / "train.py").write_text((tmp_path / "train.py").read_text() + "print(1)\n")
    assert len(_probed(tmp_path / "train.py", own, kept).notes) == 3
