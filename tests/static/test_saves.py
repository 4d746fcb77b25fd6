"""Files that the scripts of a project save, as TDR603 asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READS = """
import os
import torch

def network(width, kind, root="weights"):
    model = torch.nn.Linear(6, 3)
    model.load_state_dict(torch.load(os.path.join(root, "leaf_w%d_%s.pth" % (width, kind)), weights_only=False))
    return model
"""
SAVES = "import os\nimport torch\n\nmodel = torch.nn.Linear(6, 3)\ntorch.save(model.state_dict(), {path})\n"


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ('os.path.join("weights", "{}_w{}_{}.pth".format("leaf", 8, "herb"))', True),
        ('f"weights/leaf_w{size}_{kind}.pth"', True),
        ('where("weights", "leaf_w" + size + "_" + kind + ".pth")', True),
        ('"weights/stem_w8_herb.pth"', False),
        ("where(8)", False),
    ],
)
def test_what_a_script_in_another_folder_saves_is_the_projects_own(
    path: str, own: bool, write: Callable[..., Path], folder: Path
) -> None:
    write("zoo/networks.py", READS)
    write("scripts/train.py", SAVES.format(path=path))
    rules = tuple(rule for rule in all_rules() if rule.code == "TDR603")
    assert bool(scan(Options(paths=(folder,), rules=rules)).findings) is not own
