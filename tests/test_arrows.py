"""Which part of the house may know which other, how long a part may be, and what a scan must not import."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import source_code
from torch_doctor.static.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
AGENT = ROOT / "doctor/torch_doctor/probe/agent"
VISION = {"numpy", "PIL", "torchvision"}
LANGUAGE = {"transformers", "tokenizers", "huggingface_hub", "datasets", "omegaconf"}
IN_THE_USERS_INTERPRETER = {"torch"} | VISION | LANGUAGE  # all but torch only where the script uses them
OURS = ("torch_doctor", "torch_doctor_rules")
TYPES = "sources"  # the static witness is given files, and names their classes

# For each part: what else of ours it may import. Parts are the modules and packages right below torch_doctor.
ARROWS = {
    "nearness": set[str](),
    "packages": set(),
    "pattern": set(),
    "trace": {"pattern"},
    "edits": {"trace"},
    "reading": {"trace"},
    "finding": {"edits", "trace"},
    "rule": {"edits", "finding", "packages", "reading", "trace"},
    "declared": {"cache", "packages", "rule", "trace"},
    "fixes": {"edits", "packages", "pattern", "rule", "sources", "trace"},
    "sources": {"pattern", "rule", "trace"},
    "cache": {"packages"},
    "environments": set(),
    "processes": set(),
    "static": {"environments", "packages", "pattern", "trace", TYPES},
    "selection": {"nearness", "rule"},
    "config": {"report", "rule", "selection"},
    "probe": {"environments", "rule", "trace"},
    "probing": {"probe", "processes", "rule", "sources", "trace"},
    "scan": {"cache", "nearness", "packages", "probe", "probing", "processes", "rule", "sources", "static", "trace"},
    "narrowing": {"cache", "environments", "rule", "scan", "selection", "sources", "trace"},
    "report": {"edits", "rule", "trace"},
    "checkup": {"edits", "environments", "probe", "probing", "report", "rule", "scan", "sources", "trace"},
    "examples": set(),
    "testing": {"examples", "rule", "scan"},
    "knowledge": {"static", "trace"},
    "mending": {"edits", "fixes", "probing", "rule", "scan", "sources", "trace"},
    "server": {"edits", "fixes", "mending", "pattern", "report", "rule", "scan", "sources", "trace"},
    "cli": {
        "cache",
        "checkup",
        "config",
        "declared",
        "environments",
        "fixes",
        "mending",
        "narrowing",
        "probing",
        "report",
        "rule",
        "scan",
        "selection",
        "server",
        "sources",
        "trace",
    },
    "__main__": {"cli"},
    "__init__": set[str](),
}
HEAVY = ("astroid", "libcst", "nbformat", "torch")
RULES_KNOW = {"edits", "rule", "trace"}
MOST_FIELDS = 20  # of a run: what one kind of knowledge needs belongs to that kind


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            assert node.module
            if node.module == "torch_doctor":
                yield from (f"torch_doctor.{alias.name}" for alias in node.names)
            else:
                yield node.module


def part(path: Path) -> str:
    name = path.relative_to(ROOT / "doctor/torch_doctor").parts[0]
    return name.removesuffix(".py")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_machine_knows_in_one_direction_only() -> None:
    wrong = []
    for path in modules("doctor"):
        if AGENT in path.parents:
            continue
        for name in imports(path):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            known = ARROWS[part(path)] | {part(path), "__version__", ""}
            if package == "torch_doctor_rules" or (package == "torch_doctor" and other not in known):
                wrong.append(f"{named(path)} must not know {name}")
    assert wrong == []


def test_the_agent_knows_the_standard_library_torch_and_itself() -> None:
    known = {*sys.stdlib_module_names, *IN_THE_USERS_INTERPRETER}
    wrong = []
    for path in sorted(AGENT.rglob("*.py")):
        depth = len(path.relative_to(AGENT).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                if node.level > depth:
                    wrong.append(f"{named(path)}:{node.lineno} reaches out of the agent")
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
                wrong += [
                    f"{named(path)}:{node.lineno} imports {name}"
                    for name in names
                    if name.partition(".")[0] not in known
                ]
    assert wrong == []


def test_rules_know_traces_and_what_a_rule_is() -> None:
    wrong = []
    for path in modules("rules"):
        for name in imports(path):
            package, _, rest = name.partition(".")
            ours = package == "torch_doctor" and rest.partition(".")[0] not in RULES_KNOW
            if ours or package in HEAVY:
                wrong.append(f"{named(path)} imports {name}")
    assert wrong == []


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "helpers", "misc", "common"}
    every = modules("doctor") + modules("rules")
    assert [named(path) for path in every if drawers & {path.stem, path.parent.name}] == []


@pytest.mark.parametrize("root", ["doctor", "rules"])
def test_no_module_needs_itself_in_the_end(root: str) -> None:
    assert source_code.circles(source_code.needs(source_code.modules(root))) == []


@pytest.mark.parametrize("root", ["doctor", "rules"])
def test_no_module_is_too_long_to_be_read(root: str) -> None:
    assert source_code.long_modules(source_code.modules(root)) == {}


@pytest.mark.parametrize("root", ["doctor", "rules"])
def test_no_function_is_too_long_to_be_read(root: str) -> None:
    assert source_code.long_functions(source_code.modules(root)) == {}


def test_a_circle_is_told_with_all_its_modules() -> None:
    assert source_code.circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d2"}, "d2": {"d"}}) == [
        ["b", "c"],
        ["d", "d2"],
    ]


def test_a_run_has_few_fields() -> None:
    trees = [ast.parse(textwrap.dedent(inspect.getsource(cls))) for cls in Run.__mro__ if cls is not object]
    found = source_code.fields(*(tree.body[0] for tree in trees))
    assert {"heap", "trace"} <= found
    assert sorted(found) == sorted(found)[:MOST_FIELDS]


IMPORTED = """
import sys
from torch_doctor.cli import run
status = run(["scan", "--isolated", "--output-format", "json:out.json", *{options}, "."])
print(status, [name for name in {heavy} if name in sys.modules])
"""
GOOD = """
import torch
from torch import nn

