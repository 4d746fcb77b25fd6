"""`scan --baseline` and `--write-baseline`."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome
Write = Any  # name and text to path

OLD = """\
import torch
from torch import nn


class Trainer:
    def fit(self, model, loader):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()


Trainer().fit(nn.Linear(2, 2), torch.utils.data.DataLoader([], shuffle=True))
model = nn.Linear(2, 2)
model.eval
"""
KNOWN = [("old.py", 10, "TDR101"), ("old.py", 16, "TDR111")]


@pytest.fixture
def project(folder: Path, write: Write) -> Path:
    """A project with two findings, both of them in its baseline."""
    write("pyproject.toml", "[tool.torch-doctor]\n")
    write("old.py", OLD)
    return folder


@pytest.fixture
def baseline(project: Path, run: Run) -> Path:
    outcome = run("scan", "--baseline", "known.json", "--write-baseline")
    assert outcome == (0, "", "Wrote 2 findings to known.json.\nNo new findings in 1 file.\n")
    return project / "known.json"


def places(outcome: Any) -> list[tuple[str, int, str]]:
    return [(each["filename"], each["location"]["row"], each["code"]) for each in json.loads(outcome.out)]


def test_the_file_has_no_line_numbers_and_one_line_for_each_finding(baseline: Path) -> None:
    assert baseline.read_text(encoding="utf-8").splitlines() == [
        "{",
        '  "version": 1,',
        '  "findings": [',
        '    {"path":"old.py","code":"TDR101","function":"Trainer.fit","line":"loss.backward()"},',
        '    {"path":"old.py","code":"TDR111","line":"model.eval"}',
        "  ]",
        "}",
    ]
    assert [path.name for path in baseline.parent.glob("*known*")] == ["known.json"]


@pytest.mark.usefixtures("baseline")
def test_what_is_in_the_baseline_is_not_reported(run: Run) -> None:
    assert run("scan", "--baseline", "known.json", "-q") == (0, "", "")
    assert places(run("scan", "--output-format", "json")) == KNOWN


@pytest.mark.usefixtures("baseline")
def test_it_is_found_again_where_lines_have_moved(run: Run, write: Write) -> None:
    write("old.py", "import os\n\n\n" + OLD.replace("model.eval\n", "\nmodel.eval  \n"))
    assert run("scan", "--baseline", "known.json", "-q").status == 0


@pytest.mark.usefixtures("baseline")
def test_another_finding_on_a_line_like_it_is_new(run: Run, write: Write) -> None:
    write("old.py", OLD + "model.eval\n")
    outcome = run("scan", "--baseline", "known.json", "--output-format", "json")
    assert (outcome.status, places(outcome)) == (1, [("old.py", 17, "TDR111")])


@pytest.mark.usefixtures("baseline")
def test_the_same_line_in_another_function_is_new(run: Run, write: Write) -> None:
    write("old.py", OLD.replace("def fit", "def train").replace("().fit", "().train"))
    outcome = run("scan", "--baseline", "known.json", "--output-format", "json")
    assert places(outcome) == [("old.py", 10, "TDR101")]


@pytest.mark.usefixtures("baseline")
def test_entries_that_no_longer_occur_are_told_in_one_line_and_fail_nothing(run: Run, write: Write) -> None:
    write("old.py", OLD.replace("model.eval\n", "model.eval()\n"))
    outcome = run("scan", "--baseline", "known.json")
    assert outcome.status == 0
    assert outcome.err.splitlines() == [
        "1 finding not reported: in known.json.",
        "warning: 1 entry in known.json no longer matches a finding (TDR111 in old.py): --write-baseline removes it",
        "No new findings in 1 file.",
    ]
    assert run("scan", "--baseline", "known.json", "--write-baseline").status == 0
    outcome = run("scan", "--baseline", "known.json")
    assert "warning" not in outcome.err


@pytest.mark.usefixtures("baseline")
def test_a_file_that_is_gone_leaves_entries_that_no_longer_occur(project: Path, run: Run, write: Write) -> None:
    (project / "old.py").unlink()
    write("new.py", "import torch\n")
    assert "2 entries in known.json no longer match a finding" in run("scan", "--baseline", "known.json").err


@pytest.mark.usefixtures("baseline")
def test_what_a_scan_did_not_look_for_is_not_missed(run: Run, write: Write) -> None:
    write("new.py", "import torch\n")
    assert "no longer" not in run("scan", "--baseline", "known.json", "new.py").err
    assert "no longer" not in run("scan", "--baseline", "known.json", "--select", "TDR2").err
    assert "no longer" not in run("scan", "--baseline", "known.json", "--shard", "1/2").err


def test_writing_it_for_some_files_keeps_the_entries_of_the_others(baseline: Path, run: Run, write: Write) -> None:
    write("new.py", "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n")
    run("scan", "--baseline", "known.json", "--write-baseline", "--accept-new", "new.py")
    assert [line.split('"')[3] for line in baseline.read_text(encoding="utf-8").splitlines()[3:6]] == [
        "new.py",
        "old.py",
        "old.py",
    ]
    assert run("scan", "--baseline", "known.json", "-q").status == 0


def test_paths_are_relative_to_the_baseline(baseline: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (baseline.parent / "elsewhere").mkdir()
    monkeypatch.chdir(baseline.parent / "elsewhere")
    assert run("scan", "--baseline", "../known.json", "..", "-q").status == 0
    run("scan", "--baseline", "own.json", "--write-baseline", "..")
    assert '"path":"../old.py"' in (baseline.parent / "elsewhere/own.json").read_text(encoding="utf-8")


@pytest.mark.usefixtures("baseline")
def test_the_configuration_may_name_it(project: Path, run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("pyproject.toml", '[tool.torch-doctor]\nbaseline = "known.json"\n')
    assert run("scan", "-q").status == 0
    assert run("scan", "-q", "--isolated").status == 1
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert run("scan", "-q", "..").status == 0
    write("sub/none.json", '{"version": 1, "findings": []}')
    assert run("scan", "-q", "--baseline", "none.json", "..").status == 1


def test_findings_with_one_cause_are_known_one_by_one(folder: Path, run: Run, write: Write) -> None:
    text = "import torch\nfrom torch.autograd import Variable\n\na = Variable(torch.rand(1))\nb = Variable(torch.rand(2))\n"
    path = write("several.py", text)
    arguments = ("scan", "several.py", "--select", "TDR813", "--output-format", "json", "--baseline", "known.json")
    run(*arguments, "--write-baseline")
    path.write_text(text.replace("a = ", "z = Variable(torch.rand(3))\na = "), encoding="utf-8")
    outcome = run(*arguments)
    assert places(outcome) == [("several.py", 4, "TDR813")]
    assert "more" not in outcome.json[0]["message"]
    assert (folder / "known.json").read_text(encoding="utf-8").count("TDR813") == 2


def test_a_notebooks_cells_may_move(folder: Path, run: Run, notebook: Callable[[list[str]], str], write: Write) -> None:
    cells = ["import torch\nmodel = torch.nn.Linear(2, 2)\n", "def f(model):\n    model.eval\n    return 1\n"]
    path = write("train.ipynb", notebook(cells))
    assert run("scan", "--baseline", "known.json", "--write-baseline").status == 0
    assert '"function":"f","line":"model.eval"' in (folder / "known.json").read_text(encoding="utf-8")
    path.write_text(notebook(["md:# Title", "import os\n", *cells]), encoding="utf-8")
    assert run("scan", "--baseline", "known.json", "-q").status == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_names_of_files_and_lines_that_are_no_text_are_known_as_well(folder: Path, run: Run, write: Write) -> None:
    write(os.fsdecode(b"w\xff.py"), "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n")
    write("odd.ipynb", ["import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.eval; x = '\ud800'\n"])
    assert run("scan", "--no-cache", "--baseline", "known.json", "--write-baseline").status == 0
    assert (folder / "known.json").read_text(encoding="utf-8").count('"code"') == 2
    assert run("scan", "--no-cache", "--baseline", "known.json", "-q").status == 0


@pytest.mark.usefixtures("baseline")
def test_an_editors_buffer_is_the_file_that_it_is_named_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OLD.replace("model.eval", "model.train").encode())))
    outcome = run("scan", "--baseline", "known.json", "-", "--stdin-filename", "old.py", "--output-format", "json")
    assert places(outcome) == [("old.py", 16, "TDR111")]


@pytest.mark.usefixtures("baseline")
def test_only_what_is_reported_is_mended(project: Path, run: Run, write: Write) -> None:
    write("old.py", OLD + "model.train\n")
    assert run("scan", "--baseline", "known.json", "--fix", "-q").status == 0
    assert (project / "old.py").read_text(encoding="utf-8") == OLD + "model.train()\n"


@pytest.mark.usefixtures("baseline")
def test_every_format_and_the_statistics_leave_it_out(run: Run, write: Write) -> None:
    write("old.py", OLD + "model.train\n")
    for name in ("full", "concise", "github", "sarif", "json-lines"):
        out = run("scan", "--baseline", "known.json", "--output-format", name).out
        assert "model.train" in out
        assert "missing-zero-grad: " not in out
        assert '"startLine": 10' not in out
    out = run("scan", "--baseline", "known.json", "--statistics").out
    assert "TDR111" in out
    assert "TDR101" not in out


@pytest.mark.usefixtures("baseline")
def test_what_is_remembered_serves_scans_with_and_without(run: Run) -> None:
    for _ in range(2):
        assert run("scan", "--baseline", "known.json", "-q").status == 0
        assert len(run("scan", "--output-format", "json").json) == 2


def test_findings_that_a_fix_leaves_are_no_longer_in_the_baseline_when_it_is_written_anew(
    baseline: Path, run: Run
) -> None:
    assert run("scan", "--fix", "-q").status == 1
    assert run("scan", "--baseline", "known.json", "--write-baseline").status == 0
    assert "TDR111" not in baseline.read_text(encoding="utf-8")


# --- new findings are accepted on purpose only ---

NEW = OLD + "model.train\n"
WRITE = ("scan", "--baseline", "known.json", "--write-baseline")


def test_without_a_terminal_new_findings_are_reported_and_not_accepted(baseline: Path, run: Run, write: Write) -> None:
    before = baseline.read_bytes()
    write("old.py", NEW)
    outcome = run(*WRITE, "--output-format", "json")
    assert (outcome.status, places(outcome)) == (2, [("old.py", 17, "TDR111")])
    said = "1 finding is not in known.json (TDR111 in old.py); fix it, or accept it with --accept-new"
    assert f"error: {said}\n" in outcome.err
    assert baseline.read_bytes() == before


def test_new_findings_are_accepted_if_that_is_said(baseline: Path, run: Run, write: Write) -> None:
    write(
        "old.py",
        NEW.replace("            loss.backward()", "            optimizer.zero_grad()\n            loss.backward()"),
    )
    outcome = run(*WRITE, "--accept-new")
    assert outcome.status == 0
    assert "Wrote 2 findings to known.json (1 new, 1 removed).\n" in outcome.err
    assert '"line":"model.train"' in baseline.read_text(encoding="utf-8")


@pytest.mark.usefixtures("baseline")
def test_a_baseline_that_only_shrinks_is_written_without_a_question(run: Run, write: Write) -> None:
    write("old.py", OLD.replace("model.eval\n", "model.eval()\n"))
    outcome = run(*WRITE)
    assert (outcome.status, "Wrote 1 finding to known.json (0 new, 1 removed).\n" in outcome.err) == (0, True)
    assert "Wrote 1 finding to known.json.\n" in run(*WRITE).err


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_at_a_terminal_somebody_is_asked(
    baseline: Path, run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    before = baseline.read_text(encoding="utf-8")
    write("old.py", NEW)
    monkeypatch.setattr("torch_doctor.cli.narrowing.is_terminal", lambda _: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    outcome = run(*WRITE, "--output-format", "json")
    assert (outcome.status, len(outcome.json)) == (status, status)
    assert outcome.err.startswith(
        "known.json: 1 new finding, 0 removed.\n  new: TDR111 in old.py: `model.train`\n"
        "Add the new findings to the baseline? [y/N]: "
    )
    assert (baseline.read_text(encoding="utf-8") == before) is bool(status)


# --- stale entries ---


def test_stale_entries_are_listed_and_fail_where_the_baseline_is_strict(baseline: Path, run: Run, write: Write) -> None:
    strict = ("scan", "--baseline", "known.json", "--baseline-strict", "-q")
    assert run(*strict) == (0, "", "")
    write("old.py", OLD.replace("model.eval\n", "model.eval()\n"))
    said = (
        "1 entry in known.json no longer matches a finding; --write-baseline removes it:\n"
        "  TDR111 in old.py: `model.eval`\n"
    )
    assert run(*strict) == (1, "", said)
    assert run(*strict, "--exit-zero").status == 0
    write("new.py", "import torch\n")
    assert run(*strict, "new.py") == (0, "", "")  # a scan of other files proves nothing
    run("scan", "--baseline", str(baseline), "--write-baseline", "-q")
    assert run(*strict) == (0, "", "")


# --- what cannot be used ---


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "known.json is not a baseline: Input data was truncated; delete it and create one with --write-baseline"),
        (
            b"[]",
            "known.json is not a baseline: Expected `object`, got `array`; delete it and create one with --write-baseline",
        ),
        (
            b'{"version": 1, "findings": [{"path": "a.py"}]}',
            "known.json is not a baseline: Object missing required field `code` - at `$.findings[0]`; delete it and create one",
        ),
        (
            b'{"version": 2, "findings": []}',
            "known.json has version 2 of the baseline format, not 1; delete it and create one with --write-baseline",
        ),
        (b"\xff\xfe", "known.json is not a baseline: "),
        (b"[" * 100_000, "known.json is not a baseline: "),
    ],
    ids=["empty", "a list", "an entry without its code", "another version", "no text", "too deep"],
)
def test_a_file_that_is_no_baseline_is_an_error_in_one_line(project: Path, run: Run, content: bytes, said: str) -> None:
    (project / "known.json").write_bytes(content)
    outcome = run("scan", "--baseline", "known.json")
    assert (outcome.status, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"error: {said}")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--baseline", "no.json"], "the baseline no.json does not exist: create it with --write-baseline"),
        (["--baseline", "."], "the baseline . cannot be read: Is a directory"),
        (
            ["--write-baseline"],
            "--write-baseline needs a file: name it with --baseline, or as `baseline` in the configuration",
        ),
        (
            ["--baseline", "b.json", "--write-baseline", "--fix"],
            "--write-baseline needs all findings: remove --fix",
        ),
        (
            ["--baseline", "b.json", "--write-baseline", "--since", "HEAD"],
            "--write-baseline needs all findings: remove --since",
        ),
        (
            ["--baseline", "b.json", "--write-baseline", "-"],
            "--write-baseline does not work with stdin: name the file",
        ),
        (["--accept-new"], "--accept-new requires --write-baseline"),
        (
            ["--baseline-strict"],
            "--baseline-strict needs a baseline: name it with --baseline, or as `baseline` in the configuration",
        ),
        (
            ["--baseline", "b.json", "--baseline-strict", "--write-baseline"],
            "--baseline-strict does not work with --write-baseline",
        ),
        (
            ["--baseline", "b.json", "--baseline-strict", "--shard", "1/2"],
            "--baseline-strict does not work with --shard",
        ),
        (["--baseline", "no/b.json", "--write-baseline"], "no/b.json cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_an_error_in_one_line(
    run: Run, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run("scan", *arguments) == (2, "", f"error: {said}\n")


def test_a_scan_that_could_not_read_everything_writes_no_baseline(project: Path, run: Run) -> None:
    outcome = run("scan", "--baseline", "known.json", "--write-baseline", ".", "nope.py")
    assert outcome.status == 2
    assert not (project / "known.json").exists()
