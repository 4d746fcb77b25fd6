from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.marks import rules_for
from tests.records import records as recording
from tests.records.ground import AGENT, PACKAGE, digest, ground, sources, variables
from tests.records.records import Records, key_of, read
from torch_doctor.environments import of_environment
from torch_doctor.probe import launch
from torch_doctor.probe.launch import Limits
from torch_doctor.probing import Probing
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.rule import Verdict

FIXTURE = Path(__file__).parents[2] / "fixtures/TDR101/bad_module_level.py"
LIMITS = Limits()


class Told(NamedTuple):
    """What a scan says, and what it took."""

    verdicts: list[tuple[str, int, Verdict | None, list[str]]]
    told: int
    ran: int


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Probes a fixture in a folder of some name; the run is kept, or told again, below another one."""

    def probe_fixture(name: str, *, change: str = "") -> Told:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pyproject.toml").touch()
        script = folder / FIXTURE.name
        script.write_text(FIXTURE.read_text(encoding="utf-8") + change, encoding="utf-8")
        kept = Records("a test", tmp_path / "kept")
        monkeypatch.setattr("torch_doctor.probe.launched", kept.launched)
        monkeypatch.chdir(folder)
        report = scan(Options(paths=(script,), rules=rules_for("TDR101"), probe=Probing(python=sys.executable)))
        kept.keep()
        said = [
            (each.code, each.site.row, each.verdict, [evidence.claim for evidence in each.evidence])
            for each in report.findings
        ]
        return Told(said, kept.told, kept.ran)

    return probe_fixture


@pytest.mark.usefixtures("farm")
def test_a_run_that_is_told_again_says_what_it_said(
    probed: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = probed("first")
    assert first.told == 0 < first.ran
    assert first.verdicts

    def never(*_: object) -> None:
        pytest.fail("a process was started")

    with monkeypatch.context() as patch:
        patch.setattr(launch, "_started", never)
        assert probed("second-with-a-longer-name") == Told(first.verdicts, first.ran, 0)
    changed = probed("third", change="\nprint()\n")
    assert (changed.told, changed.ran) == (0, first.ran)


@pytest.mark.usefixtures("farm")
def test_a_damaged_record_is_run_anew(probed: Callable[..., Told], tmp_path: Path) -> None:
    first = probed("first")
    (record,) = (tmp_path / "kept").iterdir()
    whole = record.read_bytes()
    for number, damaged in enumerate([whole[:-1], whole[:40] + b"?" + whole[41:], b"", b"nothing"]):
        record.write_bytes(damaged)
        assert read(record) == {}
        assert probed(f"again {number}") == Told(first.verdicts, 0, first.ran)
        assert len(read(record)) == first.ran


def test_the_lines_are_those_of_the_folders_of_now() -> None:
    old = recording.Place(b"/run/torch-doctor-a", b"/home/b")
    new = recording.Place(b"/run/torch-doctor-other", b"/home/c")
    kept = old.keep(b'["/home/b/train.py", "/run/torch-doctor-a/tmp/x", "/home/else"]')
    assert json.loads(new.tell(kept)) == ["/home/c/train.py", "/run/torch-doctor-other/tmp/x", "/home/else"]


def test_a_change_of_the_agent_or_of_who_starts_it_is_another_ground(tmp_path: Path) -> None:
    package = tmp_path / "doctor/torch_doctor"
    shutil.copytree(PACKAGE / "probe", package / "probe", ignore=shutil.ignore_patterns("__pycache__"))
    agent = package / "probe/agent"
    assert {path for path in AGENT.rglob("*") if path.suffix == ".py"} <= set(sources().values())
    before = digest(sources(agent))
    assert before == digest(sources())
    for path in (agent / "loop.py", agent / "checkup/fit.py"):
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert digest(sources(agent)) != before
        path.write_bytes(content)
    (agent / "new.py").touch()
    assert digest(sources(agent)) != before


def test_who_reads_and_judges_what_the_agent_says_may_change() -> None:
    ours = {path.relative_to(PACKAGE).as_posix() for path in sources().values() if path.is_relative_to(PACKAGE)}
    listening = {"launch.py", "channels.py", "output.py", "processes.py", "scratch.py", "server.py", "inherited.py"}
    assert ours >= {f"probe/{name}" for name in listening} | {"probe/agent/packets.py"}
    assert not ours & {"probe/verdicts.py", "probe/protocol.py", "probe/plan.py", "probe/remarks.py"}


@pytest.fixture
def plan(folder: Path) -> dict[str, Any]:
    """What an agent may be told."""
    (folder / "train.py").write_text("import torch\n", encoding="utf-8")
    return {
        "script": str(folder / "train.py"),
        "cwd": str(folder),
        "project": str(folder),
        "scratch": "/run/torch-doctor-1",
        "args": [],
        "loops": {f"{folder}/train.py:3:1": {"kind": "batch", "cap": 3}},
        "needs": ["device"],
        "timeout": 51.0,
        "server": "",
    }


def key(plan: dict[str, Any], **changes: object) -> str | None:
    return key_of(Path(sys.executable), {**plan, **changes}, LIMITS)


def test_folders_and_seconds_that_are_accidents_are_none_of_the_key(plan: dict[str, Any], tmp_path: Path) -> None:
    before = key(plan)
    assert before is not None
    assert key(plan, scratch="/run/torch-doctor-2", timeout=50.3) == before
    assert key_of(Path(sys.executable), plan, Limits(seconds=59.2)) == before
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = json.loads(json.dumps(plan).replace(plan["cwd"], str(elsewhere)))
    shutil.copy(plan["script"], elsewhere)
    assert key(moved) == before


def test_all_that_the_agent_is_told_is_in_the_key(plan: dict[str, Any]) -> None:
    other = {"args": ["--lr"], "needs": [], "loops": {}, "figures": {}}
    keys = [key(plan), *(key(plan, **{name: each}) for name, each in other.items())]
    keys.append(key_of(Path(sys.executable), plan, Limits(seconds=20.0)))
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_every_file_of_the_project_and_the_environment_are_in_the_key(
    plan: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [key(plan)]
    for name, content in (("helper.py", "A = 1"), ("helper.py", "A = 2"), ("data/rows.csv", "1"), ("train.py", "")):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        keys.append(key(plan))
    for name in ("OMP_NUM_THREADS", "SOME_NAME_THAT_A_SCRIPT_READS"):
        monkeypatch.setenv(name, "7")
        keys.append(key(plan))
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_the_variables_of_the_tests_themselves_are_none_of_the_environment() -> None:
    assert variables({"PYTEST_CURRENT_TEST": "a", "TORCH_DOCTOR_FARM": "b", "USER": "c"}, {"USER": "c"}) == []
    assert variables({"RANK": "1", "TORCH_HOME": "d"}, {"TORCH_HOME": "d", "USER": "c"}) == [
        ("RANK", "1"),
        ("TORCH_HOME", "d"),
        ("USER", None),
    ]


def test_what_depends_on_more_than_is_known_has_no_key(plan: dict[str, Any], folder: Path) -> None:
    assert key_of(Path("/usr/bin/other-python"), plan, LIMITS) is None
    assert key(plan, server="/run/socket") is None
    assert key(plan, cwd="/") is None
    for number in range(recording.FILES + 1):
        (folder / str(number)).touch()
    assert key(plan) is None


def test_an_interpreter_has_several_names_in_its_environment_and_no_other(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = of_environment(Path(sys.prefix))
    assert active is not None
    assert key_of(active, plan, LIMITS) is not None
    names = [tmp_path / name for name in ("one/bin/python3", "one/bin/python", "other/bin/python3")]
    for name in names:
        name.parent.mkdir(parents=True, exist_ok=True)
        name.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(names[0]))
    first, second, elsewhere = (key_of(name, plan, LIMITS) for name in names)
    assert None not in {first, second}
    assert first != second
    assert elsewhere is None


def test_nothing_is_kept_where_nobody_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(recording.VARIABLE, "off")
    assert recording.folder() is None
    monkeypatch.setenv(recording.VARIABLE, str(tmp_path))
    assert recording.folder() == tmp_path
    monkeypatch.delenv(recording.VARIABLE)
    assert recording.folder() == recording.DEFAULT
    assert ground() == ground()
