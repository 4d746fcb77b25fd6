"""Arguments that must be given and that the project's documentation shows: they come before what is made up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1)).backward()
    optimizer.step()
"""
PARSER = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("config")
parser.add_argument("-a", "--arch", required=True)
parser.add_argument("--num-classes", type=int, required=True)
parser.add_argument("--mode", choices=["x", "y"], required=True)
parser.add_argument("--data", choices=["imagenet", "fake"], required=True)
parser.add_argument("--extra", default="")
parser.add_argument("--resume", default="")
parser.add_argument("--out", required=True)
args = parser.parse_args()
assert (args.arch, args.num_classes, args.mode, args.data) == ("resnet18", 21, "y", "fake"), args
assert args.config == "conf/base.yaml" and args.extra.endswith("conf/extra.yaml") and not args.resume
assert all(type(each) in (str, int) for each in vars(args).values())
"""
README = """
# Net
Run train.py to train, or use python train.py with what you like.

```
python test.py --arch none
python train.py conf/base.yaml --eval --arch vgg --num-classes 9
CUDA_VISIBLE_DEVICES=0 python train.py conf/base.yaml \\
    -a resnet18 --num-classes=21 --mode y --data imagenet \\
    --extra conf/extra.yaml --resume conf/base.yaml --out <your output> > log.txt
```
"""
OTHERS: dict[str, tuple[str, dict[str, str], str]] = {
    "the words of a makefile": (
        """
import sys
data, epochs = sys.argv[1], int(sys.argv[2])
assert (data, epochs) == ('wiki', 7)
""",
        {"Makefile": "train:\n\tpython3 train.py wiki 7\n"},
        "'7' of Makefile:2 instead of `sys.argv[2]`",
    ),
    "a word that need not be given, and one that only names a number": (
        """
import sys
assert len(sys.argv) in (4, 5)
epochs = int(sys.argv[-1])
assert sys.argv[1:3] == ['model', 'rows.csv'] and epochs > 0, sys.argv
""",
        {"README.md": "```\npython3 train.py model rows.csv (held_out) num_epoch\n```\n"},
        "'rows.csv' of README.md:2 instead of `sys.argv[2]`",
    ),
    "variables of a shell script": (
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--size', type=int, required=True)
parser.add_argument('--kind', required=True)
assert parser.parse_args() == argparse.Namespace(size=48, kind='lstm')
""",
        {"scripts/run.sh": 'SIZE=48\nKIND="lstm"\npython train.py --size $SIZE --kind=${KIND} 2>&1 | tee log\n'},
        "the value in scripts/run.sh:3 instead of `--size 48`, `--kind lstm`",
    ),
    "an editor's settings": (
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--depth', type=int, required=True)
assert parser.parse_args().depth == 34
""",
        {
            ".vscode/launch.json": """{"configurations": [
                {"program": "${workspaceFolder}/train.py", "args": ["--depth", "34",]}, // comments
            ]}""".replace(" // comments", "")
        },
        "the value in .vscode/launch.json instead of `--depth 34`",
    ),
    "prose that is no command": (
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('epochs', type=int)
assert parser.parse_args().epochs == 2
""",
        {"README.md": "The file train.py 9 times trains. Then `rm -rf train.py 8` is no way to run it.\n"},
        "a placeholder value instead of `epochs 2`",
    ),
    "a configuration that has another name now": (
        """
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument('--config', required=True)
assert json.load(open(parser.parse_args().config)) == {'lr': 1}
""",
        {
            "README.md": "Train with `python train.py --config ./configs/cifar.json`.\n",
            "configs/base.json": "{}",
            "configs/cifar_large.json": '{"lr": 1}',
        },
        "the value in README.md:1 instead of `--config configs/cifar_large.json`",
    ),
    "settings in a file of Python": (
        """
import argparse, importlib.util
parser = argparse.ArgumentParser()
parser.add_argument('--config', required=True)
spec = importlib.util.spec_from_file_location('config', parser.parse_args().config)
config = importlib.util.module_from_spec(spec)
spec.loader.exec_module(config)
assert config.SIZE == 3
""",
        {"log_config.json": "{}", "net_config.py": "SIZE = 3\n"},
        "net_config.py` (required argument)",
    ),
}


def test_documented_values_come_first(run: Any, write: Callable[..., Any]) -> None:
    write("README.md", README)
    write("conf/base.yaml", "lr: 1\n")
    write("conf/extra.yaml", "lr: 1\n")
    write("train.py", PARSER + TRAIN)
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert "fails" not in err
    assert "the value in README.md:8 instead of `config conf/base.yaml`, `--arch resnet18`" in err


@pytest.mark.parametrize(("script", "files", "said"), OTHERS.values(), ids=list(OTHERS))
def test_they_may_be_anywhere(
    run: Any, write: Callable[..., Any], script: str, files: dict[str, str], said: str
) -> None:
    for name, text in files.items():
        write(name, text)
    write("train.py", script + TRAIN)
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert said in err


def test_a_configuration_of_hydra_gets_them(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("hydra")
    write("README.md", "Usage: `python train.py net.kind=vit +net.width=96`, and then wait.\n")
    write("conf/config.yaml", "net:\n  kind: ???\n  width: ???\n")
    body = "".join(f"    {line}\n" for line in TRAIN.splitlines())
    write(
        "train.py",
        "import hydra\n@hydra.main(config_path='conf', config_name='config', version_base=None)\ndef main(cfg):\n"
        f"    assert cfg.net.kind == 'vit' and cfg.net.width == 96, cfg\n{body}\nmain()\n",
    )
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert "the value in README.md:1 instead of `net.kind=vit`, `net.width=96`" in err
