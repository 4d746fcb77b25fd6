"""A scan takes from the last one what still holds, and tells the same as one that begins anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from torch_doctor import cache
from torch_doctor.cache import FOLDER, Storage
from torch_doctor.cli.fixing import with_proposals
from torch_doctor.rule import Fix, all_rules
from torch_doctor.scan import Environment, Options, Report, examining, scan
from torch_doctor.scan.proposals import Proposals
from torch_doctor.static import lowering

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

TRAIN = """
import torch
from torch import nn
from parts import build, fit

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
fit(model, optimizer)
"""
PARTS = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1))

def fit(model, optimizer):
    for _ in range(10):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
        loss.backward()
        optimizer.step()
"""
ALONE = """
import torch

def score(model, loader):
    model.eval()
    return sum(model(x).mean() for x in loader)

def restore(path):
    return torch.load(path, weights_only=False)
"""


class Looked:
    """Which files were examined, scan by scan."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def take(self) -> list[str]:
        files, self.files = sorted(self.files), []
        return files


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    found = Looked()
    inner = examining.Examiner.file

    def file(examiner: Any, path: Path, before: Any) -> Any:
        found.files.append(path.name)
        return inner(examiner, path, before)

    monkeypatch.setattr(examining.Examiner, "file", file)
    return found


@pytest.fixture
def project(write: Callable[..., Path], folder: Path) -> Path:
    write(".git/HEAD", "")
    write("train.py", TRAIN)
    write("parts.py", PARTS)
    write("alone.py", ALONE)
    write("other.py", "import torch\n")
    return folder


def remembered(folder: Path, kept: Path | None = None, **options: Any) -> Report:
    """A scan with a cache, which tells what one without it tells."""
    plain = Options(paths=(folder,), rules=all_rules(), jobs=1, **options)
    anew = scan(plain)
    report = scan(Options(paths=(folder,), rules=all_rules(), jobs=1, cache=kept or folder / FOLDER, **options))
    told, meant = (
        # What findings have in common is told by numbers, which are others in every scan.
        ([replace(finding, cause="") for finding in each.findings], each.errors, each.warnings, each.files)
        for each in (report, anew)
    )
    assert told == meant
    assert {name: file.text for name, file in report.sources.items()} == {
        name: file.text for name, file in anew.sources.items()
    }
    return report


def again(folder: Path, looked: Looked, kept: Path | None = None, **options: Any) -> list[str]:
    """The files that a scan with a cache has to examine."""
    looked.take()
    scan(Options(paths=(folder,), rules=all_rules(), jobs=1, cache=kept or folder / FOLDER, **options))
    examined = looked.take()
    remembered(folder, kept, **options)
    return examined


def test_what_has_not_changed_is_not_looked_at_again(project: Path, looked: Looked) -> None:
    assert again(project, looked) == ["alone.py", "other.py", "parts.py", "train.py"]
    assert again(project, looked) == []
    for name in ("train.py", "parts.py"):
        os.utime(project / name)  # another time, the same text
    assert again(project, looked) == []


def test_a_file_that_changes_costs_itself_and_those_that_import_it(
    project: Path, looked: Looked, write: Callable[..., Path]
) -> None:
    again(project, looked)
    write("other.py", "import torch\nx = 1\n")
    assert again(project, looked) == ["other.py"]
    write("parts.py", PARTS.replace("loss.backward()", "optimizer.zero_grad(); loss.backward()"))
    assert again(project, looked) == ["parts.py", "train.py"]
    write("train.py", TRAIN.replace("0.1", "0.2"))
    assert again(project, looked) == ["train.py"]
    write("train.py", TRAIN.replace("fit(model, optimizer)", ""))
    assert again(project, looked) == ["parts.py", "train.py"]  # nobody calls `fit` any more


def test_a_file_that_would_now_be_imported_counts(project: Path, looked: Looked, write: Callable[..., Path]) -> None:
    again(project, looked)
    write("parts/__init__.py", PARTS.replace("loss.backward()", "optimizer.zero_grad(); loss.backward()"))
    assert "train.py" in again(project, looked)
    shutil.rmtree(project / "parts")
    assert "train.py" in again(project, looked)
    (project / "parts.py").unlink()
    assert "train.py" in again(project, looked)


def test_a_folder_that_is_a_package_from_now_on_counts(
    project: Path, looked: Looked, write: Callable[..., Path]
) -> None:
    write("train.py", TRAIN + "from deep import part\n")
    (project / "deep").mkdir()
    again(project, looked)
    assert again(project, looked) == []
    write("deep/part.py", ALONE)
    assert again(project, looked) == ["part.py", "train.py"]


@pytest.mark.parametrize(
    ("importing", "part"),
    [
        ("import outer.inner.part", "outer/inner/part.py"),
        ("from outer.inner import part", "outer/inner/part.py"),
        ("from outer import part", "src/outer/part.py"),
        ("from outer import part", "outer.py"),
    ],
)
@pytest.mark.parametrize("there", [False, True])
def test_parts_of_folders_count_when_they_come_and_go(
    project: Path, looked: Looked, write: Callable[..., Path], importing: str, part: str, there: bool
) -> None:
    write("train.py", TRAIN + importing + "\n")
    if there:
        (project / part).parent.mkdir(parents=True, exist_ok=True)
    again(project, looked)
    assert again(project, looked) == []
    write(part, ALONE)
    assert "train.py" in again(project, looked)
    (project / part).unlink()
    assert "train.py" in again(project, looked)


def test_a_caller_counts(project: Path, looked: Looked, write: Callable[..., Path]) -> None:
    kept, path = project / FOLDER, project / "alone.py"
    assert again(path, looked, kept) == ["alone.py"]
    assert again(path, looked, kept) == []
    caller = write("scripts/run.py", "import torch\nimport alone\nalone.score(torch.nn.Linear(1, 1), [])\n")
    assert again(path, looked, kept) == ["alone.py"]
    assert again(path, looked, kept) == []
    caller.unlink()
    assert again(path, looked, kept) == ["alone.py"]


def test_a_caller_that_nobody_asked_about_counts(project: Path, looked: Looked, write: Callable[..., Path]) -> None:
    write("work/alone.py", ALONE)
    assert again(project / "work", looked) == ["alone.py"]
    assert again(project / "work", looked) == []
    path = write("run.py", "import torch\nfrom work.alone import score\nscore(torch.nn.Linear(1, 1), [])\n")
    assert again(project / "work", looked) == ["alone.py"]
    assert again(project / "work", looked) == []
    path.write_text(path.read_text().replace("[]", "[torch.ones(1)]"))
    assert again(project / "work", looked) == ["alone.py"]
    write("elsewhere.py", "import torch\nprint(torch.ones(1))\n")
    assert again(project / "work", looked) == []


def test_the_pinned_torch_counts(project: Path, write: Callable[..., Path]) -> None:
    write("alone.py", "import torch\n\ndef restore(path):\n    return torch.load(path)\n")
    write("requirements.txt", "torch==2.1\n")
    old = {finding.code for finding in remembered(project).findings}
    write("requirements.txt", "torch==2.7\n")
    new = {finding.code for finding in remembered(project).findings}
    assert old - new
    write("pyproject.toml", "[project]\nname='x'\nversion='1'\ndependencies=['torch==2.1']\n")
    remembered(project)


def test_what_git_ignores_counts(project: Path, looked: Looked, write: Callable[..., Path]) -> None:
    again(project, looked)
    write(".gitignore", "alone.py\n")
    assert {finding.site.path for finding in remembered(project).findings} == {"parts.py"}
    write(".gitignore", "")
    assert {finding.site.path for finding in remembered(project).findings} == {"parts.py", "alone.py"}


def test_an_installed_library_counts(
    project: Path, looked: Looked, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"somelib": "1.0"}
    monkeypatch.setattr(
        "torch_doctor.static.installed.environment.Installed.version",
        lambda _, package: versions.get(package, "absent"),
    )
    environment = Environment()
    write("other.py", "import torch, somelib\nmodel = somelib.Model()\nmodel(torch.ones(1))\n")
    again(project, looked, environment=environment)
    assert again(project, looked, environment=environment) == []
    versions["somelib"] = "2.0"
    assert again(project, looked, environment=environment) == ["other.py"]


def test_the_settings_and_the_code_count(project: Path, looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    again(project, looked)
    everything = again(project, looked, respect_gitignore=False)
    assert everything == ["alone.py", "other.py", "parts.py", "train.py"]
    few = tuple(rule for rule in all_rules() if rule.code == "TDR101")
    report = scan(Options(paths=(project,), rules=few, cache=project / FOLDER))
    assert {finding.code for finding in report.findings} == {"TDR101"}
    assert again(project, looked) == []
    monkeypatch.setattr("torch_doctor.scan.remembering.of_code", lambda _: b"another version")
    assert again(project, looked) == everything


def test_a_package_of_rules_is_known_by_its_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "some_rules").mkdir()
    (folder / "some_rules/__init__.py").write_text("")
    __import__("some_rules")
    own, first = cache.of_packages([]), cache.of_packages(["some_rules"])
    assert own != first
    assert cache.of_packages(["some_rules"]) == first
    (folder / "some_rules/rule.py").write_text("x = 1\n")
    second = cache.of_packages(["some_rules"])
    assert second != first
    (folder / "some_rules/.#rule.py").symlink_to("somebody@somewhere.42")  # as Emacs locks what it edits
    assert cache.of_packages(["some_rules"]) != second


def test_a_name_that_somebody_asks_for_counts(project: Path, looked: Looked, write: Callable[..., Path]) -> None:
    layer = (
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.spare = nn.Linear(2, 2)\n        self.head = nn.Linear(2, 2)\n\n"
        "    def forward(self, x):\n        return self.head(x)\n\nNet()(torch.ones(2))\n"
    )
    write("other.py", layer)
    again(project, looked)
    assert "TDR310" in {finding.code for finding in remembered(project).findings}
    write("alone.py", ALONE + "\ndef peek(net):\n    return net.spare\n")
    assert again(project, looked) == ["alone.py", "other.py"]
    assert "TDR310" not in {finding.code for finding in remembered(project).findings}


def test_what_failed_is_not_remembered(project: Path, looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = next(rule for rule in all_rules() if rule.code == "TDR101")
    inner = type(rule).check

    def check(rule: Any, trace: Any) -> Any:
        if trace.path == "train.py":
            message = "boom"
            raise RuntimeError(message)
        return inner(rule, trace)

    with monkeypatch.context() as patch:
        patch.setattr(type(rule), "check", check)
        report = scan(Options(paths=(project,), rules=all_rules(), jobs=1, cache=project / FOLDER))
        assert len(report.errors) == 1
    assert again(project, looked) == ["train.py"]


DEEP = "def f0(x):\n    return x\n" + "".join(
    f"def f{n}(x):\n    x = f{n - 1}(f{n - 1}(x))\n    return f{n - 1}(x)\n" for n in range(1, 12)
)
MANY = "".join(f"def first{n}(model):\n    return f11(model)\n" for n in range(9))
LOOP = """
import torch
from torch import nn

