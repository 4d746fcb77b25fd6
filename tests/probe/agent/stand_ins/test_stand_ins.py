"""What stands in for what is not there, told by runs of scripts that miss it; libraries that only users have are small copies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome
Write = Any

pytestmark = pytest.mark.usefixtures("farm", "records")

TRAIN = """
import torch
from torch import nn
model = nn.Linear({features}, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs.flatten(1).float()), targets.long())
    loss.backward()
    optimizer.step()
"""
VISION = """
import torch
from torch.utils.data import Dataset

class VisionDataset(Dataset):
    def __init__(self, root=None, transforms=None, transform=None, target_transform=None):
        self.root, self.transform, self.target_transform, self.transforms = root, transform, target_transform, transforms

class FakeData(VisionDataset):
    pass

class DatasetFolder(VisionDataset):
    pass

class MNIST(VisionDataset):
    classes = ["0 - zero"]

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        if download:
            raise AssertionError("nothing is downloaded")
        raise RuntimeError("Dataset not found. You can use download=True to download it")

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image = self.data[index]
        return (self.transform(image) if self.transform else image), int(self.targets[index])
"""


@pytest.fixture
def probe(run: Run, write: Write) -> Callable[..., Any]:
    """Probes a script that is written first; gives what the command left behind."""

    def probed(script: str, *arguments: str) -> Any:
        write("train.py", script)
        return run("scan", "train.py", "--probe", "--isolated", *(["--", *arguments] if arguments else []))

    return probed


def test_a_dataset_of_torchvision_is_random_rows_of_its_size_and_its_transform(
    probe: Callable[..., Any], write: Write
) -> None:
    write("torchvision/__init__.py", "")
    write("torchvision/datasets/__init__.py", VISION)
    script = """
from torch.utils.data import DataLoader
from torchvision import datasets
data = datasets.MNIST("data", download=True, transform=lambda image: image / 255)
assert len(data) == 60000 and data[0][0].shape == (28, 28) and data[0][0].max() <= 1
assert len(datasets.MNIST("data", train=False)) == 10000
loader = DataLoader(data, batch_size=50, shuffle=True)
"""
    outcome = probe(script + TRAIN.format(features=784))
    assert "reached 6 optimizer steps" in outcome.err
    assert (
        "60000 random samples 28×28, 10 classes instead of `torchvision.datasets.MNIST` (data not found)" in outcome.err
    )
    assert "fails" not in outcome.err


LOADER = """
from torch.utils.data import DataLoader, TensorDataset
import torch
"""
ARGUMENTS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, required=True)
parser.add_argument("--optim", choices=["adam", "sgd"], required=True)
parser.add_argument("--dataset", required=True)
parser.add_argument("--save-dir", required=True)
parser.add_argument("--lr", type=float, default=0.5)
args = parser.parse_args()
if args.dataset == "imagenet":
    raise SystemExit("too big")
elif args.dataset == "fake":
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,))), batch_size=16)
print(args)
"""


