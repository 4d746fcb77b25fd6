"""Measures scans of folders beside parsing alone and beside other linters, as ratios of one run, in one table.

    python tests/benchmarks/scan.py FOLDER ... [--repeat 3] [--rivals ENVIRONMENT] [--json]
    python tests/benchmarks/scan.py --clones FOLDER

With `--clones`, the rows of `clones.py` whose repositories are there are measured, and shown with the bars that they are held to.

A folder is scanned cold in one process, cold in two, again with nothing changed, and again with one file changed; a copy
is scanned, so that nothing is written into the folder. Every measurement is a process of its own; the rounds interleave
them, so that noise meets all alike, and medians are shown. Nothing is fetched but, once, the other linters into an environment
of their own when none is given.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, os.fspath(Path(__file__).parents[2]))
from tests.benchmarks.clones import SCANNED, Row, checked_out

if TYPE_CHECKING:
    from collections.abc import Sequence

RIVALS = {
    "torchfix": ["torchfix", "--select", "ALL", "-j1"],
    "pylint": ["pylint", "-E", "-j1", "--recursive=y"],
    "ruff": ["ruff", "check", "--no-cache", "--isolated"],
}
"""The other linters, by the name of their command."""
REQUIREMENTS = ("torchfix==0.7.0", "pylint==4.1.4", "ruff==0.17.5")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torch-doctor" / "benchmarks" / "rivals"
IMPORTS_TORCH = re.compile(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of what is measured: an editable install keeps its bytecode there, as an installed package does."""

PARSE = """
import json, sys, time
sources = [open(file, encoding="utf-8").read() for file in json.load(sys.stdin)]
{setup}
start = time.process_time()
for source in sources:
    parse(source)
print(time.process_time() - start)
"""
LIBCST = PARSE.format(setup="from libcst import parse_module as parse")
AST = PARSE.format(setup="from ast import parse")
SMALL = "import torch\n\nmodel = torch.nn.Linear(4, 2)\n"
SCRIPT = (Path(__file__).parents[2] / "fixtures/whole/six_bugs.py").read_text(encoding="utf-8") * 2
"""A script of a hundred lines."""


class BenchmarkError(Exception):
    """What keeps the benchmark from running, in one line."""


class Ran(NamedTuple):
    """A process that has ended: seconds by the clock and of the CPU, the peak memory in MiB, and what it printed."""

    wall: float
    cpu: float
    memory: float
    printed: str


@dataclass(slots=True)
class Folder:
    """A folder that is measured: a copy, and the files in it that import torch; `seconds` of each measurement, one a round."""

    name: str
    path: Path
    files: list[Path]
    wanted: str = ""
    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    memory: float = 0.0

    def median(self, name: str) -> float:
        """The median of one measurement, in seconds."""
        return statistics.median(self.seconds[name])


def files_that_import_torch(folder: Path) -> list[Path]:
    """The Python files below the folder that import torch and that libcst can parse.

    Raises:
        BenchmarkError: there are none.
    """
    import libcst  # noqa: PLC0415 - start-up of the benchmark itself is not measured

    found = []
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
        raw = path.read_bytes()
        if not IMPORTS_TORCH.search(raw):
            continue
        try:
            libcst.parse_module(raw.decode())
        except (libcst.ParserSyntaxError, UnicodeDecodeError):
            continue
        found.append(path)
    if not found:
        message = f"{folder} holds no Python file that imports torch"
        raise BenchmarkError(message)
    return found


