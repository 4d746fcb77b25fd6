"""What many tests need: a folder, the command line in this process, stand-ins for what it calls, and quick probes."""

from __future__ import annotations

import ast
import gc
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings

from tests import installing, reports
from tests.folders import keep_apart
from tests.probe.farm import farm as farming
from tests.records import records as recording
from torch_doctor import cli
from torch_doctor.rule import Fix, Level, Rule, Step
from torch_doctor.scan import examining
from torch_doctor.static import Failure, Followed, Imports
from torch_doctor.trace import Backward, Kind, Scope, ScopeKind, Stepped, TensorFact, Trace, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.sources.project import Project
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.trace import Site

sys.dont_write_bytecode = False  # the tests start our command, and the agent, hundreds of times
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # models are tiny, and other workers need the other cores
settings.register_profile("patient", deadline=None)  # on a busy machine, slow is not wrong
settings.register_profile(
    "ci", deadline=None, derandomize=True
)  # what was green stays green; who develops looks further
settings.load_profile("ci" if "CI" in os.environ else "patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The fixtures are probed first, and scanned last: the probes have scanned them by then."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = reports.in_order(items, "probe/test_fixtures.py", "tests/test_fixtures.py", workers)


@pytest.fixture(scope="session", autouse=True)
def _reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.getbasetemp()
    reports.keep_in((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "reports")


PASSED = pytest.StashKey[bool]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test of frameworks is skipped where one of them is absent, and fails where all have to be there."""
    needed = [name for mark in item.iter_markers("frameworks") for name in mark.args]
    if absent := installing.absent(needed):
        (pytest.fail if installing.required() else pytest.skip)(f"needs {', '.join(absent)}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many tests were skipped for want of frameworks, and how they are run."""
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if "frameworks" in report.keywords]
    if skipped:
        terminalreporter.write_line(installing.told(len(skipped)), yellow=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes which tests pass: only those keep the runs that they had."""
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report


gc.set_threshold(1_000_000, 20, 100)  # collecting tests imports much, and leaves no garbage


def pytest_collection_finish() -> None:
    """Torch and the tests are there to the end: the collector need not walk through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # a scan makes many objects and few cycles


class Outcome(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, in an environment that wants no colours and is no CI service.

    Where it lies inside of somebody's project it is a repository of its own: nothing of that project is ours.
    """
    of_services = (
        "GITHUB_WORKSPACE",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_REPOSITORY",
        "CI_PROJECT_DIR",
        "BUILD_SOURCESDIRECTORY",
    )
    for variable in ("NO_COLOR", "FORCE_COLOR", *of_services):
        monkeypatch.delenv(variable, raising=False)
    keep_apart(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Writes a file below the working directory; a list becomes the code cells of a notebook."""

    def write_file(name: str, content: str | bytes | Sequence[str]) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text(_notebook(content), encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def notebook() -> Callable[[Iterable[str]], str]:
    """Makes a notebook of code cells; text that begins with `md:` becomes a markdown cell."""
    return _notebook


def _notebook(cells: Iterable[str]) -> str:
    made: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": cell[3:]}
        if cell.startswith("md:")
        else {
            "cell_type": "code",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": cell.splitlines(keepends=True),
        }
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:  # noqa: ARG001 - gives the environment
    """Runs the command line in this process."""

    def run_command(*arguments: str) -> Outcome:
        capsys.readouterr()
        status = cli.run(arguments)
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return run_command


class MissingZeroGrad(Rule):
    """Stand-in that dislikes every `backward()`.

    ## Why is this bad?
    It is not.
    """

    code = "TDR101"
    name = "missing-zero-grad"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE

    def check(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(Backward):
            above = event.site._replace(row=1, end_row=1, column=1, end_column=2)
            yield self.finding(
                event.site,
                f"`{event.name}` goes backward",
                help="call `zero_grad()`",
                trail=[Step(above, "the loop begins here")],
            )


class MissingStep(Rule):
    """Stand-in that dislikes every `step()`."""

    code = "TDR601"
    name = "whole-model-saved"
    level = Level.WARNING
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(Stepped):
            yield self.finding(event.site, f"`{event.name}` steps")


class Advice(Rule):
    """Stand-in that is off by default."""

    code = "TDR901"
    name = "no-seed"
    level = Level.ADVICE
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(Backward):
            yield self.finding(event.site, "no seed is set")


class UnreadableSource(Rule):
    """Stand-in for the rule of the same name."""

    code = "TDR000"
    name = "unreadable-source"
    level = Level.ERROR
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(Unreadable):
            yield self.finding(event.site, f"not valid Python: {event.reason}")


RULES: tuple[Rule, ...] = (UnreadableSource(), MissingZeroGrad(), MissingStep(), Advice())


class Seeing:
    """A witness that sees the calls of `backward` and `step`, and stumbles over the name `explode`."""

    characters = 0

    def __init__(self, project: Project, **_: object) -> None:
        self.project = project
        self.imports = Imports(project)

    def file(self, file: SourceFile, _: Followed) -> Iterator[Trace | Failure]:
        """The trace of a file."""
        tree = self.project.tree(file.path)
        if tree is None:
            return
        try:
            yield _trace(tree, file)
        except RuntimeError as error:
            yield Failure(file.display, error)

    def followed(self) -> Followed:
        """Nothing is followed."""
        return Followed()

    def dependencies(self) -> None:
        """Nobody asks."""

    def close(self) -> None:
        """Nothing is open."""


def _trace(tree: ast.AST, file: SourceFile) -> Trace:
    trace = Trace(file.display)
    scope = Scope(ScopeKind.ROOT, file.site(1, 1, 1, 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "explode":
            message = "boom"
            raise RuntimeError(message)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            _see(node.func, _site(node, file), scope, trace)
    return trace


def _see(method: ast.Attribute, site: Site, scope: Scope, trace: Trace) -> None:
    name = ast.unparse(method.value)
    nothing: frozenset[int] = frozenset()
    if method.attr == "backward":
        loss = TensorFact(kind=Kind.LOSS)
        trace.add(
            Backward(site=site, scope=scope, name=name, through="backward", loss=loss, modules=nothing, whole=False)
        )
    elif method.attr == "step":
        trace.add(Stepped(site=site, scope=scope, optimizer=1, name=name, modules=nothing, whole=False))


def _site(node: ast.expr, file: SourceFile) -> Site:
    """Where a node stands: the tree counts bytes, we count characters."""

    def column(row: int, offset: int) -> int:
        return len(file.lines[row - 1].encode()[:offset].decode()) + 1

    end_row, end_offset = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return file.site(node.lineno, column(node.lineno, node.col_offset), end_row, column(end_row, end_offset))


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line with a witness and rules that are simple enough to know what they say."""
    monkeypatch.setattr(examining, "Witness", Seeing)
    monkeypatch.setattr("torch_doctor.declared.installed_rules", lambda _, **__: (RULES, ()))


@pytest.fixture
def rules() -> tuple[Rule, ...]:
    """The rules that stand in: TDR000, TDR101, TDR601 (a warning) and TDR901 (advice)."""
    return RULES


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What the test starts hears SIGINT, also where whoever started the tests has them ignore it, as `nohup` does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def farm_address() -> Iterator[str]:
    """Where the farm listens that all tests of this session share."""
    with farming.farm() as address:
        yield address


@pytest.fixture
def farm(farm_address: str) -> Iterator[None]:
    """Every probe of the test is forked from a process with torch in it, instead of importing torch anew."""
    farming.use(farm_address)
    yield
    farming.use("")


@pytest.fixture
def records(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[recording.Records]:
    """Every run of the test is told again from its record, where nothing changed of what it is made of."""
    kept = recording.Records(request.node.nodeid, recording.folder())
    monkeypatch.setattr("torch_doctor.probe.launched", kept.launched)
    monkeypatch.setattr("torch_doctor.probe.climbing.launched", kept.launched)
    yield kept
    if request.node.stash.get(PASSED, False):
        kept.keep()