def test_arguments_that_must_be_given_are_filled_by_their_type_choices_use_and_name(probe: Callable[..., Any]) -> None:
    outcome = probe(LOADER + ARGUMENTS + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    filled = "a placeholder value instead of `--layers 2`, `--optim adam`, `--dataset fake`, `--save-dir torch-doctor/save_dir`"
    assert filled in outcome.err


def test_arguments_that_are_given_stay_as_they_are(probe: Callable[..., Any]) -> None:
    given = ("--layers", "7", "--optim=sgd", "--dataset", "fake", "--save-dir", "out")
    outcome = probe(LOADER + ARGUMENTS + "assert args.layers == 7\n" + TRAIN.format(features=4), *given)
    assert "reached 4 optimizer steps" in outcome.err
    assert "made up" not in outcome.err


FORMS = """
import argparse

def flag(text):
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError("true or false")
    return text.lower() == "true"

parser = argparse.ArgumentParser()
parser.add_argument("--passphrase", required=True, help="what opens the vault")
parser.add_argument("--cuda", type=flag, required=True)
parser.add_argument("--window", type=lambda text: tuple(map(int, text.split(","))), required=True)
parser.add_argument("--betas", type=float, nargs=2, required=True)
parser.add_argument("--pages", required=True)
parser.add_argument("--scheme", required=True)
parser.add_argument("--do_train", action="store_true")
parser.add_argument("--mode", choices=["test", "train"], default="test")
args = parser.parse_args()
assert args.do_train and args.mode == "train" and len(args.betas) == 2
assert int(args.pages) and {"big": 1, "tiny": 2}[args.scheme] == 2
"""


def test_arguments_of_any_form_have_a_value_that_their_type_and_use_take(probe: Callable[..., Any]) -> None:
    outcome = probe(LOADER + FORMS)
    assert outcome.err.count("a placeholder value instead of `--passphrase probe`, `--cuda true`") == 1
    assert "fails" not in outcome.err


WORDS = """
import sys
import torch
if len(sys.argv) != 4:
    sys.exit("usage: train.py train data epochs")
rest = sys.argv[1:]
mode, _ = rest[0], sys.argv[2]
epochs = int(sys.argv[3])
layers, width = map(int, input("layers and width: ").split())
while True:
    answer = input("Start? [y/n] ")
    if answer == "n":
        raise SystemExit("no")
    if answer == "y":
        break
while True:
    try:
        rate = float(input("rate: "))
        break
    except ValueError:
        print("again")
if mode == "test":
    raise SystemExit("tested")
elif mode == "train":
    print(torch.zeros(epochs, layers, width) * rate)
"""


def test_the_command_line_and_the_terminal_give_what_the_script_does_something_with(probe: Callable[..., Any]) -> None:
    outcome = probe(WORDS)
    assert "'train' instead of `sys.argv[1]`" in outcome.err
    assert "the answer '2 2' instead of `input()`" in outcome.err
    assert "left with" not in outcome.err
    assert "fails" not in outcome.err


def test_a_question_that_no_answer_ends_is_the_end_of_the_run(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
while True:
    try:
        if input("word: ") == str(torch.initial_seed()):
            break
    except EOFError:
        continue
""")
    assert "the script keeps asking for input and accepts none of the probe's answers" in outcome.err


def test_a_missing_text_is_made_up_where_it_is_read(probe: Callable[..., Any]) -> None:
    script = """
import os
import torch
from torch.utils.data import DataLoader, TensorDataset
assert os.path.exists("corpus/train.txt")
with open("corpus/train.txt") as file:
    words = [word for line in file for word in line.split()]
assert not os.path.exists("checkpoint.txt")  # nobody demands it
numbers = torch.tensor([len(word) % 10 for word in words[:256]])
loader = DataLoader(TensorDataset(numbers.reshape(-1, 4), numbers[:64]), batch_size=16)
"""
    outcome = probe(script + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    assert "2000 lines of synthetic text instead of `corpus/train.txt` (file not found)" in outcome.err


def test_missing_numbers_are_small_ones(probe: Callable[..., Any]) -> None:
    script = """
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
tokens = np.memmap("train.bin", dtype=np.uint16, mode="r")
assert tokens.max() < 64
data = torch.from_numpy(tokens[:256].astype("int64")).reshape(-1, 4)
loader = DataLoader(TensorDataset(data, data[:, 0] % 10), batch_size=16)
"""
    outcome = probe(script + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    assert "random numbers uint16 below 64 instead of `train.bin`" in outcome.err


WEIGHTS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,))), batch_size=16)
backbone = nn.Linear(4, 4)
before = backbone.weight.clone()
"""


def test_a_missing_checkpoint_and_fetched_weights_leave_the_random_ones(probe: Callable[..., Any]) -> None:
    script = """
backbone.load_state_dict(torch.hub.load_state_dict_from_url("https://example.com/resnet.pth"))
checkpoint = torch.load("last.pt", weights_only=True)
backbone.load_state_dict(checkpoint["model"])
torch.optim.SGD(backbone.parameters(), lr=0.1).load_state_dict(checkpoint["optimizer"])
assert checkpoint["epoch"] == 0 and torch.equal(before, backbone.weight)
"""
    outcome = probe(WEIGHTS + script + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    assert "instead of `resnet.pth` (the probe downloads nothing)" in outcome.err
    assert "instead of `last.pt` (checkpoint not found)" in outcome.err


def test_data_in_a_missing_file_of_torch_is_known_by_its_use_alone(probe: Callable[..., Any]) -> None:
    outcome = probe("import torch\ndata = torch.load('traindata.pt', weights_only=True)\nprint(data.shape)\n")
    assert "placeholder values inferred from their use instead of `line 2` (the data cannot be read" in outcome.err
    assert "No such file or directory: 'traindata.pt'" in outcome.err


def test_folders_for_output_are_made_and_nothing_is_left_in_the_project(probe: Callable[..., Any], folder: Any) -> None:
    script = """
import os
os.mkdir("results/run")
with open("logs/a/log.txt", "w") as file:
    file.write("begun")
assert open("logs/a/log.txt").read() == "begun"
torch.save(backbone.state_dict(), "models/best.pt")
backbone.load_state_dict(torch.load("models/best.pt", weights_only=True))
"""
    outcome = probe(WEIGHTS + script + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    assert "fails" not in outcome.err
    assert entries(folder) == ["train.py"]


def test_a_script_of_a_package_is_run_as_its_module(run: Run, write: Write) -> None:
    write("package/__init__.py", "")
    write("package/data.py", WEIGHTS)
    write("package/train.py", "from .data import loader\n" + TRAIN.format(features=4))
    outcome = run("scan", "package/train.py", "--probe", "--isolated")
    assert "reached 4 optimizer steps" in outcome.err
    assert "it is part of a package and was run as `python -m package.train`" in outcome.err


def test_the_projects_own_modules_are_found_as_if_installed(run: Run, write: Write) -> None:
    write("pyproject.toml", "")
    write("vault/__init__.py", WEIGHTS)
    write("tools/train.py", "from vault import loader\n" + TRAIN.format(features=4))
    outcome = run("scan", "tools/train.py", "--probe", "--isolated")
    assert "reached 4 optimizer steps" in outcome.err
    assert "vault is imported from the project itself, as if it were installed" in outcome.err


def test_a_folder_of_modules_is_imported_before_a_module_in_it(run: Run, write: Write) -> None:
    write("pyproject.toml", "")
    write("vault/vault.py", WEIGHTS)
    write("vault/sizes.py", "many = 3\n")
    write("tools/train.py", "from vault.vault import loader\nfrom vault.sizes import many\n" + TRAIN.format(features=4))
    outcome = run("scan", "tools/train.py", "--probe", "--isolated")
    assert "reached 4 optimizer steps" in outcome.err
    assert "fails" not in outcome.err


def test_a_script_that_imports_from_its_own_folder_by_name_is_run_as_its_module(run: Run, write: Write) -> None:
    write("pyproject.toml", "")
    write("settings.py", "many = 3\n")
    write("vault/vault.py", WEIGHTS)
    write("vault/train.py", "import settings\nfrom vault.vault import loader\n" + TRAIN.format(features=4))
    outcome = run("scan", "vault/train.py", "--probe", "--isolated")
    assert "reached 4 optimizer steps" in outcome.err
    assert "it is part of a package and was run as `python -m vault.train`" in outcome.err


def test_cuda_trackers_and_progress_bars_stand_in(probe: Callable[..., Any]) -> None:
    script = """
import wandb
from tqdm import tqdm
assert torch.device("cuda").type == "cuda"
backbone = backbone.cuda()
x = torch.zeros(2, 4, device="cuda")
wandb.init(project="x", config={"lr": 0.1})
wandb.log({"loss": backbone(x).sum().item()})
loader = tqdm(loader, desc="train")
"""
    outcome = probe(WEIGHTS + script + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    assert "the CPU instead of `cuda`" in outcome.err
    assert "calls that log nothing instead of `wandb` (experiment tracker)" in outcome.err


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_lazy_layers_are_moved_before_they_have_a_shape(probe: Callable[..., Any], device: str) -> None:
    lazy = f"""
backbone = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(4)).to("{device}")
backbone(torch.zeros(2, 4, device="{device}"))
optimizer = torch.optim.SGD(backbone.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    backbone(torch.randn(2, 4).to("{device}")).pow(2).mean().backward()
    optimizer.step()
"""
    outcome = probe("import torch\nfrom torch import nn\n" + lazy)
    assert "reached 3 optimizer steps" in outcome.err
    assert "fail" not in outcome.err


def test_a_module_that_plays_a_part_is_named(probe: Callable[..., Any]) -> None:
    outcome = probe("import torch\nimport torch_geometric\n")
    assert "the script imports torch_geometric, which is not installed: install torch-geometric" in outcome.err


def test_a_package_that_holds_the_loop_ends_the_run_where_it_is_used(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
import keras.inner as inner
from keras import Base, registry
from torch import nn

@registry.register("net")
class Net(nn.Linear):
    pass

class Sub(Base):
    pass

def unused(table: inner.Table | None = None):
    return inner.read(table)

model = Net(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).mean().backward()
    optimizer.step()
registry.run(unused)
""")
    assert "reached 2 optimizer steps" in outcome.err
    assert "train.py fails: ModuleNotFoundError: No module named 'keras'" in outcome.err
    assert "in <module>: registry.run(unused)" in outcome.err


def test_apex_is_what_torch_has_of_it(probe: Callable[..., Any]) -> None:
    script = """
import torch
from torch.utils.data import DataLoader, TensorDataset
from apex import amp
from apex.parallel import convert_syncbn_model
from apex.optimizers import FusedAdam
model = convert_syncbn_model(torch.nn.Linear(4, 1))
optimizer = FusedAdam(model.parameters(), lr=0.1, adam_w_mode=False)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for (inputs,) in DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8):
    optimizer.zero_grad()
    with amp.scale_loss(model(inputs).mean(), optimizer) as scaled:
        scaled.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
"""
    outcome = probe(script)
    assert "reached 4 optimizer steps" in outcome.err
    assert "the equivalents in torch, in float32 instead of `apex` (package not installed)" in outcome.err


TIMM = """
from torch import nn
from .models import _builder

def create_model(name, pretrained=False, num_classes=10):
    model = nn.Linear(4, num_classes)
    if pretrained:
        _builder.load_pretrained(model, {"architecture": name})
    return model
"""


def test_pretrained_models_of_timm_and_torch_hub_have_random_weights(probe: Callable[..., Any], write: Write) -> None:
    write("timm/__init__.py", TIMM)
    write("timm/models/__init__.py", "")
    write(
        "timm/models/_builder.py",
        "def load_pretrained(model, pretrained_cfg=None):\n    raise OSError('no connection')\n",
    )
    script = """
import timm
assert timm.create_model("resnet18", pretrained=True, num_classes=7).out_features == 7
hub = torch.hub.load("rwightman/pytorch-image-models", "resnet50", pretrained=True, trust_repo=True)
"""
    outcome = probe(WEIGHTS + script + TRAIN.format(features=4))
    assert "reached 4 optimizer steps" in outcome.err
    assert "`resnet18`, `resnet50` (the probe downloads nothing)" in outcome.err
    assert "instead of `torch.hub.load('rwightman/pytorch-image-models', 'resnet50')`" in outcome.err


def test_a_model_of_torch_hub_that_only_the_hub_has_is_named(probe: Callable[..., Any]) -> None:
    outcome = probe("import torch\ntorch.hub.load('somebody/models', 'big')\n")
    assert "the script downloads big of somebody/models with torch.hub: download it first" in outcome.err


STEPS = "def go():\n" + "".join(f"    {line}\n" for line in TRAIN.format(features=4).strip().splitlines())
FIRE = """
import fire

def test(checkpoint):
    raise SystemExit("nothing was trained")

def train(data_path, epochs: int, layers: int, *, optimizer, lr=0.5):
    assert optimizer in ("sgd", "adam")
    print(data_path, epochs, layers, lr)
    go()

fire.Fire({"test": test, "train": train})
"""


def test_what_fire_calls_gets_the_parameters_that_are_missing(probe: Callable[..., Any]) -> None:
    outcome = probe(WEIGHTS + STEPS + FIRE)
    assert "reached 4 optimizer steps" in outcome.err
    assert "the command that trains instead of `the command 'train'`" in outcome.err
    filled = "`--data_path torch-doctor/data_path`, `--epochs 2`, `--layers 2`, `--optimizer sgd`"
    assert f"a placeholder value instead of {filled}" in outcome.err


def test_what_is_given_to_fire_stays_as_it_is(probe: Callable[..., Any]) -> None:
    outcome = probe(WEIGHTS + STEPS + FIRE, "train", "here", "--layers", "7", "--epochs=2")
    assert "reached 4 optimizer steps" in outcome.err
    assert "a placeholder value instead of `--optimizer sgd`" in outcome.err


HYDRA = """
import hydra

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
    assert config.epochs == 2 and config.model.layers == 2 and config.data_dir and config.optimizer.name == "adam"
    go()

main()
"""


def test_what_a_configuration_leaves_open_is_filled(probe: Callable[..., Any], write: Write) -> None:
    write("conf/config.yaml", "defaults:\n- optimizer: ???\nepochs: ???\ndata_dir: ???\nmodel:\n  layers: ???\n")
    write("conf/optimizer/adam.yaml", "name: adam\n")
    outcome = probe(WEIGHTS + STEPS + HYDRA)
    assert "reached 4 optimizer steps" in outcome.err
    assert (
        "a placeholder value instead of `epochs=2`, `data_dir=torch-doctor/data_dir`, `model.layers=2`" in outcome.err
    )
    assert "the first choice instead of `optimizer=adam`" in outcome.err


PLUGIN = "defaults:\n- _self_\n- override hydra/job_logging: colorlog\n- override hydra/sweeper: optuna\nlayers: 2\n"


def test_a_plugin_of_hydra_that_is_not_there_is_none_that_trains(probe: Callable[..., Any], write: Write) -> None:
    write("conf/config.yaml", PLUGIN)
    asserted = next(line for line in HYDRA.splitlines() if "assert" in line)
    outcome = probe(WEIGHTS + STEPS + HYDRA.replace(asserted, "    assert config.layers == 2"))
    assert "reached 4 optimizer steps" in outcome.err, outcome.err
    assert "default instead of `hydra/job_logging=colorlog`" in outcome.err
    assert "basic instead of `hydra/sweeper=optuna` (a plugin that is not installed)" in outcome.err


CLASSES = """
from dataclasses import dataclass
import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

@dataclass
class Optimizer:
    name: str = "sgd"
    lr: float = 0.1

@dataclass
class Settings:
    optimizer: Optimizer = MISSING
    folder: str = "${hydra:runtime.cwd}/data"

store = ConfigStore.instance()
store.store(name="settings", node=Settings)
store.store(group="optimizer", name="sgd", node=Optimizer)

@hydra.main(version_base=None, config_name="settings")
def main(cfg):
    if cfg.optimizer.name != "sgd" or not cfg.folder.endswith("/data"):
        raise ValueError(cfg)
    go()

main()
"""


def test_a_group_of_configurations_is_chosen_from_and_references_wait(probe: Callable[..., Any], write: Write) -> None:
    write("README.md", "python train.py --cfg job\n")
    outcome = probe(WEIGHTS + STEPS + CLASSES)
    assert "reached 4 optimizer steps" in outcome.err
    assert "one of the choices instead of `optimizer=sgd`" in outcome.err
    assert "--cfg" not in outcome.err


def test_a_model_is_what_from_pretrained_gets(probe: Callable[..., Any]) -> None:
    script = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--checkpoint", required=True)
args = parser.parse_args()
assert args.checkpoint == "gpt2"
if args is None:
    AutoModelForCausalLM.from_pretrained(args.checkpoint)
"""
    assert "reached 4 optimizer steps" in probe(WEIGHTS + script + TRAIN.format(features=4)).err


NLTK = {
    "nltk/__init__.py": (
        "from .corpus import util\nfrom .tokenize import sent_tokenize\nfrom .tag import pos_tag\n"
        "from .downloader import download\n"
    ),
    "nltk/tag/__init__.py": "def pos_tag(tokens):\n    raise LookupError('tagger')\n",
    "nltk/downloader.py": """
class Downloader:
    def download(self, name):
        raise OSError("nothing is fetched")

_downloader = Downloader()
download = _downloader.download
""",
    "nltk/tokenize/__init__.py": """
def sent_tokenize(text):
    raise LookupError("punkt")

word_tokenize = sent_tokenize
""",
    "nltk/corpus/__init__.py": (
        "from .util import LazyCorpusLoader\n"
        "stopwords, wordnet = LazyCorpusLoader('stopwords'), LazyCorpusLoader('wordnet')\n"
    ),
    "nltk/corpus/util.py": """
class LazyCorpusLoader:
    def __init__(self, name):
        self.__name = name

    def __getattr__(self, name):
        raise LookupError(name)
""",
}


def test_data_of_nltk_is_what_punctuation_tells(probe: Callable[..., Any], write: Write) -> None:
    for name, text in NLTK.items():
        write(name, text)
    outcome = probe("""
import nltk
import torch
from nltk.corpus import stopwords, wordnet
from nltk.tokenize import word_tokenize
nltk.download("punkt")
assert nltk.sent_tokenize("So it is. And so?") == ["So it is.", "And so?"]
assert word_tokenize("So it is.") == ["So", "it", "is", "."]
assert "the" in stopwords.words("english")
assert wordnet.NOUN == "n"
assert wordnet._morphy("words", wordnet.NOUN) == wordnet.synsets("words") == []
assert nltk.pos_tag(["so", "it", "is"])[0] == ("so", "NN")
""")
    assert "fails" not in outcome.err, outcome.err
    assert "instead of `nltk.corpus.stopwords` (nltk data not found)" in outcome.err


READS_SETTINGS = """
import argparse, json
import torch
parser = argparse.ArgumentParser()
{argument}
args = parser.parse_args()
assert args.settings_cfg is not None, "give a configuration"
with open(args.settings_cfg) as file:
    settings = json.load(file)
model = torch.nn.Linear(4, settings["classes"])
optimizer = torch.optim.SGD(model.parameters(), lr=settings["rate"])
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("option", ["default=None", "required=True"])
def test_a_configuration_is_found_by_the_keys_that_the_code_spells(
    probe: Callable[..., Any], write: Write, option: str
) -> None:
    write("experiments/first.json", '{"rate": 0.1, "classes": 3}')
    write("assets/colours.json", '{"red": 1, "green": 2}')
    outcome = probe(READS_SETTINGS.format(argument=f'parser.add_argument("--settings_cfg", {option})'))
    assert "experiments/first.json` (required argument)" in outcome.err
    assert "reached 2 optimizer steps" in outcome.err


def test_a_file_that_is_named_by_its_place_on_another_machine_is_found_in_the_project(
    probe: Callable[..., Any], write: Write
) -> None:
    write("cfg/bird.json", '{"rate": 0.1, "classes": 3}')
    script = READS_SETTINGS.format(
        argument='parser.add_argument("--settings_cfg", default="/home/me/net/cfg/bird.json")'
    )
    outcome = probe(script)
    assert "the project's own `cfg/bird.json` instead of `/home/me/net/cfg/bird.json`" in outcome.err
    assert "reached 2 optimizer steps" in outcome.err


def test_each_of_several_configurations_is_the_file_of_its_name(probe: Callable[..., Any], write: Write) -> None:
    write("config/a/model.json", '{"classes": 3}')
    write("config/a/train.json", '{"rate": 0.1}')
    script = """
import argparse, json
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--train_config", required=True)
parser.add_argument("--model_config", required=True)
args = parser.parse_args()
assert json.load(open(args.model_config)) == {"classes": 3} and json.load(open(args.train_config)) == {"rate": 0.1}
"""
    assert "fails" not in probe(script).err


GIVES_BATCHES = """
import time
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset
torchvision.datasets.MNIST("data")

class Pictures(Dataset):
    samples = list(range(256))
    {loader}

    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.randn(4)

sizes = []
for batch in DataLoader(Pictures(), batch_size=64, drop_last={dropped}):
    sizes.append(len(batch))
    ends = time.thread_time() + {seconds}
    while time.thread_time() < ends and len(sizes) == 1:
        pass
assert sizes[:2] == {sizes}, sizes
"""


@pytest.mark.parametrize(
    ("loader", "dropped", "seconds", "sizes"),
    [
        ("loader = open", False, 0, [16, 16]),
        ("loader = open", True, 0, [64, 64]),
        ("other = open", False, 0, [64, 64]),
        ("other = open", False, 4.2, [64, 4]),
    ],
    ids=["large pictures", "an incomplete batch is dropped", "small rows", "a slow model"],
)
def test_batches_of_made_up_data_are_smaller_where_the_cpu_takes_long(
    probe: Callable[..., Any],
    write: Write,
    loader: str,
    dropped: bool,
    seconds: float,
    sizes: list[int],
) -> None:
    write("torchvision/__init__.py", "from . import datasets")
    write("torchvision/datasets.py", VISION)
    outcome = probe(GIVES_BATCHES.format(loader=loader, dropped=dropped, seconds=seconds, sizes=sizes))
    assert "fails" not in outcome.err, outcome.err
    assert ("instead of `batches of 64 samples`" in outcome.err) is (sizes != [64, 64])


UNREADABLE = """
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Pictures(Dataset):
    def __init__(self, root, part):
        self.names = sorted(os.listdir(os.path.join(root, part)))
    def __len__(self):
        return len(self.names)
    def __getitem__(self, index):
        return torch.load(self.names[index])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Dropout(), nn.Linear(4 * 30 * 30, 5)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
train, test = (DataLoader(Pictures("/data/scans", part), batch_size=8, shuffle=part == "train") for part in ("train", "test"))
for epoch in range(3):
    for pictures, labels in train:
        loss = criterion(model(pictures.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
    right = 0
    with torch.no_grad():
        for pictures, labels in test:
            right += (model(pictures.to(device)).argmax(1) == labels.to(device)).sum().item()
"""


def test_a_dataset_that_cannot_read_gives_the_batches_that_the_loop_takes(probe: Callable[..., Any], run: Run) -> None:
    outcome = probe(UNREADABLE)
    assert "reached 6 optimizer steps" in outcome.err
    given = "batches that fit the loop (8×1×32×32 float32, 8 int64 below 5) instead of `batches of Pictures`"
    assert f"{given} (the data cannot be read" in outcome.err
    assert "No such file or directory: '/data/scans/train'" in outcome.err
    assert "TDR101" in outcome.out
    assert "TDR401" in outcome.out
    assert outcome.out.count("confirmed") == 2
    assert re.search(
        r"\d+ checks (?:need real data|cannot be judged with substitutes) \(`torch-doctor scan --probe -v` lists them\)",
        outcome.err,
    )
    assert "TDR207" not in outcome.err
    told = re.search(r"not checked: (.*)", run("scan", "train.py", "--probe", "--isolated", "-v").err)
    assert told is not None
    assert re.search("TDR207.*TDR711.*TDR712", told[1])
    assert re.search("TDR107|TDR206|TDR214|TDR705|TDR816", told[1]) is None


def test_an_error_of_a_dataset_with_its_data_is_the_scripts_own(probe: Callable[..., Any]) -> None:
    outcome = probe(UNREADABLE.replace("os.listdir(os.path.join(root, part))", "range(20)"))
    assert "train.py fails on its own: AttributeError: 'int' object has no attribute" in outcome.err
    assert "batches that fit the loop" not in outcome.err


def test_numbers_are_made_up_as_the_code_takes_files_apart(probe: Callable[..., Any]) -> None:
    script = """
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
def numbers(path):
    found = {}
    with open(path) as file:
        for line in file:
            fields = line.strip().split(",")
            found[int(fields[0])] = int(fields[3])
    return found
assert 2 < len(numbers("/data/map.names")) <= 64
words = np.genfromtxt("/data/cora.content", dtype=np.dtype(str))
assert words.shape[1] == 16 and words[0, 0].isdigit()
assert np.loadtxt("/data/cora.cites", dtype=np.int32).shape[1] == 2
data = np.load("/data/all.npz")
loader = DataLoader(TensorDataset(torch.from_numpy(data["rows"]), torch.from_numpy(data["labels"])), batch_size=16)
"""
    outcome = probe(script + TRAIN.format(features=16))
    assert "reached 6 optimizer steps" in outcome.err
    assert "2000 synthetic rows for each of rows, labels instead of `/data/all.npz` (file not found)" in outcome.err


def test_small_packages_are_a_few_lines(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
from easydict import EasyDict
from numba import jit, njit
from pkg_resources import parse_version
settings = EasyDict({"model": {"width": 3}, "rates": [{"first": 0.1}]})
settings.epochs = 2
assert settings.model.width == 3 and settings.rates[0].first == 0.1 and settings["epochs"] == 2
assert not hasattr(settings, "depth")

@njit
def one(value):
    return value + 1

@jit(nopython=True)
def two(value):
    return value + 2

assert one(1) == 2 and two(1) == 3 and parse_version(torch.__version__) > parse_version("1.9")
""")
    assert "fails" not in outcome.err
    assert "a dictionary with attributes instead of `easydict`" in outcome.err


def test_options_of_a_file_are_those_of_the_parser(probe: Callable[..., Any], write: Callable[..., Any]) -> None:
    write("README.md", "Train with `python train.py --config net.txt`.\n")
    write("net.txt", "# a net\nexpname = net\nwidths = [4, 8]\nuse_bias = True\nrate = 0.5\n\nother = 1\n")
    outcome = probe("""
import configargparse
import torch
parser = configargparse.ArgumentParser(default_config_files=["/etc/net.txt"])
parser.add_argument("--config", is_config_file=True, help="a file")
parser.add_argument("--expname", type=str, env_var="NAME")
parser.add_argument("--widths", type=int, nargs="+", default=[2])
parser.add_argument("--use_bias", action="store_true")
parser.add_argument("--rate", type=float, default=0.1)
parser.add("--steps", type=int, default=3)
args = parser.parse_args()
assert (args.expname, args.widths, args.use_bias, args.rate, args.steps) == ("net", [4, 8], True, 0.5, 3), args
print(torch.zeros(1))
""")
    assert "fails" not in outcome.err
    assert "the parser of argparse instead of `configargparse`" in outcome.err


def test_the_type_of_a_column_that_is_made_up_is_no_fault(probe: Callable[..., Any]) -> None:
    pytest.importorskip("pandas")
    outcome = probe("""
import pandas as pd
import torch
from torch import nn
table = pd.read_csv("churn.csv")
rows, exited = torch.tensor(table[["Balance", "Score"]].values).float(), torch.tensor(table["Exited"].astype(float).values)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
nn.functional.cross_entropy(model(rows), exited).backward()
optimizer.step()
""")
    assert "expected target dtype to be Long" in outcome.err
    assert "confirmed" not in outcome.out
