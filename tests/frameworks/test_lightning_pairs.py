"""Scripts of Lightning with one bug each, and the same without it: `<<wrong||right>>`, the mark `#!` at the reported line."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest


class Script(NamedTuple):
    """What differs between the scripts: methods of the module, what `__init__` adds, what `fit` gets."""

    code: str
    methods: str = ""
    init: str = ""
    trainer: str = ""
    before: str = ""
    fit: str = "trainer.fit(net, train_loader, val_loader)"
    base: str = "pl.LightningModule"


TEMPLATE = """
import lightning.pytorch as pl
import torch
import torchmetrics
from lightning.pytorch.callbacks import GradientAccumulationScheduler
from lightning.pytorch.utilities import CombinedLoader
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def rows(count):
    y = torch.arange(count) * 2 // count
    return TensorDataset(torch.randn(count, 8) + y[:, None], y)


{before}


class Net({base}):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
        {init}

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y), batch_size=len(x))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    {methods}


train_loader = DataLoader(rows(320), batch_size=32, shuffle=True)
val_loader = DataLoader(rows(96), batch_size=32)
net = Net()
quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer = pl.Trainer(max_epochs=4, accelerator="cpu", **quiet{trainer})
{fit}
"""
COMMAND_LINE = """
from lightning.pytorch.cli import LightningCLI


class Data(pl.LightningDataModule):
    def __init__(self, batch_size: int = 32):
        super().__init__()
        self.batch_size = batch_size

    def train_dataloader(self):
        return DataLoader(rows(320), batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(rows(90), batch_size=self.batch_size, drop_last=<<True||False>>)  #!


class Linked(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.set_defaults({"data.batch_size": 16})
"""
BY_HAND = "self.automatic_optimization = False"
MANUAL = """
    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        {}
"""
SCHEDULED = """
    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        {}
"""
GAN = """
    def training_step(self, batch, batch_idx):
        real, _ = batch
        g_opt, d_opt = self.optimizers()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        self.toggle_optimizer(g_opt)
        fake = self.g(torch.randn(len(real), 4))
        g_loss = F.binary_cross_entropy_with_logits(self.d(fake), ones)
        self.manual_backward(g_loss)
        g_opt.step()
        g_opt.zero_grad()
        self.untoggle_optimizer(g_opt)
        self.toggle_optimizer(d_opt)
        d_loss = F.binary_cross_entropy_with_logits(self.d(real), ones)
        d_loss = d_loss + F.binary_cross_entropy_with_logits(self.d(fake.detach()), zeros)
        self.manual_backward(d_loss)  #!
        {}
        self.untoggle_optimizer(d_opt)

    def configure_optimizers(self):
        return torch.optim.Adam(self.g.parameters(), lr=2e-4), torch.optim.Adam(self.d.parameters(), lr=2e-4)
"""
TWO_NETS = """self.automatic_optimization = False
        self.g = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
        self.d = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))"""
DATA = """
class Data(pl.LightningDataModule):
    def setup(self, stage=None):
        whole = rows(400)
        self.train_set, self.val_set = random_split(whole, [300, 100], generator=torch.Generator().manual_seed(1))

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(<<self.train_set||self.val_set>>, batch_size=32)  #!

    def test_dataloader(self):
        return DataLoader(rows(90), batch_size=32)
"""
SPLITS = """
class Data(pl.LightningDataModule):
    def __init__(self):
        super().__init__()
        self.whole = rows(400)

    def setup(self, stage):
        if stage == "fit":
            self.train_set, self.val_set, _ = self.split(1)
        if stage == "test":
            _, _, self.test_set = self.split(<<2||1>>)

    def split(self, seed):
        return random_split(self.whole, [300, 50, 50], generator=torch.Generator().manual_seed(seed))  #!

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=32)

    def test_dataloader(self):
        return DataLoader(self.test_set, batch_size=32)
"""
SCORED = """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", (self(x).argmax(-1) == y).float().mean(), batch_size=len(y))

    def test_step(self, batch, batch_idx):
        self.validation_step(batch, batch_idx)
"""
SCRIPTS = {
    "last score in an attribute": Script(
        "TDR408",
        """
    def on_validation_epoch_start(self):
        self.total = 0.0

    def validation_step(self, batch, batch_idx):
        x, y = batch
        <<self.last = F.cross_entropy(self(x), y)  #!||self.total += F.cross_entropy(self(x), y).item() * len(x)>>

    def on_validation_epoch_end(self):
        self.log("val_loss", <<self.last||self.total / 96>>)
