"""`scan --since`, in real repositories."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.repositories import commit, git, init
from torch_doctor.narrowing import Since
from torch_doctor.narrowing.git import repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

TRAIN = """\
import torch
from torch import nn

from nets import Net

model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(8, 4), torch.randint(0, 2, (8,))), shuffle=True)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
NETS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)
"""
OLD = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\nprint(model(torch.rand(1, 2)))\n"
"""It has one finding, TDR111 in row 4."""


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a right script, its model in another file, and a script that has been wrong for long."""
    for variable in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(variable, raising=False)
    init(folder)
    commit(folder, {"train.py": TRAIN, "nets.py": NETS, "old.py": OLD, ".gitignore": ".torch_doctor_cache\n"})
    return folder


def places(outcome: Any) -> list[tuple[str, int, str]]:
    return [(each["filename"], each["location"]["row"], each["code"]) for each in json.loads(outcome.out)]


@pytest.fixture
def since(run: Run) -> Callable[..., list[tuple[str, int, str]]]:
    def scanned(*arguments: str, revision: str = "HEAD") -> list[tuple[str, int, str]]:
        outcome = run("scan", "--since", revision, "--output-format", "json", *arguments)
        assert outcome.status in (0, 1), outcome.err
        found = places(outcome)
        assert outcome.status == bool(found)
        return found

    return scanned


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_nothing_is_reported_where_nothing_has_changed(project: Path, run: Run) -> None:
    outcome = run("scan", "--since", "HEAD", "-q")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    assert places(run("scan", "--output-format", "json")) != []
    assert (project / "old.py").read_text(encoding="utf-8") == OLD


def test_what_is_not_reported_is_counted(project: Path, run: Run) -> None:
    edit(project / "train.py", "lr=0.1", "lr=0.2")
    err = run("scan", "--since", "HEAD").err
    assert err.splitlines() == ["1 finding not reported: not since HEAD.", "No new findings in 3 files."]


def test_a_finding_on_a_changed_line_is_reported(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "train.py", "import torch\n", "import torch\n\nother = torch.nn.Linear(2, 2)\nother.train\n")
    assert since() == [("train.py", 4, "TDR111")]


def test_a_finding_that_was_there_and_has_moved_is_not_reported(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "old.py", "import torch\n", '"""A script."""\n\nimport os\nimport torch\n')
    edit(project / "old.py", "print(", "\nprint(")
    assert since() == []


def test_a_finding_whose_line_has_changed_is_reported_although_it_was_there(
    project: Path, since: Callable[..., Any]
) -> None:
    edit(project / "old.py", "model.eval\n", "model.eval  # for the scores\n")
    assert since() == [("old.py", 4, "TDR111")]


def test_a_finding_that_a_change_in_another_file_causes_is_reported(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "nets.py", "return self.fc(x)", "return torch.softmax(self.fc(x), dim=1)")
    git(project, "commit", "--quiet", "--all", "--message", "softmax")
    assert since(revision="HEAD~") == [("nets.py", 11, "TDR201")]
    assert since("train.py", revision="HEAD~") == [("nets.py", 11, "TDR201")]


def test_a_finding_whose_trail_runs_through_a_changed_line_is_reported(
    project: Path, since: Callable[..., Any]
) -> None:
    edit(project / "nets.py", "return self.fc(x)", "return torch.softmax(self.fc(x), dim=1)")
    edit(project / "train.py", "nn.CrossEntropyLoss()", "nn.MSELoss()")
    commit(project)
    assert since() == []
    edit(project / "train.py", "nn.MSELoss()", "nn.CrossEntropyLoss()")
    assert ("nets.py", 11, "TDR201") in since()


def test_a_finding_that_was_there_is_reported_where_a_line_of_its_trail_has_changed(
    project: Path, since: Callable[..., Any]
) -> None:
    edit(project / "nets.py", "return self.fc(x)", "return torch.softmax(self.fc(x), dim=1)")
    commit(project)
    edit(project / "train.py", "lr=0.1", "lr=0.2")
    assert since() == []
    edit(project / "train.py", "nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.1)")
    edit(project / "train.py", "criterion(model(x), y)", "criterion(model(x), y)  # soft")
    assert since() == [("nets.py", 11, "TDR201")]


def test_a_file_that_git_does_not_know_may_cause_a_finding_in_one_that_it_knows(
    project: Path, since: Callable[..., Any]
) -> None:
    edit(project / "train.py", "from nets", "from steps import prepare\nfrom nets")
    edit(project / "train.py", "optimizer.zero_grad()", "prepare(optimizer)")
    commit(project)
    assert since() == []
    (project / "steps.py").write_text("import torch\n\n\ndef prepare(optimizer):\n    pass\n", encoding="utf-8")
    assert ("train.py", 14, "TDR101") in since()