def copied(folder: Path, to: Path, row: Row | None = None) -> Folder:
    """A copy of what a scan reads of a folder, which is a project of its own; of a row, its part is scanned.

    Raises:
        BenchmarkError: nothing in it imports torch.
    """
    part = "" if row is None else row.part
    files_that_import_torch(folder / part)
    for pattern in SCANNED:
        for path in folder.rglob(pattern):
            if path.is_file() and ".git" not in path.parts:
                place = to / path.relative_to(folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
    (to / ".git").mkdir(exist_ok=True)
    files = files_that_import_torch(to / part)
    return Folder(folder.name, to, files) if row is None else Folder(row.name, to / part, files, row.wanted)


def rivals_environment(given: Path | None) -> Path:
    """The folder of an environment with the other linters; made and kept in the cache when none is given.

    Raises:
        BenchmarkError: it lacks one of them, or cannot be made.
    """
    folder = given or CACHE
    if given is None and not all((folder / "bin" / name).exists() for name in RIVALS):
        venv.create(folder, with_pip=True)
        install: list[str | Path] = [folder / "bin" / "pip", "install", "-q", *REQUIREMENTS]
        made = subprocess.run(install, capture_output=True, text=True, check=False)
        if made.returncode:
            message = f"they cannot be installed: {made.stderr.strip().splitlines()[-1] if made.stderr else '?'}"
            raise BenchmarkError(message)
    for name in RIVALS:
        if not (folder / "bin" / name).exists():
            message = f"{folder} is no environment with {name}: install {' '.join(REQUIREMENTS)} there"
            raise BenchmarkError(message)
    return folder


def run(command: Sequence[str | Path], *, text: str = "", most: int = 0) -> Ran:
    """Run a process.

    Raises:
        BenchmarkError: it left with a higher status than `most`.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        [os.fspath(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=COMPILED,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(text.encode())
    process.stdin.close()
    output = process.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if not 0 <= process.returncode <= most:
        message = f"`{Path(command[0]).name}` left with status {process.returncode}"
        raise BenchmarkError(message)
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Ran(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, output)


def doctor(*arguments: str | Path) -> Ran:
    """Run torch-doctor."""
    return run([sys.executable, "-m", "torch_doctor", *arguments], most=1)


def measure(folder: Folder, rivals: Path | None) -> None:
    """Measure everything of a folder once."""
    listing = json.dumps([str(path) for path in folder.files])
    for name, code in (("libcst", LIBCST), ("ast", AST)):
        folder.seconds[name].append(float(run([sys.executable, "-c", code], text=listing).printed))
    scan = ("scan", "--isolated", "--output-format", "concise", folder.path)
    cold = doctor(*scan, "-j", "1", "--no-cache")
    folder.memory = max(folder.memory, cold.memory)
    folder.seconds["cold"].append(cold.wall)
    folder.seconds["cpu"].append(cold.cpu)
    folder.seconds["two"].append(doctor(*scan, "-j", "2", "--no-cache").wall)
    with tempfile.TemporaryDirectory() as kept:
        doctor(*scan, "--cache-dir", kept)
        folder.seconds["again"].append(doctor(*scan, "--cache-dir", kept).wall)
        with folder.files[-1].open("a", encoding="utf-8") as file:
            file.write("# one more line\n")
        folder.seconds["changed"].append(doctor(*scan, "--cache-dir", kept).wall)
    for name, (command, *options) in RIVALS.items() if rivals is not None else ():
        assert rivals is not None
        folder.seconds[name].append(run([rivals / "bin" / command, *options, folder.path], most=31).cpu)


def started(small: Path) -> dict[str, float]:
    """Seconds by the clock that commands take which have little to do, and those of Python itself."""
    python = [sys.executable, "-c"]
    return {
        "pass": run([*python, "pass"]).wall,
        "click": run([*python, "import click"]).wall,
        "version": doctor("version").wall,
        "help": doctor("--help").wall,
        "small": doctor("scan", "--isolated", "--no-cache", small).wall,
    } | full(small.with_name("script.py"))


def full(script: Path) -> dict[str, float]:
    """Seconds by the clock of a scan of a hundred lines with complete output: cold, and again with nothing changed."""
    script.write_text(SCRIPT, encoding="utf-8")
    with tempfile.TemporaryDirectory() as kept:
        scan = ("scan", "--isolated", "--cache-dir", kept, script)
        return {"script": doctor(*scan).wall, "script_again": doctor(*scan).wall}


def numbers(folder: Folder) -> dict[str, Any]:
    """The figures of one folder: ratios of CPU time and, for two processes, of time by the clock; seconds; MiB."""
    result: dict[str, Any] = {
        "wanted": folder.wanted,
        "files": len(folder.files),
        "cpu_seconds": folder.median("cpu"),
        "by_libcst": folder.median("cpu") / folder.median("libcst"),
        "by_ast": folder.median("cpu") / folder.median("ast"),
        "faster_in_two": folder.median("cold") / folder.median("two"),
        "again_seconds": folder.median("again"),
        "changed_seconds": folder.median("changed"),
        "memory_mib": folder.memory,
    }
    result |= {f"{name}_by_scan": folder.median(name) / folder.median("cpu") for name in RIVALS if folder.seconds[name]}
    return result


def start_numbers(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """The figures of the start: ratios against `import click`, and seconds above those of Python itself."""
    seconds = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    return {
        "version_by_click": seconds["version"] / seconds["click"],
        "help_by_click": seconds["help"] / seconds["click"],
        "small_seconds_over_pass": seconds["small"] - seconds["pass"],
        "script_seconds": seconds["script"],
        "script_again_seconds": seconds["script_again"],
    }


def table(folders: dict[str, dict[str, Any]], start: dict[str, float], rounds: int) -> str:
    """The figures for people, as Markdown."""
    names = [name for name in RIVALS if any(f"{name}_by_scan" in each for each in folders.values())]
    head = [
        "folder",
        "files",
        "cold",
        "against libcst",
        "against ast",
        "two processes",
        "again",
        "one changed",
        "memory",
        "wanted",
    ]
    rows = [[*head, *(f"{name} takes" for name in names)]]
    for folder, each in folders.items():
        rows.append(
            [
                folder,
                f"{each['files']:.0f}",
                f"{each['cpu_seconds']:.1f} s",
                f"{each['by_libcst']:.1f} ×",
                f"{each['by_ast']:.0f} ×",
                f"{each['faster_in_two']:.2f} × faster",
                f"{each['again_seconds']:.2f} s",
                f"{each['changed_seconds']:.2f} s",
                f"{each['memory_mib']:.0f} MiB",
                each["wanted"],
                *(f"{each[f'{name}_by_scan']:.2g} ×" for name in names),
            ]
        )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    lines += [
        "",
        f"`version` takes {start['version_by_click']:.2f} × what `import click` takes, `--help` {start['help_by_click']:.2f} ×,",
        f"a scan of one small script {start['small_seconds_over_pass']:.2f} s more than `pass`; medians of {rounds} rounds.",
        f"A script of 100 lines takes {start['script_seconds']:.2f} s cold, {start['script_again_seconds']:.2f} s unchanged.",
    ]
    return "\n".join(lines)


def measured(
    given: Sequence[Path], clones: Path | None, rivals: Path | None, rounds: int
) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """The figures of all folders, and those of the start.

    Raises:
        BenchmarkError: a folder has nothing that imports torch, or something fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        rows = checked_out(clones, Path(scratch, "clones")) if clones is not None else ()
        wanted: list[tuple[Row | None, Path]] = [*((None, folder) for folder in given), *rows]
        folders = [
            copied(folder, Path(scratch, str(number), folder.name), row) for number, (row, folder) in enumerate(wanted)
        ]
        small = Path(scratch, "small.py")
        small.write_text(SMALL, encoding="utf-8")
        starts = []
        for _ in range(rounds):
            for folder in folders:
                measure(folder, rivals)
            starts.append(started(small))
        return {folder.name: numbers(folder) for folder in folders}, start_numbers(starts)


def main() -> int:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER")
    parser.add_argument("--clones", type=Path, metavar="FOLDER", help="bare clones, named owner+name")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds (3)")
    parser.add_argument(
        "--rivals", type=Path, metavar="ENVIRONMENT", help="a virtual environment with the other linters"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    for folder in [*given.folders, *([given.clones] if given.clones else [])]:
        if not folder.is_dir():
            print(f"{folder} is no folder", file=sys.stderr)
            return 2
    rounds, rivals = max(given.repeat, 1), None
    try:
        rivals = rivals_environment(given.rivals)
    except BenchmarkError as error:
        print(f"without other linters: {error}", file=sys.stderr)
    try:
        folders, start = measured([folder.resolve() for folder in given.folders], given.clones, rivals, rounds)
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"folders": folders, "start": start}, indent=2) if given.json else table(folders, start, rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