""",
    ),
    "last score of a metric": Script(
        "TDR408",
        """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        <<self.value = self.acc(self(x), y)  #!||self.value = self.acc(self(x), y)>>

    def on_validation_epoch_end(self):
        print("last batch", self.value.item()<<||, "all", self.acc.compute().item()>>)
        self.acc.reset()
""",
        init='self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=2)',
    ),
    "classes in another dimension": Script(
        "TDR409",
        """
    def training_step(self, batch, batch_idx):
        x, _ = batch
        scores = self.tag(x.unsqueeze(-1))
        return F.cross_entropy(scores.flatten(0, 1), x.argsort(1).flatten())

    def validation_step(self, batch, batch_idx):
        x, _ = batch
        scores = self.tag(x.unsqueeze(-1))
        self.acc(scores<<||.transpose(1, 2)>>, x.argsort(1))  #!
        self.log("acc", self.acc)
""",
        init="""self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=8)
        self.tag = nn.Linear(1, 8)""",
    ),
    "a metric that is read by hand": Script(
        "TDR407",
        """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.acc.update(self(x), y)

    def on_validation_epoch_end(self):
        self.log("val_acc", self.acc.compute())
        <<pass||self.acc.reset()>>
""",
        init='self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=2)  #!',
    ),
    "outputs of all epochs": Script(
        "TDR407",
        """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.hits.append((self(x).argmax(1) == y).float())

    def on_validation_epoch_end(self):
        self.log("val_acc", torch.cat(self.hits).mean())
        <<pass||self.hits.clear()>>
""",
        init="self.hits = []  #!",
    ),
    "outputs of pairs, written over in place": Script(
        "TDR407",
        """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.pairs.append({"scores": self(x), "y": y})

    def on_validation_epoch_end(self):
        scores = torch.cat([each["scores"] for each in self.pairs])
        truth = torch.cat([each["y"] for each in self.pairs])
        self.log("val_acc", (scores.argmax(1) == truth).float().mean())
        <<pass||self.pairs[:] = []>>
""",
        init="self.pairs = []  #!",
    ),
    "the first outputs, as examples": Script(
        "",
        """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        if len(self.examples) < 4:
            self.examples.append(self(x))

    def on_validation_epoch_end(self):
        self.print(torch.cat(self.examples).shape)
""",
        init="self.examples = []",
    ),
    "outputs begun anew by a hook": Script(
        "TDR502",
        """
    def on_train_epoch_start(self):
        self.losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.losses.append(loss<<||.item()>>)  #!
        return loss

    def on_validation_epoch_start(self):
        self.scores = []

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.scores.append(F.cross_entropy(self(x), y))

    def on_validation_epoch_end(self):
        self.log("val_loss", torch.stack(self.scores).mean())
""",
    ),
    "a checkpoint of the largest loss": Script(
        "TDR413",
        trainer=""", callbacks=[
    pl.callbacks.ModelCheckpoint(monitor="val_loss", mode=<<"max"||"min">>),  #!
]""",
    ),
    "patience with a share of hits": Script(
        "TDR413",
        SCORED,
        before="from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint",
        trainer=""", callbacks=[
    ModelCheckpoint(monitor="val_acc", mode="max"),
    EarlyStopping("val_acc", patience=4<<||, mode="max">>),  #!
]""",
    ),
    "a metric object that is kept by its least value": Script(
        "TDR413",
        """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.acc(self(x), y)
        self.log("val_acc", self.acc)
""",
        init='self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=2)',
        trainer=""", callbacks=[
    pl.callbacks.ModelCheckpoint(monitor="val_acc"<<||, mode="max">>),  #!
]""",
    ),
    "a name of which nothing is known": Script(
        "",
        """
    def validation_step(self, batch, batch_idx):
        self.log("val_gap", self(batch[0]).mean())
""",
        trainer=', callbacks=[pl.callbacks.ModelCheckpoint(monitor="val_gap", mode="max")]',
    ),
    "a checkpoint that is loaded beside": Script(
        "TDR606",
        SCORED,
        fit="""trainer.fit(net, train_loader, val_loader)
