"""Rules are known by what they declared when they were last imported, and imported when they are used."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.cache import Storage
from torch_doctor.declared import Deferred, declarations
from torch_doctor.rule import Fix, Level, all_rules
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = "torch_doctor_rules"
RULES = Path(__file__).parents[1] / "rules" / OWN
SCRIPT = "import torch\n\ndef restore(path):\n    return torch.load(path, weights_only=False)\n"
COUNTED = """
import sys
from torch_doctor.cli import run
run(["scan", "--isolated", "--cache-dir", "cache", *sys.argv[1:]])
names = [name for name in sys.modules if name.startswith(("torch_doctor", "libcst"))]
print(len(sys.modules), *names, file=sys.stderr)
"""
MOST_MODULES = 225
"""What an unchanged scan imports; versions of Python differ in what they import themselves."""
MOST_OF_OURS = 76


def deferred() -> list[Deferred]:
    return [Deferred(OWN, each, each.level, each.fix) for each in declarations(all_rules(), OWN)]


@pytest.mark.parametrize("name", ["code", "name", "level", "witness", "fix", "meant", "__module__"])
def test_a_declaration_is_what_the_class_says(name: str) -> None:
    rules = [rule for rule in all_rules() if type(rule).__module__.startswith(f"{OWN}.")]
    assert len(rules) > 100
    assert [vars(each)[name] for each in deferred()] == [getattr(rule, name) for rule in rules]


def test_what_is_not_declared_is_asked_of_the_rule_itself() -> None:
    for each, rule in zip(deferred(), (rule for rule in all_rules() if rule.__module__.startswith(OWN)), strict=True):
        assert (each.page(), each.yields_to, each.reads()) == (rule.page(), rule.yields_to, rule.reads())
    with pytest.raises(AttributeError):
        _ = deferred()[0].nothing_of_this_name


def test_a_rule_that_is_copied_keeps_its_level_when_it_is_used() -> None:
    rule = next(each for each in deferred() if each.code == "TDR101")
    assert rule.summary()  # it is imported before it is copied
    rule.level, rule.fix = Level.ADVICE, Fix.NONE
    for other in (copy.copy(rule), pickle.loads(pickle.dumps(rule))):  # noqa: S301 - our own
        assert (other.level, other.fix, other.code) == (Level.ADVICE, Fix.NONE, "TDR101")
        assert other.finding(Site("train.py", 1, 1, 1, 2), "lost").level is Level.ADVICE


@pytest.fixture
def run(folder: Path, write: Callable[..., Path]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a scan of a script with a copy of our rules, which may be edited."""
    shutil.copytree(RULES, folder / "site" / OWN, ignore=shutil.ignore_patterns("__pycache__"))
    write("work/train.py", SCRIPT)
    importable = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")]))

    def scan(*arguments: str, path: tuple[str, ...] = ("train.py",)) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", COUNTED, "--output-format", "concise", *arguments, *path]
        environment = {**os.environ, "PYTHONPATH": importable}
        return subprocess.run(
            command, cwd=folder / "work", input="", capture_output=True, text=True, check=True, env=environment
        )

    return scan


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The modules of rules, and of libcst, that a scan imported."""
    names = done.stderr.splitlines()[-1].split()[1:]
    return {name for name in names if name.partition(".")[0] != "torch_doctor"}


def test_an_edited_rule_counts_at_once(run: Callable[..., subprocess.CompletedProcess[str]], folder: Path) -> None:
    first, second = run(), run()
    assert "TDR603" in first.stdout
    assert first.stdout == second.stdout
    assert OWN in imported(first)
    assert imported(second) == set()
    rule = folder / f"site/{OWN}/checkpoint/unsafe_load.py"
    before = rule.read_text(encoding="utf-8")
    rule.write_text(before.replace('code = "TDR603"', 'code = "TDR699"'), encoding="utf-8")
    assert "TDR699" in run().stdout
    rule.write_text(before.replace("level = Level.WARNING", "level = Level.ADVICE"), encoding="utf-8")
    assert run().stdout == ""


def test_only_the_selected_rules_are_imported_where_something_is_new(
    run: Callable[..., subprocess.CompletedProcess[str]], write: Callable[..., Path]
) -> None:
    run()
    write("work/train.py", f"{SCRIPT}\n# changed\n")
    few = imported(run("--select", "TDR603"))
    assert f"{OWN}.checkpoint.unsafe_load" in few
    assert few.isdisjoint((f"{OWN}.loss", f"{OWN}.data", f"{OWN}.device"))


def test_a_damaged_index_is_made_anew(run: Callable[..., subprocess.CompletedProcess[str]], folder: Path) -> None:
    said = run().stdout
    storage = Storage(folder / "work/cache")
    with closing(sqlite3.connect(storage.folder / "scans.sqlite3")) as connection:
        (key,) = (key for (key,) in connection.execute("SELECT key FROM entries") if key.startswith("rules "))
    storage.put({key: b"\x93nonsense"})
    assert run().stdout == said


def test_rules_that_cannot_be_imported_are_reported_until_they_can(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    rule = folder / f"site/{OWN}/checkpoint/unsafe_load.py"
    before = rule.read_text(encoding="utf-8")
    rule.write_text(f"{before}\nimport nothing_of_this_name\n", encoding="utf-8")
    assert all("`torch_doctor_rules:rules` cannot be loaded" in run().stderr for _ in range(2))
    rule.write_text(before, encoding="utf-8")
    assert "TDR603" in run().stdout


@pytest.mark.parametrize("arguments", [("nothing.py",), ("-",), ("--show-settings",), ("--no-cache",)])
def test_what_is_not_cached_leaves_no_folder(
    arguments: tuple[str, ...], run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    run(*arguments, path=())
    assert not (folder / "work/cache").exists()


def test_an_unchanged_scan_imports_little(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    run("--output-format", "full")
    done = run("--output-format", "full")
    count, *ours = done.stderr.splitlines()[-1].split()
    assert imported(done) == set()
    assert len(ours) <= MOST_OF_OURS
    assert int(count) <= MOST_MODULES
