"""Imports bind names, and a file is executed when one of them is used, unless importing it has an effect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look
from torch_doctor.report.trace_text import render
from torch_doctor.scan import Options, traces
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static import Witness

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[..., Path]

SEED = "seed random numbers"
NETS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x)
"""
REGISTRY = """
KNOWN = {}


def register(name):
    def enter(maker):
        KNOWN[name] = maker
        return maker

    return enter


def build(name):
    return KNOWN[name]()
"""
LOOP = """
import torch
from common import model

for epoch in range(3):
    with torch.no_grad():
        model(torch.ones(1, 4))
"""
DERIVED = """
import torch
import config
from derived import SEEDED

config.DEBUG = True
if SEEDED:
    torch.manual_seed(1)
"""
LAZY = """
from types import ModuleType


class LazyModule(ModuleType):
    def __init__(self, name, parts):
        self.parts = parts
"""
CHOOSING = """
import torch
from state import STATE
from defaults import NAME

if STATE["mode"] == "probabilities":
    torch.manual_seed(0)
"""
ALTERNATIVE = """
import torch
try:
    from nets import Net
except ImportError:
    Net = None

if Net is not None:
    model = Net()
"""


def told(path: Path) -> list[str]:
    """The lines of `torch-doctor trace` for a script in a folder of files."""
    found, report = traces(Options(paths=(path,), rules=()))
    assert not report.errors
    return render(found, report.sources, Look(Paint())).splitlines()


def seeds(path: Path) -> int:
    """How often the run of a script seeds: on which way it goes shows what its names mean."""
    return sum(SEED in line for line in told(path))


def executed(script: Path) -> set[str]:
    """The files whose top levels the run of a script has executed."""
    project = Project(script.parent, Ignores(frozenset((script.parent,))))
    file = project.read(script)
    assert file is not None
    witness = Witness(project)
    assert list(witness.file(file))
    witness.close()
    return {Path(path).stem for path in witness.followed().imported}


@pytest.mark.parametrize(
    "imports",
    [
        "from helpers import helper",
        "import helpers",
        "import helpers as h",
        "from helpers import *",
        "from between import helper",
        "import between",
        "try:\n    from helpers import helper\nexcept ImportError:\n    helper = None",
    ],
)
@pytest.mark.parametrize(
    "effect",
    [
        "torch.manual_seed(0)",
        "if torch.cuda.is_available():\n    torch.manual_seed(0)\nelse:\n    torch.manual_seed(1)",
        "seed_all(0)",
        "default_rng = seed_all(0)",
        "for number in range(1):\n    torch.manual_seed(number)",
    ],
)
def test_what_seeds_on_import_does_so_though_nothing_of_it_is_used(imports: str, effect: str, write: Write) -> None:
    write("seeding.py", "import torch\n\n\ndef seed_all(seed):\n    torch.manual_seed(seed)\n")
    write("helpers.py", f"import torch\n\nfrom seeding import seed_all\n\n{effect}\n\n\ndef helper():\n    return 1\n")
    write("between.py", "from helpers import helper\n")
    assert SEED in "\n".join(told(write("train.py", f"import torch\n{imports}\n\nprint(1)\n")))


def test_what_only_defines_is_not_executed_before_it_is_used(write: Write) -> None:
    write("nets.py", NETS)
    write(
        "between.py",
        "import logging\n\nfrom nets import Net\n\nlogger = logging.getLogger(__name__)\nSIZES = {'a': 1}\n",
    )
    script = write("train.py", "import torch\nfrom between import Net, SIZES\n\nprint(SIZES)\n")
    assert executed(script) == {"between"}


@pytest.mark.parametrize(
    "use",
    [
        "import models\nfrom registry import build\n\nbuild('net')\n",
        "from models import *\nimport registry\n\nregistry.build('net')\n",
        "import registry\nimport models as m\n\nregistry.KNOWN['net']()\n",
    ],
)
def test_what_a_decorator_enters_on_import_is_there(use: str, write: Write) -> None:
    write(
        "registry.py",
        REGISTRY,
    )
    write(
        "models.py",
        "from registry import register\n" + NETS + "\n\n@register('net')\ndef make_net():\n    return Net()\n",
    )
    assert any("create Net" in line for line in told(write("train.py", f"import torch\n{use}")))


def test_what_is_built_on_import_is_built_before_the_loop_that_uses_it_first(write: Write) -> None:
    write("nets.py", NETS)
    write("common.py", "import torch\nfrom nets import Net\n\nmodel = Net()\n")
    use = LOOP
    lines = told(write("train.py", use))
    created = next(number for number, line in enumerate(lines) if "create Net" in line)
    assert created < next(number for number, line in enumerate(lines) if "loop over" in line)


@pytest.mark.parametrize("around", ["with torch.no_grad():", "for epoch in range(3):", "if flag:", "def use():"])
def test_where_a_name_is_used_first_leaves_no_trace_in_what_it_means(around: str, write: Write) -> None:
    write("consts.py", "import torch\n\nLIMIT = 3\nSCALE = torch.ones(1, requires_grad=True)\n")
    call = "\nuse()" if around.startswith("def") else ""
    lines = told(
        write(
            "train.py",
            f"""
import sys
import torch
from consts import LIMIT, SCALE

flag = len(sys.argv) > 1
{around}
    x = SCALE * LIMIT
{call}
if LIMIT == 3:
    torch.manual_seed(1)
loss = (SCALE * 2).sum()
loss.backward()
""",
        )
    )
    assert sum(SEED in line for line in lines) == 1
    assert not any(SEED in line and "if" in line for line in lines)
    assert any("backward" in line for line in lines)


