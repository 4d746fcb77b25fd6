"""The hand-written pages of the site show what happens, and name what there is."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.sessions import FRAMEWORKS, NAMES, PAGES, replayed
from torch_doctor.cli import COMMANDS
from torch_doctor.config import Config, load
from torch_doctor.probe.plan import BATCHES, EPOCHS
from torch_doctor.report.formats import FORMATS
from torch_doctor.static.libraries import known

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome
ROOT = Path(__file__).parents[1]
FOREIGN = {"--clones", "--freeze-bn", "--epochs", "--test", "--script"}
"""Options of scripts, and of our benchmarks."""


def text_of(name: str) -> str:
    """Return the Markdown of a page."""
    return (PAGES / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the blocks of code in a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(name), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("farm", "folder")
@pytest.mark.parametrize("name", NAMES)
def test_the_output_on_a_page_is_what_its_commands_print(name: str) -> None:
    assert replayed(text_of(name)) == text_of(name)


def test_every_page_whose_sessions_show_output_is_checked() -> None:
    shown = [path.name for path in sorted(PAGES.glob("*.md")) if "\n$ torch-doctor" in text_of(path.name)]
    assert shown == sorted((*NAMES, *FRAMEWORKS))


@pytest.mark.usefixtures("farm", "folder")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.frameworks(*needed)) for name, needed in FRAMEWORKS.items()]
)
def test_the_output_on_the_page_of_a_framework_is_what_its_commands_print(name: str) -> None:
    assert replayed(text_of(name)) == text_of(name)


def test_a_session_that_prints_something_else_is_noticed(folder: Path) -> None:
    page = (
        '```python title="a.py"\nprint("took", 2, "s")\n```\n\n```console\n$ python a.py\ntook 31 s\n$ ls\nb.py\n```\n'
    )
    assert replayed(page) == page
    assert replayed(page.replace("took 31 s", "it took 31 s")) == page.replace("31 s", "2 s")
    assert replayed(page.replace("took 31 s\n", "took 31 s\ntwice\n")) == page
    assert (folder / "a.py").is_file()


@pytest.mark.usefixtures("farm", "folder")
def test_the_script_of_the_tutorial_learns_when_it_is_fixed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def accuracy() -> int:
        capsys.readouterr()
        runpy.run_path("train.py", run_name="__main__")
        return int(capsys.readouterr().out.removeprefix("test accuracy: ").removesuffix("%\n"))

    (script,) = blocks("get-started.md", 'python title="train.py"')
    Path("train.py").write_text(script, encoding="utf-8")
    assert accuracy() < 50
    assert run("scan", "train.py", "--fix", "--unsafe-fixes").status == 0
    assert accuracy() > 90
    shown = re.findall(r"^test accuracy: (\d+)%$", text_of("get-started.md"), re.MULTILINE)
    assert [int(percent) > 50 for percent in shown] == [False, True]


def test_every_option_that_a_page_names_exists(run: Run) -> None:
    known_options = {option for name in COMMANDS for option in re.findall(r"--[a-z-]+", run(name, "--help").out)}
    named = {
        option for path in PAGES.glob("*.md") for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text_of(path.name))
    }
    assert named - known_options == FOREIGN


def test_the_probe_page_states_the_limits_of_a_run() -> None:
    assert (BATCHES, EPOCHS) == (3, 2)
    assert "three batches and two epochs" in " ".join(text_of("probe.md").split())


def test_the_configuration_is_understood(write: Callable[..., Path], run: Run) -> None:
    config = load(write("pyproject.toml", blocks("configuration.md", "toml")[0])).config
    assert config == Config(
        extend_select=("no-seed",),
        ignore=("whole-model-saved",),
        extend_exclude=("third_party",),
        torch_version="2.4",
        per_file_ignores={"notebooks/*": ("TDR402",)},
        baseline="torch-doctor-baseline.json",
    )
    write("train.py", "import torch\n")
    assert run("scan", "--write-baseline").status == 0
    assert run("scan").status == 0


def test_the_hooks_exist() -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (configured,) = yaml.safe_load(blocks("ci.md", "yaml")[0])["repos"][0]["hooks"]
    assert configured["id"] in hooks
    assert hooks <= set(re.findall(r"`([\w-]+)`", text_of("ci.md"))) | {configured["id"]}


def test_the_ci_job_gives_the_action_what_it_takes_and_uploads_what_it_writes() -> None:
    steps = yaml.safe_load(blocks("ci.md", "yaml")[1])["jobs"]["torch-doctor"]["steps"]
    (action,) = [step for step in steps if step["uses"].startswith("torch-doctor/torch-doctor@")]
    (upload,) = [step for step in steps if "upload-sarif" in step["uses"]]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert action["with"].keys() <= inputs.keys()
    assert action["with"]["sarif-file"] == upload["with"]["sarif_file"]
    assert upload["if"] == "always()"
    assert re.findall(r"^\| `([\w-]+)` \|.*\|.*\|$", text_of("ci.md"), flags=re.MULTILINE) == list(inputs)


def test_all_formats_are_listed() -> None:
    table = text_of("ci.md").partition("| Format | For |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`([\w-]+)`", row.partition(" | ")[0])}
    assert listed == set(FORMATS)


def test_the_commands_for_other_services_write_what_these_read(run: Run, folder: Path) -> None:
    shutil.copy(ROOT / "fixtures/whole/six_bugs.py", folder)
    for_gitlab, for_reviewdog = re.findall(r"^torch-doctor ([^|\n]*)", blocks("ci.md", "bash")[0], flags=re.MULTILINE)
    assert run(*for_gitlab.split()).status == 1
    issues = json.loads((folder / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    assert len(issues) == len(run(*for_reviewdog.split()).json["diagnostics"]) > 5


def test_the_parts_of_a_scan_upload_what_they_write(run: Run, folder: Path) -> None:
    jobs = yaml.safe_load(blocks("ci.md", "yaml")[-1])["jobs"]
    shutil.copy(ROOT / "fixtures/whole/six_bugs.py", folder)
    (scan,) = [step["run"] for step in jobs["scan"]["steps"] if "torch-doctor scan" in step.get("run", "")]
    for shard in jobs["scan"]["strategy"]["matrix"]["shard"]:
        _, *arguments = scan.replace("${{ matrix.shard }}", str(shard)).split()
        assert run(*arguments).status == 0
    (merge,) = [step["run"] for step in jobs["report"]["steps"] if "torch-doctor merge" in step.get("run", "")]
    _, command, pattern, *options = merge.split()
    run(command, *sorted(path.name for path in folder.glob(pattern)), *options)
    merged = json.loads((folder / jobs["report"]["steps"][-1]["with"]["sarif_file"]).read_text(encoding="utf-8"))
    assert len(merged["runs"][0]["results"]) > 5


def test_every_framework_that_is_known_is_listed() -> None:
    text = text_of("frameworks.md").lower().replace("-", "_")
    names = [framework.name for library in known() for framework in library.frameworks]
    assert [name for name in names if name not in text] == []
    assert len(names) > 15