model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("source", "imported"),
    [(GOOD, []), (GOOD + "torch.save(model, 'model.pt')\n", ["libcst"]), (GOOD + "print 'done'\n", ["libcst"])],
    ids=["good", "with a finding that can be mended", "not valid"],
)
def test_a_scan_imports_nothing_heavy(
    folder: Path, write: Callable[..., Path], notebook: Callable[[list[str]], str], source: str, imported: list[str]
) -> None:
    write("train.py", source)
    write("train.ipynb", notebook(["%matplotlib inline", GOOD]))
    script = IMPORTED.format(heavy=HEAVY, options=[])
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{int(source != GOOD)} {imported}"


BESIDES = """
import sys
import click, msgspec, pathlib
before = set(sys.modules)
from torch_doctor.cli import run
run(["scan", "--isolated", "train.py"])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""
LITTLE = {"_bisect", "_heapq", "_locale", "bisect", "copy", "encodings", "gc", "heapq", "locale", "unicodedata"}
LITTLE |= {"_blake2", "_hashlib", "_sqlite3", "array", "hashlib", "sqlite3"}  # for what is remembered
COMMAND_LINE = [
    "arguments",
    "caching",
    "completing",
    "fixing",
    "grouping",
    "installed",
    "libraries",
    "narrowing",
    "patterns",
    "options",
    "printing",
    "probe_options",
    "progress",
    "summary",
    "scan",
    "settings",
    "streams",
    "telling",
]
FOR_SOME = {"cells", "newer_grammar", "notebook", "pins"}  # of the modules of sources


def test_a_scan_of_a_script_imports_what_it_needs_and_no_more(folder: Path, write: Callable[..., Path]) -> None:
    write("train.py", GOOD)
    done = subprocess.run([sys.executable, "-c", BESIDES], cwd=folder, capture_output=True, text=True, check=True)
    names = [line for line in done.stderr.splitlines() if "torch_doctor" in line][-1].split()
    ours = {name for name in names if name.partition(".")[0] in OURS}
    assert {name.partition(".")[0] for name in set(names) - ours} <= LITTLE
    parts = {name.split(".")[1] for name in ours if name.startswith("torch_doctor.")}
    assert parts == ARROWS.keys() - {
        "examples",
        "checkup",
        "fixes",
        "mending",
        "narrowing",
        "probe",
        "server",
        "testing",
        "knowledge",
        "__main__",
        "__init__",
    }
    assert ours & {f"torch_doctor.sources.{name}" for name in FOR_SOME} == set()
    assert {name for name in ours if name.startswith("torch_doctor.cli.")} == {
        f"torch_doctor.cli.{name}" for name in COMMAND_LINE
    }
    assert not any("report.records" in name or "report.sarif" in name for name in ours)


def test_a_scan_asks_astroid_once_and_only_where_it_meets_a_class_of_an_installed_library(
    folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    site = "environment/lib/python3.12/site-packages"
    for name in ("environment/pyvenv.cfg", "environment/bin/python", f"{site}/torch/__init__.py"):
        write(name, "")
    write(f"{site}/nets_lib/__init__.py", "from torch import nn\nclass Net(nn.Module): ...\n")
    write(f"{site}/nets_lib-1.0.dist-info/METADATA", "")
    script = IMPORTED.format(heavy=HEAVY, options=["--python", "environment", "--exclude", "environment"])
    imported = []
    for source in (GOOD, f"import numpy, nets_lib\n{GOOD}", GOOD.replace("nn.Linear(2, 2)", "nets_lib.Net()")):
        write("train.py", f"import nets_lib\n{source}")
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
        imported.append(done.stdout.strip())
    again = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert [*imported, again.stdout.strip()] == ["0 []", "0 []", "0 ['astroid']", "0 []"]
