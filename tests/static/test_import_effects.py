"""What an imported file does to others is done for every script that imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static import Witness
from torch_doctor.static.budget import OutOfTime
from torch_doctor.static.language import imported_files
from torch_doctor.trace import Forward, GradModeEntered, Seeded, Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Namespace

    Write = Callable[..., Path]

STATE = "CFG = {'mode': 'probabilities'}\n"
CHOOSING = """
import torch
from state import CFG
{imports}

if CFG["mode"] == "probabilities":
    torch.no_grad().__enter__()
"""
SWITCHING = """
import torch
{imports}

model = torch.nn.Linear(4, 2)
model(torch.ones(1, 4))
"""
IMPORTS = [
    "import effects",
    "from effects import NAME",
    "from effects import *",
    "try:\n    import effects\nexcept ImportError:\n    pass",
    "def load():\n    import effects\n\n\nload()",
    "import importlib\nimportlib.import_module('effects')",
    "import importlib\n\n\ndef load(name):\n    return importlib.import_module(name)\n\n\nload('effects')",
    "__import__('effects')",
]


def switches(path: Path) -> int:
    """How often a script of a folder switches the grad mode."""
    found, report = traces(Options(paths=(path,), rules=()))
    assert not report.errors
    return sum(len(trace.of(GradModeEntered)) for trace in found)


def graphs(path: Path) -> list[object]:
    """For each call of a model in a script: whether autograd records it."""
    found, report = traces(Options(paths=(path,), rules=()))
    assert not report.errors
    return [event.grad for trace in found for event in trace.of(Forward)]


@pytest.mark.parametrize("imports", IMPORTS)
@pytest.mark.parametrize(
    "effect",
    [
        "CFG['mode'] = 'logits'",
        "CFG |= {'mode': 'logits'}",
        "dict.update(CFG, mode='logits')",
        "CFG.__setitem__('mode', 'logits')",
        "import operator\noperator.setitem(CFG, 'mode', 'logits')",
        "list(map(CFG.update, [{'mode': 'logits'}]))",
        "import functools\nfunctools.reduce(lambda c, pair: c.update([pair]) or c, [('mode', 'logits')], CFG)",
        "match CFG:\n    case found:\n        found['mode'] = 'logits'",
        "import threading\ndef go():\n    CFG['mode'] = 'logits'\nthread = threading.Thread(target=go)\nthread.start()",
        "class Part:\n    @property\n    def size(self):\n        CFG['mode'] = 'logits'\nsize = Part().size",
        "class Part:\n    def build(self):\n        CFG['mode'] = 'logits'\nbuilt = Part().build()",
        "class Part:\n    def build(self):\n        CFG['mode'] = 'logits'\npart = Part()\nbuilt = part.build()",
        "found = [each.update(mode='logits') for each in [CFG]]",
    ],
)
def test_a_change_of_another_files_object_is_seen_by_those_who_import_it(
    effect: str, imports: str, write: Write
) -> None:
    write("state.py", STATE)
    write("effects.py", f"from state import CFG\n{effect}\nNAME = 1\n")
    assert switches(write("train.py", CHOOSING.format(imports=imports))) == 0


@pytest.mark.parametrize("imports", IMPORTS)
@pytest.mark.parametrize(
    "effect",
    [
        "torch.set_grad_enabled(False)",
        "torch.autograd.grad_mode.set_grad_enabled(False)",
        "def off():\n    torch.set_grad_enabled(False)\noff()",
        "class Switch:\n    def __init__(self):\n        torch.set_grad_enabled(False)\nSwitch()",
        "def apply(function):\n    function()\napply(lambda: torch.set_grad_enabled(False))",
        "guard = torch.no_grad()\nguard.__enter__()",
        "import contextlib\nstack = contextlib.ExitStack()\nstack.enter_context(torch.no_grad())",
    ],
)
def test_a_grad_mode_that_is_set_on_import_stays_set(effect: str, imports: str, write: Write) -> None:
    write("effects.py", f"import torch\n{effect}\nNAME = 1\n")
    assert graphs(write("train.py", SWITCHING.format(imports=imports))) == [False]


def test_a_grad_mode_is_set_for_every_script_that_imports_the_file(write: Write) -> None:
    write("effects.py", "import torch\ntorch.set_grad_enabled(False)\n")
    write("between.py", "import effects\n\nNAME = 1\n")
    write("first.py", SWITCHING.format(imports="import effects"))
    write("other.py", SWITCHING.format(imports=""))
    path = write("second.py", SWITCHING.format(imports="from between import NAME"))
    assert sorted(map(str, graphs(path.parent))) == ["False", "False", "True"]


def test_a_grad_mode_that_is_set_where_a_flag_is_given_is_not_known_behind(write: Write) -> None:
    write("effects.py", "import torch\ntorch.set_grad_enabled(False)\n")
    imports = "import sys\nif len(sys.argv) > 1:\n    import effects"
    assert graphs(write("train.py", SWITCHING.format(imports=imports))) == [None]


def test_a_grad_mode_that_is_set_within_a_context_ends_with_it(write: Write) -> None:
    write("effects.py", "import torch\ntorch.set_grad_enabled(False)\n")
    imports = "with torch.enable_grad():\n    import effects"
    assert graphs(write("train.py", SWITCHING.format(imports=imports))) == [True]


@pytest.mark.parametrize(
    "around", ["with torch.no_grad():\n    SIZE = torch.ones(1)", "@torch.no_grad()\ndef use():\n    pass"]
)
def test_a_context_that_a_file_leaves_again_is_left(around: str, write: Write) -> None:
    write("effects.py", f"import torch\n{around}\nNAME = 1\n")
    assert graphs(write("train.py", SWITCHING.format(imports="import effects"))) == [True]


def test_what_was_imported_to_its_end_stays_when_a_file_runs_out_of_time(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the files under way when the time is over, the next script executes those again that have not ended."""
    write("inner.py", "import torch\n\ntorch.set_grad_enabled(False)\n")
    write("outer.py", "import torch\n\n\ndef load():\n    import inner\n\n\nload()\ntorch.manual_seed(0)\n")
    scripts = [write(name, SWITCHING.format(imports="import outer")) for name in ("first.py", "second.py")]
    begun: list[str] = []
    execute = imported_files.execute_top

    def interrupted(run: Run, unit: Unit, namespace: Namespace) -> None:
        begun.append(unit.source.path.stem)
        execute(run, unit, namespace)
        if begun == ["outer", "inner"] and unit.source.path.stem == "outer":
            raise OutOfTime

    monkeypatch.setattr(imported_files, "execute_top", interrupted)
    project = Project(scripts[0].parent, Ignores(frozenset((scripts[0].parent,))))
    witness = Witness(project)
    files = [project.read(script) for script in scripts]
    traces = [trace for file in files if file is not None for trace in witness.file(file) if isinstance(trace, Trace)]
    witness.close()
    assert begun == ["outer", "inner", "outer"]
    assert [event.grad for trace in traces for event in trace.of(Forward)] == [False]
    assert [len(trace.of(Seeded)) for trace in traces if trace.path == "second.py"] == [1]
