"""From paths to findings: what is kept, in which order, and what happens when something fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.conftest import MissingZeroGrad, Seeing
from torch_doctor.rule import Level, Rule, Step
from torch_doctor.scan import FileIgnore, Follower, Options, Report, examining, scan, traces
from torch_doctor.selection import names_of
from torch_doctor.sources.ignores import Patterns
from torch_doctor.trace import GaveUp, Site, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.sources.project import Project
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static import Failure, Followed

BAD = "import torch\nloss.backward()\n"

pytestmark = pytest.mark.usefixtures("stand_ins")


@pytest.fixture
def scanned(rules: tuple[Rule, ...], folder: Path) -> Callable[..., Report]:
    def run(*paths: Path, **options: object) -> Report:
        chosen = {"rules": rules[:3], "known": frozenset(names_of(rules)), **options}
        return scan(Options(paths=paths or (folder,), **chosen))  # type: ignore[arg-type]  # each test gives the right ones

    return run


def places(report: Report) -> list[tuple[str, int, str]]:
    return [(finding.site.path, finding.site.row, finding.code) for finding in report.findings]


def test_findings_come_by_path_cell_row_column_and_code(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("b.py", "import torch\nopt.step(); loss.backward()\nloss.backward()\n")
    write("a.py", BAD)
    write("n.ipynb", ["import torch\nx = 1", "y = 2\nz.backward()", "loss.backward()"])
    report = scanned()
    assert places(report) == [
        ("a.py", 2, "TDR101"),
        ("b.py", 2, "TDR601"),
        ("b.py", 2, "TDR101"),
        ("b.py", 3, "TDR101"),
        ("n.ipynb", 2, "TDR101"),
        ("n.ipynb", 1, "TDR101"),
    ]
    assert [finding.site.cell for finding in report.findings[-2:]] == [2, 3]
    assert report.files == 3
    assert set(report.sources) == {"a.py", "b.py", "n.ipynb"}
    assert report.errors == report.warnings == []


def test_one_place_is_reported_once(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", BAD)

    class Twice(Seeing):
        def file(self, file: SourceFile, before: Followed) -> Iterator[Trace | Failure]:
            yield from super().file(file, before)
            yield from super().file(file, before)

    monkeypatch.setattr(examining, "Witness", Twice)
    assert len(scanned().findings) == 1


def test_files_that_mention_no_training_library_are_not_parsed(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("a.py", "loss.backward(\n")
    write("b.py", "print 'python 2'\n")
    report = scanned()
    assert (report.findings, report.warnings, report.files) == ([], [], 2)


def test_what_is_not_valid_is_a_finding_and_the_rest_is_still_looked_at(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("a.py", "import torch\nprint 'x'\n")
    write("b.py", b"import torch\nx = '\xff'\n")
    write("c.py", b"import torch\n\0\0")
    write("d.ipynb", "torch: not JSON")
    write("e.ipynb", ["import torch", "def f(:\n  pass", "loss.backward()"])
    write("f.py", BAD)
    write("g.py", "")
    assert places(scanned()) == [
        ("a.py", 2, "TDR000"),
        ("b.py", 2, "TDR000"),
        ("c.py", 2, "TDR000"),
        ("d.ipynb", 1, "TDR000"),
        ("e.ipynb", 1, "TDR000"),
        ("e.ipynb", 1, "TDR101"),
        ("f.py", 2, "TDR101"),
    ]


def test_a_template_is_no_python_before_its_fields_are_filled_in(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("{{ cookiecutter.name }}/model.py", "import torch\n{% if cookiecutter.head %}\nx = 1\n{% endif %}\n")
    write("{{ cookiecutter.name }}/train.py", BAD)
    report = scanned()
    assert places(report) == [("{{ cookiecutter.name }}/train.py", 2, "TDR101")]
    assert report.notes == ["{{ cookiecutter.name }}/model.py:2:2: skipped: a template: invalid syntax"]


def test_unreadable_source_is_never_passed_over_in_silence(
    write: Callable[..., Path], scanned: Callable[..., Report], rules: tuple[Rule, ...]
) -> None:
    write("a.py", "import torch\nprint 'x'\n")
    report = scanned(rules=rules[1:2])
    assert report.findings == []
    assert report.warnings == ["a.py:2:1 is not valid Python: Missing parentheses in call to 'print'"]


def test_nesting_that_the_parser_cannot_follow_is_a_note(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("a.py", "import torch\nx = " + "-" * 100_000 + "1\n")
    report = scanned()
    assert report.errors == []
    assert len(report.findings) + len(report.notes) == 1


def test_huge_files_are_skipped_with_a_warning(write: Callable[..., Path], scanned: Callable[..., Report]) -> None:
    write("a.py", "import torch\nx = [\n" + "1,\n" * 1_000_000 + "]\n")
    report = scanned()
    assert report.findings == []
    assert report.warnings == ["a.py is too large for hand-written source: skipped"]


def test_findings_in_a_file_that_was_only_reached_are_kept(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write("train.py", "import torch, model\n")
    write("model.py", BAD)
    write("gen/model.py", BAD)
    write(".gitignore", "gen/")

    class Reaching(Seeing):
        def file(self, file: SourceFile, before: Followed) -> Iterator[Trace | Failure]:
            others = [self.project.read(self.project.root / name) for name in ("model.py", "gen/model.py")]
            for each in filter(None, (file, *others)):
                yield from super().file(each, before)

    monkeypatch.setattr(examining, "Witness", Reaching)
    assert places(scanned(given)) == [("model.py", 2, "TDR101")]


def test_only_what_is_named_is_reported_or_has_its_trail_there(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write("train.py", "import torch, model, other\n")
    write("model.py", BAD)
    write("other.py", BAD)

    class Reaching(Seeing):
        def file(self, file: SourceFile, before: Followed) -> Iterator[Trace | Failure]:
            others = [self.project.read(self.project.root / name) for name in ("model.py", "other.py")]
            for each in filter(None, (file, *others)):
                yield from super().file(each, before)

    class Explaining(MissingZeroGrad):
        def check(self, trace: Trace) -> Iterator[Finding]:
            for finding in super().check(trace):
                step = Step(Site("train.py", 1, 1, 1, 2), "it is imported here")
                yield replace(finding, trail=(step,)) if finding.site.path == "model.py" else finding

    monkeypatch.setattr(examining, "Witness", Reaching)
    rules = (Explaining(),)
    assert places(scanned(given, rules=rules)) == [("model.py", 2, "TDR101"), ("other.py", 2, "TDR101")]
    assert places(scanned(given, rules=rules, named_only=True)) == [("model.py", 2, "TDR101")]
    assert places(scanned(given.parent, rules=rules, named_only=True)) == places(scanned(given, rules=rules))


def test_what_the_witness_gave_up_is_noted_once(
    write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", BAD)

    class GivingUp(Seeing):
        def file(self, file: SourceFile, before: Followed) -> Iterator[Trace | Failure]:
            for trace in super().file(file, before):
                assert isinstance(trace, Trace)
                last = trace.events[-1]
                for path in ("a.py", "a.py", "model.py"):
                    trace.add(GaveUp(site=last.site._replace(path=path), scope=last.scope, reason="`f` calls itself"))
                yield trace

    monkeypatch.setattr(examining, "Witness", GivingUp)
    assert scanned().notes == [
        "a.py:2:1: analysis stopped: `f` calls itself",
        "model.py:2:1: analysis stopped: `f` calls itself (in the run of a.py)",
    ]


def test_comments_silence(write: Callable[..., Path], scanned: Callable[..., Report]) -> None:
    write("a.py", "import torch\nloss.backward()  # noqa: TDR101\n")
    write("b.py", "import torch\n# torch-doctor: ignore[missing-zero-grad] the caller clears\nloss.backward()\n")
    write("c.ipynb", ["import torch", "loss.backward()  # noqa", "loss.backward()"])
    report = scanned()
    assert [(finding.site.path, finding.site.cell) for finding in report.findings] == [("c.ipynb", 3)]
    assert report.warnings == []


def test_comments_that_mean_nothing_are_told(write: Callable[..., Path], scanned: Callable[..., Report]) -> None:
    write("a.py", "import torch\nx = 1  # torch-doctor: ignore[missing-zero]\ny = 1  # torch-doctor: ignore\n")
    assert scanned().warnings == [
        "a.py:2:1: unknown rule `missing-zero`",
        "a.py:3:1: `torch-doctor: ignore` names no rule; write `ignore[TDR101]` or `ignore[rule-name]`",
    ]


@pytest.mark.parametrize(
    ("glob", "negated", "left"),
    [("tests/*.py", False, ["a.py"]), ("/a.py", False, ["tests/a.py"]), ("tests/", True, ["tests/a.py"])],
)
def test_rules_are_silent_in_some_files(
    folder: Path, write: Callable[..., Path], scanned: Callable[..., Report], glob: str, negated: bool, left: list[str]
) -> None:
    write("a.py", BAD)
    write("tests/a.py", BAD)
    ignore = FileIgnore(Patterns(folder, (glob,)), frozenset({"TDR101"}), negated)
    assert [finding.site.path for finding in scanned(file_ignores=(ignore,)).findings] == left


def test_when_the_witness_fails_on_a_file_the_others_are_still_reported(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("a.py", BAD)
    write("b.py", "import torch\nexplode\n")
    write("c.py", BAD)
    report = scanned()
    assert [finding.site.path for finding in report.findings] == ["a.py", "c.py"]
    (error,) = report.errors
    assert error.startswith("internal error while scanning b.py: RuntimeError: boom at conftest.py:")
    assert error.endswith("please report it")
    assert any("Traceback" in note for note in report.notes)


class Failing(Rule):
    """Stand-in that fails after its first finding."""

    code = "TDR999"
    name = "failing"
    level = Level.ERROR
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        yield self.finding(trace.events[0].site, "found before it failed")
        raise KeyError(trace.path)


def test_when_a_rule_fails_the_others_still_speak(
    write: Callable[..., Path], scanned: Callable[..., Report], rules: tuple[Rule, ...]
) -> None:
    write("a.py", BAD)
    report = scanned(rules=(Failing(), rules[1]))
    assert [finding.code for finding in report.findings] == ["TDR101", "TDR999"]
    assert len(report.errors) == 1
    assert "a.py with TDR999: KeyError" in report.errors[0]


def test_projects_that_lie_side_by_side_are_kept_apart(
    folder: Path, write: Callable[..., Path], scanned: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        write(f"{name}/.git/HEAD", "")
        write(f"{name}/a.py", BAD)
    roots = []

    class Watching(Seeing):
        def __init__(self, project: Project, **options: object) -> None:
            super().__init__(project, **options)
            roots.append(project.root)

    monkeypatch.setattr(examining, "Witness", Watching)
    assert len(scanned().findings) == 2
    assert roots == [folder / "one", folder / "two"]


def test_progress_is_told(write: Callable[..., Path], rules: tuple[Rule, ...], folder: Path) -> None:
    write("a.py", BAD)
    write("b.py", BAD)
    told: list[tuple[int, int, str]] = []

    class Following(Follower):
        def reading(self, done: int, total: int, name: str) -> None:
            told.append((done, total, name))

    scan(Options(paths=(folder,), rules=rules), Following())
    assert told == [(0, 2, "a.py"), (1, 2, "b.py")]


def test_traces_come_with_what_is_not_valid(write: Callable[..., Path], rules: tuple[Rule, ...], folder: Path) -> None:
    write("a.py", BAD)
    write("b.py", "import torch\nclass = 1\n")
    found, report = traces(Options(paths=(folder,), rules=rules))
    assert [[type(event).__name__ for event in trace.events] for trace in found] == [["Backward"], ["Unreadable"]]
    assert report.errors == []