def test_a_finding_that_a_deleted_line_causes_is_reported(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    assert since() == [("train.py", 12, "TDR101")]


def test_a_suppression_that_is_deleted_counts_as_a_change(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "old.py", "model.eval\n", "# torch-doctor: ignore[TDR111]\nmodel.eval\n")
    commit(project)
    edit(project / "old.py", "# torch-doctor: ignore[TDR111]\n", "")
    assert since() == [("old.py", 4, "TDR111")]


def test_what_is_staged_and_what_is_not_both_count(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "train.py", "import torch\n", "import torch\n\nother = torch.nn.Linear(2, 2)\nother.train\n")
    git(project, "add", "train.py")
    edit(project / "old.py", "model.eval\n", "model.eval\nmodel.train\n")
    assert since() == [("old.py", 5, "TDR111"), ("train.py", 4, "TDR111")]


def test_a_file_that_git_does_not_know_is_new(project: Path, since: Callable[..., Any]) -> None:
    (project / "new file.py").write_text(OLD, encoding="utf-8")
    (project / "ignored.py").write_text(OLD, encoding="utf-8")
    edit(project / ".gitignore", "cache\n", "cache\nignored.py\n")
    assert since() == [("new file.py", 4, "TDR111")]
    assert since("ignored.py") == [("ignored.py", 4, "TDR111")]


def test_a_branch_is_compared_with_where_it_began(project: Path, since: Callable[..., Any]) -> None:
    git(project, "switch", "--quiet", "--create", "feature")
    edit(project / "train.py", "import torch\n", "import torch\n\nother = torch.nn.Linear(2, 2)\nother.train\n")
    commit(project)
    git(project, "switch", "--quiet", "main")
    commit(project, {"old.py": "import torch\n"})  # mended there meanwhile
    git(project, "switch", "--quiet", "feature")
    assert since(revision="main") == [("train.py", 4, "TDR111")]


@pytest.mark.parametrize("told", [True, False], ids=["with git", "without telling git"])
def test_a_file_that_was_renamed_keeps_its_findings(project: Path, since: Callable[..., Any], *, told: bool) -> None:
    (project / "scripts").mkdir()
    if told:
        git(project, "mv", "old.py", "scripts/älter.py")
    else:
        (project / "old.py").rename(project / "scripts/älter.py")
    assert since() == []
    edit(project / "scripts/älter.py", "model.eval\n", "model.eval\nmodel.train\n")
    assert since("scripts") == [("scripts/älter.py", 5, "TDR111")]


def test_a_module_that_was_renamed_is_found_where_it_was(project: Path, since: Callable[..., Any]) -> None:
    edit(project / "nets.py", "return self.fc(x)", "return torch.softmax(self.fc(x), dim=1)")
    edit(project / "train.py", "lr=0.1", "lr=0.2")
    commit(project)
    git(project, "mv", "nets.py", "models.py")
    edit(project / "train.py", "from nets", "from models")
    assert since() == []


def test_a_module_that_is_gone_breaks_nothing(project: Path, since: Callable[..., Any]) -> None:
    (project / "nets.py").unlink()
    assert since() == []


def test_only_some_of_the_findings_with_one_cause_may_be_new(project: Path, run: Run) -> None:
    several = "import torch\nfrom torch.autograd import Variable\n\na = Variable(torch.rand(1))\nb = Variable(torch.rand(2))\n"
    arguments = ("scan", "several.py", "--output-format", "json", "--select", "TDR813")
    commit(project, {"several.py": several})
    assert "1 more" in run(*arguments).json[0]["message"]
    edit(project / "several.py", "b = ", "c = Variable(torch.rand(3))\nb = ")
    outcome = run(*arguments, "--since", "HEAD")
    assert places(outcome) == [("several.py", 5, "TDR813")]
    assert "more" not in outcome.json[0]["message"]
    assert outcome.err.startswith("1 finding not reported")


def test_a_notebook_is_compared_cell_by_cell(
    project: Path, since: Callable[..., Any], run: Run, notebook: Callable[[list[str]], str]
) -> None:
    commit(
        project, {"train.ipynb": notebook(["import torch\nmodel = torch.nn.Linear(2, 2)\n", "model.eval\nprint(1)"])}
    )
    (project / "train.ipynb").write_text(
        notebook(
            [
                "md:# Title",
                "import torch\nmodel = torch.nn.Linear(2, 2)\n",
                "model.eval\nprint(1)",
                "model.train\nprint(2)",
            ]
        ),
        encoding="utf-8",
    )
    assert since() == [("train.ipynb", 1, "TDR111")]
    assert run("scan", "--since", "HEAD", "--output-format", "json").json[0]["cell"] == 4


def test_line_ends_are_no_change(project: Path, since: Callable[..., Any]) -> None:
    (project / "old.py").write_bytes(OLD.replace("\n", "\r\n").encode())
    assert since() == []


def test_an_editors_buffer_is_compared_with_the_file_in_the_revision(
    project: Path, since: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def typed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    typed(OLD)
    assert since("-", "--stdin-filename", "old.py") == []
    typed(OLD.replace("model.eval\n", "model.eval\nmodel.train\n"))
    assert since("-", "--stdin-filename", "old.py") == [("old.py", 5, "TDR111")]
    typed(TRAIN.replace("    optimizer.zero_grad()\n", ""))
    assert since("-", "--stdin-filename", "train.py") == [("train.py", 12, "TDR101")]
    assert (project / "train.py").read_text(encoding="utf-8") == TRAIN


def test_only_what_is_reported_is_mended(project: Path, run: Run) -> None:
    edit(project / "train.py", "import torch\n", "import torch\n\nother = torch.nn.Linear(2, 2)\nother.train\n")
    outcome = run("scan", "--since", "HEAD", "--fix")
    assert outcome.status == 0, outcome
    assert "other.train()\n" in (project / "train.py").read_text(encoding="utf-8")
    assert (project / "old.py").read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("name", ["full", "concise", "github", "sarif", "json-lines"])
def test_every_format_tells_the_same(project: Path, run: Run, name: str) -> None:
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    outcome = run("scan", "--since", "HEAD", "--output-format", name)
    assert "TDR101" in outcome.out
    assert "old.py" not in outcome.out


def test_statistics_count_what_is_reported(project: Path, run: Run) -> None:
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    out = run("scan", "--since", "HEAD", "--statistics").out
    assert "TDR101" in out
    assert "TDR111" not in out


def test_what_is_remembered_serves_scans_with_and_without(project: Path, since: Callable[..., Any], run: Run) -> None:
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    for _ in range(2):
        assert since() == [("train.py", 12, "TDR101")]
        assert len(run("scan", "--output-format", "json").json) == 2
    assert since("--jobs", "2") == [("train.py", 12, "TDR101")]
    assert since("--no-cache") == [("train.py", 12, "TDR101")]


def test_how_files_were_is_looked_at_once_and_remembered(
    project: Path, since: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    asked = []
    before = Since._found_before  # noqa: SLF001 - it is the slow part

    def found(self: Since) -> Any:
        asked.append(1)
        return before(self)

    monkeypatch.setattr(Since, "_found_before", found)
    assert since(revision="HEAD~0") == [("train.py", 12, "TDR101")]
    git(project, "stash", "--quiet")
    (project / "README.md").write_text("# Nothing that a scan reads", encoding="utf-8")
    run_once = len(asked)
    assert since("--select", "TDR11") == []
    assert len(asked) == run_once == 1
    git(project, "stash", "pop", "--quiet")
    for _ in range(2):
        assert since() == [("train.py", 12, "TDR101")]
    assert len(asked) == 1
    assert since("--select", "TDR1") == [("train.py", 12, "TDR101")]
    git(project, "commit", "--quiet", "--all", "--message", "gone")
    edit(project / "train.py", "lr=0.1", "lr=0.2")
    assert since() == []
    assert len(asked) == 3


def test_another_repository_within_answers_for_itself(
    project: Path, since: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    init(tmp_path / "theirs")
    commit(tmp_path / "theirs", {"wrong.py": OLD, "nets.py": NETS})
    commit(tmp_path / "theirs", {"steps.py": "import torch\n\n\ndef prepare(optimizer):\n    pass\n"})
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "theirs"), "library")
    git(project, *add)
    text = TRAIN.replace("from nets", "from library.steps import prepare\nfrom nets")
    text = text.replace("optimizer.zero_grad()", "prepare(optimizer)")
    commit(project, {"other.py": text})
    assert ("other.py", 14, "TDR101") in places(run("scan", "--output-format", "json"))
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    (project / "library/nets.py").write_text(OLD, encoding="utf-8")
    assert since() == [("train.py", 12, "TDR101")]


def test_a_hook_of_a_linked_worktree_asks_its_own_repository(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project, {"sub/another.py": OLD})
    git(project, "worktree", "add", "--quiet", "linked")
    monkeypatch.chdir(project / "linked")
    monkeypatch.setenv("GIT_DIR", str(project / ".git/worktrees/linked"))
    monkeypatch.setenv("GIT_INDEX_FILE", "no such index")
    assert places(run("scan", "sub", "--output-format", "json")) == [("sub/another.py", 4, "TDR111")]
    outcome = run("scan", "--since", "main", "sub", "--output-format", "json")
    assert (outcome.status, outcome.out) == (0, "[]\n"), outcome.err
    assert repository([project / "linked/sub"], "main").top == (project / "linked").resolve()


def test_the_repository_is_left_as_it_is(project: Path, since: Callable[..., Any]) -> None:
    (project / "old.py").rename(project / "älter.py")
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    before = git(project, "status", "--porcelain"), (project / ".git/index").read_bytes()
    assert since() == [("train.py", 11 + 1, "TDR101")]
    assert (git(project, "status", "--porcelain"), (project / ".git/index").read_bytes()) == before


def test_settings_hold_for_the_files_as_they_were_too(project: Path, since: Callable[..., Any]) -> None:
    (project / "torch-doctor.toml").write_text(
        'extend-exclude = ["third/*"]\n[per-file-ignores]\n"train.py" = ["TDR1"]\n', encoding="utf-8"
    )
    commit(project)
    edit(project / "train.py", "    optimizer.zero_grad()\n", "")
    edit(project / "nets.py", "x)", "x )")
    assert since() == []
    assert since("--isolated") == [("train.py", 12, "TDR101")]
    (project / "torch-doctor.toml").write_text('per-file-ignores = {"!sub/*.py" = ["TDR111"]}\n', encoding="utf-8")
    commit(project, {"sub/old.py": OLD})
    edit(project / "train.py", "lr=0.1", "lr=0.2")
    assert since() == []


def test_a_subfolder_is_scanned_as_the_whole(
    project: Path, since: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project, {"sub/one.py": OLD, "sub/two.py": OLD})
    edit(project / "sub/two.py", "model.eval\n", "model.eval\nmodel.train\n")
    monkeypatch.chdir(project / "sub")
    assert since() == [("two.py", 5, "TDR111")]
    assert since("..") == [("two.py", 5, "TDR111")]


# --- what git cannot tell ---


def failed(outcome: Any) -> str:
    assert (outcome.status, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    return str(line)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("revision", ["nowhere", "", "--help", "HEAD..HEAD"])
def test_a_revision_that_git_does_not_know_is_an_error(run: Run, revision: str) -> None:
    assert failed(run("scan", f"--since={revision}")) == f"error: --since: unknown git revision `{revision}`"


@pytest.mark.usefixtures("project")
def test_the_nearest_branch_is_named_where_a_revision_is_misspelt(run: Run) -> None:
    assert failed(run("scan", "--since=mian")) == "error: --since: unknown git revision `mian`; did you mean `main`?"


def test_a_folder_in_no_repository_is_an_error(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    (folder / "train.py").write_text("import torch\n", encoding="utf-8")
    assert failed(run("scan", "--since", "HEAD", "train.py")) == "error: --since: . is not in a git repository"


def test_paths_of_two_repositories_are_an_error(project: Path, run: Run) -> None:
    init(project / "other")
    commit(project / "other", {"train.py": TRAIN})
    line = failed(run("scan", "--since", "HEAD", "train.py", "other/train.py"))
    assert line == "error: --since: other/train.py is not in the repository .: scan one repository at a time"


def test_branches_without_a_common_commit_are_an_error(project: Path, run: Run) -> None:
    git(project, "switch", "--quiet", "--orphan", "island")
    commit(project, {"train.py": TRAIN})
    assert failed(run("scan", "--since", "main")) == "error: --since: `main` and HEAD have no common commit"


def test_in_a_shallow_clone_the_error_says_what_to_do(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(project)
    git(project, "clone", "--quiet", "--depth=1", project.as_uri(), "clone")
    monkeypatch.chdir(project / "clone")
    line = failed(run("scan", "--since", "HEAD~"))
    assert line.startswith("error: --since: unknown git revision `HEAD~`; the clone is shallow")
    assert "fetch-depth: 0" in line


@pytest.mark.usefixtures("project")
def test_a_machine_without_git_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert failed(run("scan", "--since", "HEAD", "--isolated", "train.py")).startswith(
        "error: --since: git cannot be started (No such file or directory)"
    )


def test_a_bare_clone_has_no_changed_lines(project: Path, run: Run) -> None:
    git(project, "clone", "--quiet", "--bare", str(project), "bare.git")
    assert (
        failed(run("scan", "--since", "HEAD", "bare.git"))
        == "error: --since: this operation must be run in a work tree"
    )
