"""Measures scans of a folder, cold, in two processes and of which nothing has changed, as ratios of one run.

A cold scan in one process is compared with parsing alone and with TorchFix.

    python tests/benchmarks/scan.py FOLDER [--repeat 5] [--torchfix ENVIRONMENT] [--json]

Every measurement is a process of its own; the rounds interleave them, so that noise meets all alike, and medians are
shown. Nothing is fetched but, once, TorchFix itself into an environment of its own when none is given.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TORCHFIX = "torchfix==0.7.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torch-doctor" / "benchmarks"
IMPORTS_TORCH = re.compile(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of what is measured: an editable install keeps its bytecode there, as an installed package does."""
STAGES = ("start", "discover", "read", "parse", "execute", "judge")
BARS = {"libcst": 3.0, "torchfix": 8.0, "memory": 500.0, "jobs": 1.7, "again": 0.4}

PARSE = """
import json, sys, time
files = json.load(sys.stdin)
sources = [open(file, encoding="utf-8").read() for file in files]
{setup}
start = time.perf_counter()
for source in sources:
    parse(source)
print(time.perf_counter() - start)
"""
LIBCST = PARSE.format(setup="from libcst import parse_module as parse")
AST = PARSE.format(setup="from ast import parse")
IN_STAGES = """
import json, sys
from pathlib import Path
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan
report = scan(Options(paths=(Path(sys.argv[1]).resolve(),), rules=all_rules(), jobs=1))
print(json.dumps(report.seconds))
"""


class BenchmarkError(Exception):
    """What keeps the benchmark from running, in one line."""


@dataclass(slots=True)
class Measured:
    """Seconds of each measurement, one per round, the peak memory of the scans in MiB, and the seconds of their stages."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    stages: list[dict[str, float]] = field(default_factory=list)

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
    for path in sorted(folder.rglob("*.py")):
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


def torchfix_environment(given: Path | None) -> Path:
    """The folder of an environment with TorchFix; made and kept in the cache when none is given.

    Raises:
        BenchmarkError: it has no `torchfix`, or cannot be made.
    """
    folder = given or CACHE / TORCHFIX.replace("==", "-")
    if given is None and not (folder / "bin" / "torchfix").exists():
        venv.create(folder, with_pip=True)
        made = subprocess.run(
            [folder / "bin" / "pip", "install", "-q", TORCHFIX], capture_output=True, text=True, check=False
        )
        if made.returncode:
            message = f"{TORCHFIX} cannot be installed: {made.stderr.strip().splitlines()[-1] if made.stderr else '?'}"
            raise BenchmarkError(message)
    if not (folder / "bin" / "torchfix").exists():
        message = f"{folder} is no environment with TorchFix: install {TORCHFIX} there"
        raise BenchmarkError(message)
    return folder


def run(command: Sequence[str | Path], *, text: str = "", good: tuple[int, ...] = (0,)) -> tuple[float, float, str]:
    """Run a process: wall-clock seconds, peak memory in MiB, and what it printed.

    Raises:
        BenchmarkError: it left with another status than the good ones.
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
    if process.returncode not in good:
        message = f"`{Path(command[0]).name}` left with status {process.returncode}"
        raise BenchmarkError(message)
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return seconds, usage.ru_maxrss / scale, output


def measure(folder: Path, files: list[Path], torchfix: Path | None, rounds: int) -> Measured:
    """Measure everything, `rounds` times, one after the other."""
    measured = Measured()
    listing = json.dumps([str(path) for path in files])
    for _ in range(rounds):
        for name, code in (("libcst", LIBCST), ("ast", AST)):
            _, _, printed = run([sys.executable, "-c", code], text=listing)
            measured.seconds.setdefault(name, []).append(float(printed))
        scan: list[str | Path] = [
            sys.executable,
            "-m",
            "torch_doctor",
            "scan",
            "--isolated",
            "--output-format",
            "concise",
            folder,
        ]
        seconds, memory, _ = run([*scan, "-j", "1", "--no-cache"], good=(0, 1))
        measured.seconds.setdefault("scan", []).append(seconds)
        measured.memory.append(memory)
        seconds, _, _ = run([*scan, "-j", "2", "--no-cache"], good=(0, 1))
        measured.seconds.setdefault("jobs", []).append(seconds)
        with tempfile.TemporaryDirectory() as kept:
            run([*scan, "--cache-dir", kept], good=(0, 1))
            seconds, _, _ = run([*scan, "--cache-dir", kept], good=(0, 1))
        measured.seconds.setdefault("again", []).append(seconds)
        seconds, _, printed = run([sys.executable, "-c", IN_STAGES, folder])
        stages: dict[str, float] = json.loads(printed)
        measured.stages.append({"start": seconds - sum(stages.values()), **stages})
        if torchfix is not None:
            command: list[str | Path] = [torchfix / "bin" / "torchfix", "--select", "ALL", "-j1", folder]
            seconds, _, _ = run(command, good=(0, 1))
            measured.seconds.setdefault("torchfix", []).append(seconds)
    return measured