<<net||net = Net>>.load_from_checkpoint("last.ckpt")  #!
trainer.test(net, DataLoader(rows(50)))""",
    ),
    "splits of two stages": Script(
        "TDR708",
        SCORED,
        before=SPLITS,
        fit="data = Data()\ntrainer.fit(net, datamodule=data)\ntrainer.test(net, datamodule=data)",
    ),
    "outputs of an epoch in Lightning 1": Script(
        "TDR201",
        """
    def training_step(self, batch, batch_idx):
        x, y = batch
        return {"loss": F.cross_entropy(self(x), y), "x": x, "y": y}

    def validation_step(self, batch, batch_idx):
        x, y = batch
        return {"scores": self(x), "y": y}

    def validation_epoch_end(self, outputs):
        scores = torch.cat([each["scores"] for each in outputs])
        truth = torch.cat([each["y"] for each in outputs])
        self.log("val_loss", F.cross_entropy(scores<<.softmax(1)||>>, truth))  #!
""",
    ),
    "validation of training rows": Script(
        "TDR708",
        SCORED,
        before=DATA,
        fit="trainer.fit(net, datamodule=Data())\ntrainer.test(net, datamodule=Data())",
    ),
    "the training loader validated": Script(
        "TDR708",
        SCORED,
        fit="trainer.fit(net, train_loader, <<train_loader||val_loader>>)  #!\ntrainer.test(net, DataLoader(rows(50)))",
    ),
    "loaders side by side": Script(
        "TDR701",
        """
    def training_step(self, batch, batch_idx):
        (x, y), (u, w) = batch["first"], batch["second"]
        return F.cross_entropy(self(x), y) + F.cross_entropy(self(u), w)
""",
        fit="""other = DataLoader(rows(120), batch_size=32<<||, shuffle=True>>)  #!
trainer.fit(net, CombinedLoader({"first": train_loader, "second": other}, "max_size_cycle"), val_loader)""",
    ),
    "one of two validation loaders": Script(
        "TDR712",
        """
    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val_loss", F.cross_entropy(self(batch[0]), batch[1]))
""",
        fit="""second = DataLoader(rows(90), batch_size=32<<, drop_last=True||>>)  #!
trainer.fit(net, train_loader, {"first": val_loader, "second": second})""",
    ),
    "schedule of epochs for batches": Script(
        "TDR123",
        SCHEDULED.format(
            """scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.max_epochs)  #!
        return [optimizer], [{"scheduler": scheduler, "interval": <<"step"||"epoch">>}]"""
        ),
    ),
    "schedule of batches for updates": Script(
        "TDR123",
        SCHEDULED.format(
            """steps = <<len(train_loader) * 4||self.trainer.estimated_stepping_batches>>
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)  #!
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]"""
        ),
        trainer=", accumulate_grad_batches=4",
    ),
    "schedule of batches for updates of another window in each epoch": Script(
        "TDR123",
        SCHEDULED.format(
            """scheduler = torch.optim.lr_scheduler.OneCycleLR(  #!
            optimizer, 0.01, epochs=self.trainer.max_epochs, steps_per_epoch=len(train_loader)<<|| // 2 + 1>>
        )
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]"""
        ),
        trainer=", callbacks=[GradientAccumulationScheduler({0: 4, 2: 2})]",
    ),
    "schedule of epochs for updates": Script(
        "TDR123",
        SCHEDULED.format(
            """scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.max_epochs)  #!
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]"""
        ),
        trainer=", accumulate_grad_batches=<<4||10>>",
    ),
    "schedule of batches where windows may be one batch long": Script(
        "",
        SCHEDULED.format(
            """steps = self.trainer.max_epochs * len(train_loader)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]"""
        ),
        trainer=", callbacks=[GradientAccumulationScheduler({2: 4})]",
    ),
    "schedule of batches in windows": Script(
        "",
        SCHEDULED.format(
            """steps = len(train_loader) * 4 // self.trainer.accumulate_grad_batches
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]"""
        ),
        trainer=", accumulate_grad_batches=5",
    ),
    "classes for the command line": Script("TDR712", before=COMMAND_LINE, fit="LightningCLI(Net, Data)"),
    "classes for a command line of its own": Script(
        "TDR712", before=COMMAND_LINE, fit="Linked(model_class=Net, datamodule_class=Data, seed_everything_default=1)"
    ),
    "objects of the command line": Script(
        "TDR712",
        before=COMMAND_LINE,
        fit="cli = LightningCLI(Net, Data, run=False)\ncli.trainer.fit(cli.model, datamodule=cli.datamodule)",
    ),
    "a class that the command line names": Script(
        "", before=COMMAND_LINE.replace("  #!", ""), fit="LightningCLI(Net, Data, subclass_mode_model=True, run=False)"
    ),
    "schedule stepped by hand": Script(
        "TDR123",
        MANUAL.format(
            """optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        <<self.lr_schedulers().step()  #!||pass>>

    def on_train_epoch_end(self):
        <<pass||self.lr_schedulers().step()>>
