"""Measures a probe against the bare script, as ratios of one run.

    python tests/benchmarks/probe.py [--repeat 5] [--steps 200] [--model NAME] [--json]
    python tests/benchmarks/probe.py --script FILE [--script FILE ...] [--python PYTHON]

With scripts: the whole command on each, against the script with a bare interpreter whose loops end after the passes that the
probe makes. They have to run with what that interpreter has, without arguments and data. Without, two questions: how long
the whole command takes on a small script, against the same steps with a bare interpreter; and what the default instruments
cost for each step of training, when no loop is left early. The first steps of a loop are watched in full, and cost more:
they are shown beside. Every measurement is a process of its own; the rounds interleave them, so that noise meets all alike,
and medians are shown. Needs torch beside torch-doctor.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from torch_doctor.probe.agent.caps import SHOWN
from torch_doctor.probe.launch import Limits, launched
from torch_doctor.probe.plan import Request, plan
from torch_doctor.probe.scratch import scratch_folder
from torch_doctor.probing import Probing
from torch_doctor.rule import Level, all_rules
from torch_doctor.scan import Options, traces

BARS = {"whole": 1.15, "step": 1.05}
MANY = 10**9

SMALL = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(512, 20), torch.randint(0, 4, (512,)))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()
for epoch in range({epochs}):
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number == {batches}:
            break
    print(epoch, loss.item())
"""
"""With the epochs and batches that a probe makes, these are the same steps."""

STEPS = """
import json
from time import perf_counter

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
{model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
seconds = []
for step in range({steps}):
    begin = perf_counter()
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    optimizer.step()
    seconds.append(perf_counter() - begin)
print(json.dumps(seconds))
"""
MODELS = {
    "20-layer MLP": """
layers = [layer for _ in range(20) for layer in (nn.Linear(128, 128), nn.ReLU())]
model = nn.Sequential(*layers, nn.Linear(128, 10))
inputs, targets = torch.randn(64, 128), torch.randint(0, 10, (64,))
""",
    "small residual network": """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.second(torch.relu(self.norm(self.first(x))))


model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), *(Block(16) for _ in range(6)),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
)
inputs, targets = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
""",
    "small transformer": """
layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
model = nn.Sequential(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), nn.Flatten(), nn.Linear(64 * 16, 10))
inputs, targets = torch.randn(16, 16, 64), torch.randint(0, 10, (16,))
""",
}


class BenchmarkError(Exception):
    """What keeps the benchmark from running, in one line."""