{}
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data):
    loss = nn.functional.cross_entropy({}, y)
    loss.backward()
    optimizer.step()
"""
LIMITS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a call": ("share of the step limit", LOOP.format(DEEP, "model(f11(x))"), {}),
    "the script": ("step", LOOP.format("", "model(x)"), {"entry_points.STEPS_TRAINING": (10, 0)}),
    "the file": ("step limit", LOOP.format(DEEP + MANY, "model(x)"), {"task.STEPS_FILE": 500}),
    "an unknown model": ("unresolved training loop", LOOP.format("import nets", "nets.get()(x)"), {}),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_what_a_limit_ended_is_remembered_with_the_reason(
    limit: str,
    project: Path,
    looked: Looked,
    run: Callable[..., Outcome],
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason, text, steps = LIMITS[limit]
    for name, number in steps.items():
        monkeypatch.setattr(f"torch_doctor.static.{name}", number)
    write("train.py", text)
    outputs = [word for name in ("json", "gitlab", "sarif") for word in ("--output-format", f"{name}:{name}.out")]

    def told(*options: str) -> tuple[str, str, list[str]]:
        done = run("scan", "--isolated", "-j1", "--output-format", "full", *outputs, *options)
        return done.out, done.err, [path.read_text() for path in sorted(project.glob("*.out"))]

    anew, first = told("--no-cache"), told()
    assert any(line.startswith("warning: ") and reason in line for line in anew[1].splitlines())
    looked.take()
    second = told()
    assert looked.take() == []
    write("other.py", "import torch\nx = 1\n")
    third = told()
    assert looked.take() == ["other.py"]
    assert anew == first == second == third


def test_what_the_time_limit_ended_is_not_remembered(
    project: Path, looked: Looked, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", f"{TRAIN}\nslow = 1\n")
    inner = lowering.lower

    def lower(tree: Any, text: str, package: str) -> Any:
        while "slow" in text:
            pass
        return inner(tree, text, package)

    with monkeypatch.context() as patch:
        patch.setattr("torch_doctor.static.imports.lower", lower)
        patch.setattr("torch_doctor.static.budget.SECONDS", 0.3)
        report = scan(Options(paths=(project,), rules=all_rules(), jobs=1, cache=project / FOLDER))
        assert [each.reason for each in report.incomplete] == [
            "the analysis takes more than 0.3 seconds: findings may be incomplete"
        ]
    assert "train.py" in again(project, looked)


def test_trouble_is_told_in_one_line(project: Path, run: Callable[..., Outcome]) -> None:
    first = run("scan", "--isolated", "--output-format", "concise")
    (project / FOLDER / "scans.sqlite3").write_bytes(b"nothing that one could read")
    second = run("scan", "--isolated", "--output-format", "concise")
    advice = "remove it with `torch-doctor clean`, or disable it with `--no-cache`"
    assert second.out == first.out
    told = [line for line in second.err.splitlines() if line not in first.err.splitlines()]
    assert told == [f"warning: the cache in {project / FOLDER} is not used (file is not a database): {advice}"]
    assert run("clean").err == f"Removed {project / FOLDER}\n"
    assert run("clean").err == f"No cache at {project / FOLDER}\n"
    assert run("scan", "--isolated", "--no-cache").status == 1
    assert not (project / FOLDER).exists()
    assert run("scan", "--isolated", "--cache-dir", "kept").status == 1
    assert (project / "kept/scans.sqlite3").exists()
    assert run("clean", "--cache-dir", "kept").status == 0
    assert not (project / "kept").exists()


def test_a_copied_cache_holds_where_the_files_are_the_same(
    project: Path, looked: Looked, tmp_path_factory: pytest.TempPathFactory
) -> None:
    again(project, looked)
    copy = tmp_path_factory.mktemp("kept") / FOLDER
    shutil.copytree(project / FOLDER, copy)
    texts = {path: path.read_text() for path in project.glob("*.py")}
    shutil.rmtree(project / FOLDER)
    for path, text in texts.items():
        path.unlink()
        path.write_text(text)
    shutil.copytree(copy, project / FOLDER)
    assert again(project, looked) == []


LINES = (
    "import parts", "import alone", "import other", "import torch", "from parts import *", "from parts import fit",
    "alone.score(model, loader)", "parts.fit(model, optimizer)", "def fit(model, optimizer): optimizer.step()",
    "def build(): return torch.nn.Linear(2, 2)", "torch.save(model, 'x.pt')", "model = build()", "import sys; sys.path.append('x')",
    "class Net(torch.nn.Module): spare = 1", "x = torch.load('x.pt')", "import missing", "def score(a, b): b.backward()", "(",
)  # fmt: skip
NAMES = ("train.py", "parts.py", "alone.py", "other.py", "x/parts.py", "x/__init__.py", "missing.py")


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(LINES), max_size=3), st.booleans()),
        min_size=1,
        max_size=4,
    )
)
def test_after_any_edits_it_tells_what_a_new_scan_tells(
    project: Path, edits: list[tuple[str, list[str], bool]]
) -> None:
    for name, text in (("train.py", TRAIN), ("parts.py", PARTS), ("alone.py", ALONE), ("other.py", "import torch\n")):
        (project / name).write_text(text)
    shutil.rmtree(project / "x", ignore_errors=True)
    (project / "missing.py").unlink(missing_ok=True)
    remembered(project)
    for name, lines, gone in edits:
        path = project / name
        if gone:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            text = path.read_text() if path.exists() else ""
            path.write_text(text + "\n".join(lines) + "\n")
        remembered(project)


AGAIN = """
import sys
from torch_doctor.cli import run
run(["scan", "train.py"])
print(len(sys.modules), *({"libcst", "torch_doctor.static.run", "astroid"} & set(sys.modules)), file=sys.stderr)
"""


def test_what_has_not_changed_is_shown_with_its_fixes_again_and_nothing_is_imported_for_it(
    folder: Path, write: Callable[..., Path]
) -> None:
    write("train.py", TRAIN.replace("from parts import build, fit\n", PARTS))

    def shown() -> tuple[str, int, list[str]]:
        done = subprocess.run([sys.executable, "-c", AGAIN], cwd=folder, capture_output=True, text=True, check=True)
        many, *heavy = done.stderr.splitlines()[-1].split()
        return done.stdout, int(many), sorted(heavy)

    first, second = shown(), shown()
    assert first[2] == ["libcst", "torch_doctor.static.run"]
    assert second[2] == []
    assert second[1] < first[1] / 2
    assert first[0] == second[0]
    assert "optimizer.zero_grad()" in first[0]


@pytest.mark.parametrize("breaks", ["text", "entry", "options", "unfixable"])
def test_fixes_are_worked_out_anew_where_they_may_be_others(
    project: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    options = Options(paths=(project,), rules=tuple(all_rules()), cache=project / FOLDER)
    with_proposals(scan(options), options)
    monkeypatch.setattr(Proposals, "put", lambda *_: None)
    assert Proposals(scan(options), options).get() == with_proposals(scan(options), options).findings
    if breaks == "text":
        write("parts.py", PARTS.replace("optimizer", "adam"))
    elif breaks == "options":
        options = replace(options, rules=tuple(rule for rule in all_rules() if rule.code != "TDR201"))
    elif breaks == "unfixable":
        mended = next(rule for rule in options.rules if rule.fix is not Fix.NONE)
        monkeypatch.setattr(mended, "fix", Fix.NONE)
    else:
        monkeypatch.setattr(Storage, "get", lambda *_: b"damaged")
    assert Proposals(scan(options), options).get() is None