@pytest.mark.parametrize(
    "change",
    ["state.turn_off()", "state.FLAG = False", "setattr(state, 'FLAG', False)", "off = state.turn_off\noff()"],
)
def test_a_name_keeps_what_it_was_when_it_was_imported(change: str, write: Write) -> None:
    write("state.py", "FLAG = True\n\n\ndef turn_off():\n    global FLAG\n    FLAG = False\n")
    use = f"import torch\nimport state\nfrom state import FLAG\n\n{change}\nif FLAG:\n    torch.manual_seed(1)\n"
    lines = told(write("train.py", use))
    assert any(SEED in line for line in lines)


def test_a_module_shows_what_it_was_changed_to(write: Write) -> None:
    write("state.py", "FLAG = True\n\n\ndef turn_off():\n    global FLAG\n    FLAG = False\n")
    use = "import torch\nimport state\n\nstate.turn_off()\nif state.FLAG:\n    torch.manual_seed(1)\n"
    assert seeds(write("train.py", use)) == 0


def test_a_constant_is_made_of_what_others_were_on_import(write: Write) -> None:
    write("config.py", "DEBUG = False\n")
    write("derived.py", "import config\n\nSEEDED = not config.DEBUG\n")
    use = DERIVED
    lines = told(write("train.py", use))
    assert any(SEED in line for line in lines)
    assert not any(SEED in line and "if" in line for line in lines)


def test_files_that_import_each_other_are_executed(write: Write) -> None:
    write("base.py", NETS + "\n\nfrom heirs import Heir\n\nKINDS = {'heir': Heir}\n")
    write("heirs.py", "from base import Net\n\n\nclass Heir(Net):\n    pass\n")
    lines = told(write("train.py", "import torch\nfrom base import KINDS\n\nmodel = KINDS['heir']()\n"))
    assert any("create Heir" in line for line in lines)


def test_a_script_and_a_file_that_import_each_other_are_executed(write: Write) -> None:
    write("heirs.py", "from train import Net\n\n\nclass Heir(Net):\n    pass\n")
    lines = told(
        write("train.py", NETS + "\n\nfrom heirs import Heir\n\nif __name__ == '__main__':\n    model = Heir()\n")
    )
    assert any("create Heir" in line for line in lines)


def test_what_a_file_does_as_a_script_is_not_done_on_import(write: Write) -> None:
    write(
        "tool.py",
        "import torch\n\n\ndef use():\n    return 1\n\n\nif __name__ == '__main__':\n    torch.manual_seed(0)\n",
    )
    assert seeds(write("train.py", "from tool import use\n\nuse()\n")) == 0


def test_a_lazy_package_gives_the_names_of_its_parts(write: Write) -> None:
    write(
        "nets/__init__.py",
        """
from typing import TYPE_CHECKING

from .lazy import LazyModule

_import_structure = {"net": ["Net"]}

if TYPE_CHECKING:
    from .net import Net
else:
    import sys

    sys.modules[__name__] = LazyModule(__name__, _import_structure)
""",
    )
    write(
        "nets/lazy.py",
        LAZY,
    )
    write("nets/net.py", NETS)
    assert any(
        "create Net" in line
        for line in told(write("train.py", "import torch\nfrom nets import Net\n\nmodel = Net()\n"))
    )


def test_an_alternative_that_cannot_be_imported_is_one(write: Write) -> None:
    write("nets.py", NETS)
    use = ALTERNATIVE
    assert any("create Net" in line for line in told(write("train.py", use)))


@pytest.mark.parametrize(
    "change",
    [
        "class Defaults:\n    STATE['mode'] = 'logits'\n",
        "class Defaults:\n    STATE.update(mode='logits')\n",
        "def apply(state):\n    state['mode'] = 'logits'\napply(STATE)\n",
        "def apply(state=STATE):\n    state['mode'] = 'logits'\napply()\n",
        "class Setter:\n    def apply(self):\n        STATE['mode'] = 'logits'\nSetter().apply()\n",
        "class Setter:\n    def apply(self):\n        STATE['mode'] = 'logits'\nsetter = Setter()\nsetter.apply()\n",
        "class Setter:\n    def __init__(self, state):\n        state['mode'] = 'logits'\nsetter = Setter(STATE)\n",
        "class Setter:\n    def __enter__(self):\n        STATE['mode'] = 'logits'\nwith Setter():\n    pass\n",
        "tables = {'state': STATE}\ntables['state']['mode'] = 'logits'\n",
        "(lambda state: state.update(mode='logits'))(STATE)\n",
    ],
    ids=(
        "body",
        "update in a body",
        "argument",
        "default",
        "method",
        "variable",
        "constructor",
        "with",
        "table",
        "lambda",
    ),
)
def test_what_changes_an_object_of_another_file_is_done_on_import(change: str, write: Write) -> None:
    """Nothing seeds, since importing `defaults` has changed the mode."""
    write("state.py", "STATE = {'mode': 'probabilities'}\n")
    write("defaults.py", f"from state import STATE\nNAME = 'net'\n{change}")
    assert seeds(write("train.py", CHOOSING)) == 0