def bare(script: Path, python: str = sys.executable, folder: Path | None = None) -> tuple[float, str]:
    """Seconds and output of the script alone.

    Raises:
        BenchmarkError: it fails.
    """
    begin = time.perf_counter()
    done = subprocess.run(
        [python, script],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        message = f"the bare script fails: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
        raise BenchmarkError(message)
    return seconds, done.stdout


class _Left(ast.NodeTransformer):
    """Ends loops after so many passes, by their rows."""

    def __init__(self, passes: dict[int, int]) -> None:
        self._passes = passes

    def visit_For(self, node: ast.For) -> ast.For:
        """A loop over the first items."""
        self.generic_visit(node)
        if (count := self._passes.get(node.lineno)) is not None:
            first = ast.parse("__import__('itertools').islice(None, None)", mode="eval").body
            assert isinstance(first, ast.Call)
            first.args = [node.iter, ast.Constant(count)]
            node.iter = first
        return node


def left_early(script: Path, python: str) -> str:
    """The source of a script whose loops end where the probe leaves them."""
    options = Options(paths=(script,), rules=tuple(all_rules()), probe=Probing(python=python))
    run = next((trace.run for trace in traces(options)[0] if trace.run is not None), None)
    if run is None:
        message = f"{script} cannot be probed"
        raise BenchmarkError(message)
    tree = _Left({site.row: passes for site, passes in run.capped.items()}).visit(ast.parse(script.read_bytes()))
    return ast.unparse(ast.fix_missing_locations(tree))


def of_scripts(scripts: list[Path], python: str, folder: Path, rounds: int) -> dict[str, float]:
    """The ratio of the whole command for each script, by its name, and their median."""
    ratios: dict[str, float] = {}
    for number, script in enumerate(scripts):
        alone = folder / f"{number}.py"
        alone.write_text(left_early(script, python), encoding="utf-8")
        pairs = [(bare(alone, python, folder)[0], probed(script, python)) for _ in range(rounds)]
        usual, watched_ = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratios[script.name] = watched_ / usual
        print(
            _row(f"{script.parent.name}/{script.name} ({usual:.2f} s)", ratios[script.name], BARS["whole"]), flush=True
        )
    return ratios | {"median": statistics.median(ratios.values())}


def probed(script: Path, python: str = sys.executable) -> float:
    """Seconds of the whole command: start, scan, probe, report.

    Raises:
        BenchmarkError: the probe could not run.
    """
    command = [
        sys.executable,
        "-m",
        "torch_doctor",
        "scan",
        "--isolated",
        "--probe=require",
        "--python",
        python,
    ]
    begin = time.perf_counter()
    done = subprocess.run([*command, script], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1):
        message = f"the probe fails: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
        raise BenchmarkError(message)
    return seconds


def watched(script: Path) -> str:
    """The output of the script under the default instruments, with no loop left early.

    Raises:
        BenchmarkError: it did not come to its end.
    """
    rules = [rule for rule in all_rules() if rule.level is not Level.ADVICE and not rule.needs]
    request = Request(script=script, root=script.parent, cwd=script.parent, seconds=600.0)
    with scratch_folder() as scratch:
        told = plan(request, scratch, rules, (), Path)
        told |= {"batches": MANY, "epochs": MANY, "steps": MANY, "pass_seconds": MANY}
        done = launched(Path(sys.executable), told, Limits(seconds=request.seconds, memory=request.memory))
    if done.status:
        message = f"the watched script fails with status {done.status}"
        raise BenchmarkError(message)
    return done.output.text()


def measure(folder: Path, rounds: int, steps: int, models: list[str]) -> dict[str, float]:
    """The ratios: of the whole command, and of a step of each of these models."""
    small = folder / "small.py"
    seconds: dict[str, list[float]] = {"bare": [], "probed": []}
    ratios: dict[str, list[float]] = {name: [] for name in models}
    first: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(rounds):
        small.write_text(SMALL.format(epochs=2, batches=3), encoding="utf-8")
        seconds["bare"].append(bare(small)[0])
        small.write_text(SMALL.format(epochs=2, batches=MANY), encoding="utf-8")
        seconds["probed"].append(probed(small))
        for name in models:
            script = folder / "steps.py"
            script.write_text(STEPS.format(model=MODELS[name], steps=steps), encoding="utf-8")
            alone, under = (json.loads(text.splitlines()[-1]) for text in (bare(script)[1], watched(script)))
            usual = statistics.median(alone[steps // 4 :])
            ratios[name].append(statistics.median(under[steps // 4 :]) / usual)
            first[name].append(statistics.median(under[2:SHOWN]) - usual)
    numbers = {f"{name}_seconds": statistics.median(each) for name, each in seconds.items()}
    numbers["whole"] = numbers["probed_seconds"] / numbers["bare_seconds"]
    numbers |= {name: statistics.median(each) for name, each in ratios.items()}
    return numbers | {f"{name}_first_ms": 1000 * statistics.median(each) for name, each in first.items()}


def table(numbers: dict[str, float], rounds: int, steps: int) -> str:
    """The numbers for people, with the bars that they are held to."""
    rows = [
        f"medians of {rounds} rounds, {steps} steps each",
        f"a small script: bare {numbers['bare_seconds']:.2f} s, scan and probe {numbers['probed_seconds']:.2f} s",
        _row("  whole command against the bare script", numbers["whole"], BARS["whole"]),
        "a step under the default instruments",
        *(
            _row(f"  {name}", numbers[name], BARS["step"]) + f"; each of the first {SHOWN}: "
            f"{numbers[f'{name}_first_ms']:.1f} ms more"
            for name in MODELS
            if name in numbers
        ),
    ]
    return "\n".join(rows)


def _row(name: str, ratio: float, bar: float) -> str:
    return f"{name:40} {ratio:7.3f} x   {'ok,' if ratio <= bar else 'NOT MET,'} at most {bar:g} x"


def main() -> int:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds (5)")
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="steps of each model (200)")
    parser.add_argument("--model", choices=MODELS, help="only this one (all)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--script", type=Path, action="append", help="measure this script")
    parser.add_argument("--python", default=sys.executable, help="what runs the scripts (this interpreter)")
    given = parser.parse_args()
    rounds, steps = max(given.repeat, 1), max(given.steps, 4)
    try:
        with tempfile.TemporaryDirectory() as folder:
            if given.script:
                scripts = [script.resolve() for script in given.script]
                of_scripts(scripts, given.python, Path(folder).resolve(), rounds)
                return 0
            numbers = measure(Path(folder).resolve(), rounds, steps, [given.model] if given.model else [*MODELS])
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(numbers, indent=2) if given.json else table(numbers, rounds, steps))
    return 0


if __name__ == "__main__":
    sys.exit(main())
