"""Arguments that are configurations, by what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

CHECK = """
import torch
assert cfg["lr"] == 0.1 and cfg["hidden"] == 16, cfg
print(torch.zeros(1))
"""
SCRIPTS = {
    "a word of the command line": """
import json, sys
if len(sys.argv) < 2:
    sys.exit("usage: train.py config")
cfg = json.load(open(sys.argv[1]))
""",
    "an open file": """
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("-p", "--params", type=argparse.FileType("r"), required=True)
cfg = json.load(parser.parse_args().params)
""",
    "the name of a file in a folder": """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
args = parser.parse_args()
with open(os.path.join("settings", args.config)) as file:
    cfg = json.load(file)
""",
    "a part of the name of a file": """
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("--experiment", required=True)
args = parser.parse_args()
with open(f"settings/{args.experiment}.json") as file:
    cfg = json.load(file)
""",
    "a function that reads it": """
import argparse
from reading import read
parser = argparse.ArgumentParser()
parser.add_argument("--params", required=True)
cfg = read(True, parser.parse_args().params)
""",
    "a module": """
import argparse, importlib
parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
cfg = vars(importlib.import_module(parser.parse_args().config))
""",
    "an option without which it fails": """
import argparse, json
first = argparse.ArgumentParser(add_help=False)
first.add_argument("-c", "--config", default="")
args, rest = first.parse_known_args()
second = argparse.ArgumentParser()
second.add_argument("--lr", type=float)
second.add_argument("--hidden", type=int)
if args.config:
    second.set_defaults(**json.load(open(args.config)))
args = second.parse_args(rest)
if args.lr is None:
    raise ValueError("no rate")
cfg = vars(args)
""",
    "an option of optparse": """
import json
from optparse import OptionParser
parser = OptionParser()
parser.add_option("-c", "--config", dest="config")
options, _ = parser.parse_args()
if not options.config:
    parser.error("give a configuration")
cfg = json.load(open(options.config))
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_file_of_the_project_is_given(run: Callable[..., Any], write: Callable[..., Any], name: str) -> None:
    write("settings/small.json", '{"lr": 0.1, "hidden": 16}')
    write("configs/small.py", "lr = 0.1\nhidden = 16\n")
    write(
        "reading.py",
        "import json\n\ndef read(strict, path):\n    with open(path) as file:\n        return json.load(file)\n",
    )
    write("train.py", SCRIPTS[name] + CHECK)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "fail" not in outcome.err, outcome.err
    assert "placeholder values" not in outcome.err
    assert "reached 0 optimizer steps" in outcome.err


def test_what_a_function_of_another_file_compares_is_a_choice(
    run: Callable[..., Any], write: Callable[..., Any]
) -> None:
    write(
        "models.py",
        "def build(name):\n    if name == 'unet':\n        return 1\n    raise ValueError('no such model')\n",
    )
    write(
        "train.py",
        """
import argparse
import torch
from models import build
parser = argparse.ArgumentParser()
parser.add_argument("-net", type=str, required=True)
build(parser.parse_args().net)
print(torch.zeros(1))
""",
    )
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "`-net unet`" in outcome.err
    assert "fails" not in outcome.err
