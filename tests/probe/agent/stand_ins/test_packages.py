"""Small packages that are not installed: what scripts use of them behaves as it does in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

TRAIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def run(lr, hidden, epochs, batch):
    loader = DataLoader(TensorDataset(torch.randn(24, 8), torch.randint(0, 3, (24,))), batch_size=batch)
    model = nn.Sequential(nn.Linear(8, hidden), nn.ReLU(), nn.Linear(hidden, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
"""

SCRIPTS = {
    "rootutils": """
import os
import rootutils
root = rootutils.setup_root(__file__, indicator="settings", pythonpath=True)
assert os.environ["PROJECT_ROOT"] == str(root) and (root / "settings").exists()
run(0.1, 16, 2, 8)
""",
    "yacs": """
from yacs.config import CfgNode as CN
cfg = CN()
cfg.TRAIN = CN()
cfg.TRAIN.LR, cfg.TRAIN.SIZES = 0.01, (1, 2)
cfg.MODEL = CN(new_allowed=True)
own = cfg.clone()
own.merge_from_file("settings/base.yaml")
own.merge_from_list(["TRAIN.LR", "0.2", "MODEL.NAME", "mlp"])
own.freeze()
assert own.TRAIN.LR == 0.2 and own.TRAIN.SIZES == (3, 4) and own.MODEL.HIDDEN == 16 and own.MODEL["NAME"] == "mlp"
assert cfg.TRAIN.LR == 0.01 and "HIDDEN" not in cfg.MODEL and "mlp" in own.dump()
run(own.TRAIN.LR, own.MODEL.HIDDEN, 2, 8)
""",
    "mmcv": """
import argparse
from mmcv import Config, DictAction
from mmcv.utils import Registry
parser = argparse.ArgumentParser()
parser.add_argument("config", help="train config file path")
parser.add_argument("--options", nargs="+", action=DictAction)
args = parser.parse_args()
cfg = Config.fromfile(args.config)
cfg.merge_from_dict({"optimizer.lr": 0.2})
assert cfg.optimizer.type == "SGD" and cfg.optimizer.lr == 0.2 and cfg.get("work_dir", None) is None
PARTS = Registry("parts")
@PARTS.register_module()
class Part:
    def __init__(self, size):
        self.size = size
assert PARTS.build(dict(type="Part", size=3)).size == 3 and "mlp" in cfg.filename
run(cfg.optimizer.lr, cfg.model.hidden, cfg.epochs, cfg["batch"])
""",
    "gflags": """
import sys
import gflags
FLAGS = gflags.FLAGS
gflags.DEFINE_float("rate", 0.1, "50% of it")
gflags.DEFINE_integer("hidden", 16, "")
gflags.DEFINE_bool("deep", True, "")
gflags.DEFINE_string("times", 400, "")
gflags.DEFINE_list("names", "a,b", "")
assert FLAGS([sys.argv[0], "--hidden=8", "--nodeep", "rest"])[1:] == ["rest"]
assert FLAGS.hidden == 8 and FLAGS.deep is False and FLAGS.times == 400 and FLAGS.names == ["a", "b"]
FLAGS(sys.argv)
FLAGS.deep = True
assert "rate" in FLAGS and FLAGS["rate"].value == 0.1
run(FLAGS.rate, FLAGS.hidden, 2, 8)
""",
    "absl": """
from absl import app, flags, logging
FLAGS = flags.FLAGS
flags.DEFINE_float("rate", 0.1, "")
flags.DEFINE_enum("kind", "a", ["a", "b"], "")
flags.DEFINE_integer("hidden", None, "", lower_bound=1)
flags.mark_flag_as_required("hidden")
def main(argv):
    logging.info("%s", FLAGS.kind)
    run(FLAGS.rate, FLAGS.hidden, 2, 8)
if __name__ == "__main__":
    app.run(main)
""",
    "tyro": """
from dataclasses import dataclass, field
from typing import Literal, Optional, Tuple
import tyro
@dataclass
class Opt:
    lr: float = 0.1
    betas: Tuple[float, float] = (0.9, 0.99)
@dataclass
class Args:
    width: int
    kind: Literal["a", "b"] = "b"
    epochs: Optional[int] = 2
    opt: Opt = field(default_factory=Opt)
args = tyro.cli(Args)
assert args.opt.betas == (0.9, 0.99) and args.kind == "b" and isinstance(args.width, int)
run(args.opt.lr, args.width, args.epochs, 8)
""",
    "simple_parsing": """
from dataclasses import dataclass
from simple_parsing import ArgumentParser, choice, field, parse
@dataclass
class Settings:
    lr: float = 0.1
    hidden: int = field(default=16, alias="h")
    kind: str = choice("a", "b", default="a")
parser = ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_arguments(Settings, dest="own")
args = parser.parse_args()
assert parse(Settings) == args.own and args.own.kind == "a"
run(args.own.lr, args.own.hidden, args.epochs, 8)
""",
    "tap": """
from tap import Tap
class Args(Tap):
    data: str
    lr: float = 0.1  # the rate
    hidden: int = 16
    fast: bool = False
    def configure(self):
        self.add_argument("-d", "--data")
    def process_args(self):
        self.twice = self.hidden * 2
args = Args().parse_args()
assert args.fast is False and isinstance(args.data, str) and args.as_dict()["hidden"] == 16
run(args.lr, args.twice, 2, 8)
""",
    "jsonargparse": """
from jsonargparse import ActionConfigFile, ArgumentParser
parser = ArgumentParser()
parser.add_argument("--config", action=ActionConfigFile)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--model.hidden", type=int, default=16)
cfg = parser.parse_args()
run(cfg.lr, cfg.model.hidden, 2, 8)
""",
    "pyrallis": """
from dataclasses import dataclass, field
import pyrallis
@dataclass
class Model:
    hidden: int = 16
@dataclass
class Settings:
    lr: float = 0.1
    model: Model = field(default_factory=Model)
@pyrallis.wrap()
def main(cfg: Settings):
    run(cfg.lr, cfg.model.hidden, 2, 8)
main()
""",
    "ml_collections": """
import ml_collections
from ml_collections import config_dict
cfg = ml_collections.ConfigDict({"lr": 0.1})
cfg.model = model = ml_collections.ConfigDict()
model.hidden = 16
cfg.name = config_dict.placeholder(str)
cfg = ml_collections.FrozenConfigDict(cfg)
assert cfg.name is None and cfg.to_dict() == {"lr": 0.1, "model": {"hidden": 16}, "name": None}
run(cfg.lr, cfg.model.hidden, 2, 8)
""",
    "addict": """
from addict import Dict
from munch import munchify
import copy, pickle
cfg = Dict()
cfg.model.hidden = 16
assert not cfg.other and "other" not in cfg and copy.deepcopy(cfg).model.hidden == 16
own = munchify({"train": {"lr": 0.1}, "all": [{"a": 1}]})
assert pickle.loads(pickle.dumps(own)).all[0].a == 1
run(own.train.lr, cfg.model.hidden, 2, 8)
""",
    "toml": """
import toml
from ruamel.yaml import YAML
from unidecode import unidecode
cfg = YAML(typ="safe").load(open("settings/base.yaml"))
assert unidecode("Ünï") == "Uni"
own = {"epochs": 2, "name": "a", "model": {"sizes": [1, 2], "deep": {"on": True}}}
assert toml.loads(toml.dumps(own)) == own
run(cfg["TRAIN"]["LR"], cfg["MODEL"]["HIDDEN"], toml.loads("epochs = 2")["epochs"], 8)
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_scripts_use_of_a_package_is_there(run: Callable[..., Any], write: Callable[..., Any], name: str) -> None:
    if name in ("yacs", "toml"):
        pytest.importorskip("yaml")
    if name == "toml":
        pytest.importorskip("tomllib")
    write("settings/base.yaml", "TRAIN:\n  LR: 0.1\n  SIZES: [3, 4]\nMODEL:\n  HIDDEN: 16\n")
    write("configs/_base_/schedule.py", "optimizer = dict(type='SGD', lr=0.1)\nepochs = 2\n")
    write("configs/mlp.py", "_base_ = ['./_base_/schedule.py']\nmodel = dict(hidden=16)\nbatch = 8\n")
    write("train.py", TRAIN + SCRIPTS[name])
    outcome = run("scan", "--probe", "train.py")
    assert "reached 6 optimizer steps" in outcome.err, outcome.err
    assert "fail" not in outcome.err


def test_texts_are_taken_apart_without_the_packages_for_it(run: Any, write: Callable[[str, str], Any]) -> None:
    script = """
import jieba
import MeCab
import spacy
import torch
from konlpy.tag import Okt
from sacremoses import MosesTokenizer

nlp = spacy.load("en_core_web_sm")
text = "the cat sat."
words = ["the", "cat", "sat", "."]
assert Okt().morphs(text) == words and Okt().pos(text, join=True)[0] == "the/Noun"
assert jieba.lcut("\u732b\u5728") == ["\u732b", "\u5728"]
assert MeCab.Tagger("-Owakati").parse(text).split() == words
assert [each.text for each in nlp(text)] == words == [str(each) for each in nlp.tokenizer(text)]
assert MosesTokenizer("en").tokenize(text) == words
model = torch.nn.EmbeddingBag(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.tensor([[words.index(each) for each in words]])).sum().backward()
    optimizer.step()
"""
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "reached 2 optimizer steps" in outcome.err, outcome.err
    assert "texts taken apart at spaces and marks instead of `jieba`, `MeCab`, `spacy`, `konlpy`" in outcome.err