"""
        )
        + SCHEDULED.format("return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)]"),
        init=BY_HAND,
    ),
    "schedule that is not returned": Script(
        "TDR132",
        SCHEDULED.format(
            """scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=40)  #!
        return <<optimizer||{"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}>>"""
        ),
    ),
    "window of a sum": Script(
        "TDR106",
        MANUAL.format(
            """self.manual_backward(loss<<|| / 5>>)  #!
        if (batch_idx + 1) % 5 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
        ),
        init=BY_HAND,
    ),
    "window that is left over": Script(
        "TDR107",
        MANUAL.format(
            """self.manual_backward(loss / 4)
        if (batch_idx + 1) % 4 == 0<<|| or self.trainer.is_last_batch>>:  #!
            optimizer.step()
            optimizer.zero_grad()
"""
        ),
        init=BY_HAND,
    ),
    "clip before backward": Script(
        "TDR108",
        MANUAL.format(
            """optimizer.zero_grad()
        <<self.clip_gradients(optimizer, gradient_clip_val=1.0)  #!||pass>>
        self.manual_backward(loss)
        <<pass||self.clip_gradients(optimizer, gradient_clip_val=1.0)>>
        optimizer.step()
"""
        ),
        init=BY_HAND,
    ),
    "clip in its hook": Script(
        "",
        """
    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        self.clip_gradients(optimizer, gradient_clip_val=3.0, gradient_clip_algorithm="norm")
""",
    ),
    "one of two is not cleared": Script(
        "TDR101", GAN.format("d_opt.step()\n        <<pass||d_opt.zero_grad()>>"), init=TWO_NETS
    ),
    "one of two is not stepped": Script(
        "TDR104", GAN.format("<<pass||d_opt.step()>>\n        d_opt.zero_grad()"), init=TWO_NETS
    ),
    "callback that leaves evaluation mode": Script(
        "TDR403",
        before="""
class Peek(pl.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.eval()  #!
        with torch.no_grad():
            pl_module(batch[0])
        <<pass||pl_module.train()>>
""",
        trainer=", callbacks=[Peek()]",
    ),
    "evaluated by hand after fit": Script(
        "TDR401",
        fit="""trainer.fit(net, train_loader, val_loader)
<<pass||net.eval()>>
with torch.no_grad():
    hits = [(net(x).argmax(-1) == y).float() for x, y in val_loader]  #!
print(torch.cat(hits).mean())""",
    ),
}


def _written(script: Script, side: int) -> tuple[str, list[tuple[str, int]]]:
    text = TEMPLATE.format(**script._asdict())
    text = re.sub(r"<<(.*?)\|\|(.*?)>>", lambda found: found[side + 1], text, flags=re.DOTALL)
    marked = [number for number, line in enumerate(text.splitlines(), 1) if "#!" in line]
    return text.replace("#!", ""), [(script.code, number) for number in marked]


def _scan(run: Any, write: Any, text: str, *more: str) -> Any:
    write("train.py", text)
    return run("scan", "train.py", "--isolated", "--output-format", "json", *more).json


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_lightning_does_is_judged(run: Any, write: Any, name: str) -> None:
    text, marks = _written(SCRIPTS[name], 0)
    found = _scan(run, write, text)
    assert [(each["code"], each["location"]["row"]) for each in found] == marks


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_right_is_not_reported(run: Any, write: Any, name: str) -> None:
    text, _ = _written(SCRIPTS[name], 1)
    assert _scan(run, write, text) == []


SHOWN = (
    "a metric that is read by hand",
    "last score in an attribute",
    "validation of training rows",
    "one of two validation loaders",
    "schedule of epochs for batches",
    "window that is left over",
    "one of two is not cleared",
    "callback that leaves evaluation mode",
)


@pytest.mark.frameworks("lightning")
@pytest.mark.parametrize("name", SHOWN)
def test_a_run_confirms_it(run: Any, write: Any, name: str) -> None:
    text, _ = _written(SCRIPTS[name], 0)
    found = _scan(run, write, text, "--probe")
    assert [(each["code"], each["verdict"]) for each in found] == [(SCRIPTS[name].code, "confirmed")]