def summary(measured: Measured) -> dict[str, float]:
    """The numbers that count: ratios, the peak memory in MiB, and the share of each stage in a scan's time."""
    scan = measured.median("scan")
    result = {
        "scan_seconds": scan,
        "scan_by_libcst": scan / measured.median("libcst"),
        "scan_by_ast": scan / measured.median("ast"),
        "memory_mib": max(measured.memory),
        "scan_by_two_jobs": scan / measured.median("jobs"),
        "again_seconds": measured.median("again"),
    }
    if "torchfix" in measured.seconds:
        result["torchfix_by_scan"] = measured.median("torchfix") / scan
    total = sum(statistics.median(stages[stage] for stages in measured.stages) for stage in STAGES)
    for stage in STAGES:
        result[f"share_{stage}"] = statistics.median(stages[stage] for stages in measured.stages) / total
    return result


def table(numbers: dict[str, float], count: int, lines: int, rounds: int) -> str:
    """The numbers for people, with the bars that they are held to."""
    rows = [
        f"{count} files that import torch, {lines} lines; medians of {rounds} rounds",
        f"cold scan, start-up included      {numbers['scan_seconds']:7.2f} s",
        (
            f"  against libcst.parse_module     {numbers['scan_by_libcst']:7.2f} x"
            f"   {_bar(met=numbers['scan_by_libcst'] <= BARS['libcst'])} at most {BARS['libcst']:g} x"
        ),
        f"  against ast.parse               {numbers['scan_by_ast']:7.2f} x",
        (
            f"  faster in two processes         {numbers['scan_by_two_jobs']:7.2f} x"
            f"   {_bar(met=numbers['scan_by_two_jobs'] >= BARS['jobs'])} at least {BARS['jobs']:g} x"
        ),
        (
            f"scan of which nothing has changed {numbers['again_seconds']:7.2f} s"
            f"   {_bar(met=numbers['again_seconds'] <= BARS['again'])} at most {BARS['again']:g} s"
        ),
    ]
    if "torchfix_by_scan" in numbers:
        rows.append(
            f"  faster than TorchFix            {numbers['torchfix_by_scan']:7.2f} x"
            f"   {_bar(met=numbers['torchfix_by_scan'] >= BARS['torchfix'])} at least {BARS['torchfix']:g} x"
        )
    rows.append(
        f"peak memory                       {numbers['memory_mib']:7.0f} MiB"
        f" {_bar(met=numbers['memory_mib'] <= BARS['memory'])} at most {BARS['memory']:g} MiB"
    )
    rows.append("share of the time: " + ", ".join(f"{stage} {numbers[f'share_{stage}']:.0%}" for stage in STAGES))
    return "\n".join(rows)


def _bar(*, met: bool) -> str:
    return "ok," if met else "NOT MET,"


def main() -> int:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds (3)")
    parser.add_argument("--torchfix", type=Path, metavar="ENVIRONMENT", help="a virtual environment with TorchFix")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    if not given.folder.is_dir():
        print(f"{given.folder} is no folder", file=sys.stderr)
        return 2
    torchfix = None
    try:
        files = files_that_import_torch(given.folder)
        try:
            torchfix = torchfix_environment(given.torchfix)
        except BenchmarkError as error:
            print(f"without TorchFix: {error}", file=sys.stderr)
        numbers = summary(measure(given.folder, files, torchfix, max(given.repeat, 1)))
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    print(json.dumps(numbers, indent=2) if given.json else table(numbers, len(files), lines, max(given.repeat, 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
