"""Statements that fixes put in: seeds, epochs, conditions, waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

TRAINING = """\
from torch import nn
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    loss = model(torch.rand(4, 2)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DISTRIBUTED = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rows = TensorDataset(torch.rand(64, 2), torch.rand(64, 1))
sampler = DistributedSampler(rows)
model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
EPOCHS = """\
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", "model ="),
        ('"""Trains."""\nimport os\nos.nice(1)\nimport torch\n', "model ="),
        ("import torch\n\n\ndef unused():\n    pass\n\n\n", "model ="),
        ("import torch\nROWS = 4\n", "model ="),
    ],
    ids=["below the imports", "below the last import", "below definitions", "below what is imported last"],
)
def test_a_script_is_seeded_before_it_does_anything(before: str, after: str, mended: Mended) -> None:
    text = before + TRAINING
    assert mended(text, "TDR901") == text.replace(after, f"torch.manual_seed(0)\n{after}")


def test_a_seed_comes_before_the_loop_and_not_after_an_import_below_it(mended: Mended) -> None:
    text = f"import torch as t\n{TRAINING.replace('torch.', 't.')}import json\nprint(json.dumps(step))\n"
    assert mended(text, "TDR901") == text.replace("model =", "t.manual_seed(0)\nmodel =")


def test_a_guarded_script_is_seeded_in_its_guard_unless_the_model_is_there_before(mended: Mended) -> None:
    head, body = TRAINING.split("model =")
    guarded = f"import torch\n{head}\n\ndef main():\n" + "".join(
        f"    {row}\n" for row in f"model ={body}".splitlines()
    )
    text = f'{guarded}\n\nif __name__ == "__main__": main()\n'
    assert mended(text, "TDR901") == text.replace(": main()", ": torch.manual_seed(0); main()")
    early = f"import torch\n{TRAINING.replace('for step', 'if __name__ == chr(0): pass' + chr(10) + 'for step')}"
    early = early.replace("if __name__ == chr(0): pass\n", 'if __name__ == "__main__":\n    epochs = 2\n')
    assert mended(early, "TDR901") == early.replace("model =", "torch.manual_seed(0)\nmodel =")


@pytest.mark.parametrize(
    ("built", "loop", "told"),
    [
        ("DataLoader(rows, 8, sampler=sampler)", "for epoch in range(3):", "sampler.set_epoch(epoch)"),
        ("DataLoader(rows, 8, sampler=DistributedSampler(rows))", "for e in range(3):", "loader.sampler.set_epoch(e)"),
        ("DataLoader(rows, 8, sampler=sampler)", "for _, epoch in enumerate(range(3)):", ""),
        ("DataLoader(rows, 8, False, sampler)", "for epoch in range(3):", ""),
    ],
    ids=["a sampler with a name", "one without", "nothing counts", "given by its place"],
)
def test_a_sampler_gets_what_counts_the_epochs(built: str, loop: str, told: str, mended: Mended) -> None:
    text = f"{DISTRIBUTED}loader = {built}\n{loop}\n{EPOCHS}"
    assert mended(text, "TDR710") == text.replace(loop, f"{loop}\n    {told}" if told else loop)


def test_a_sampler_that_is_an_attribute_goes_by_its_name(mended: Mended) -> None:
    text = f"""{DISTRIBUTED}

class Trainer:
    def __init__(self):
        self.sampler = sampler
        self.loader = DataLoader(rows, 8, sampler=self.sampler)

    def fit(self):
        for epoch in range(3):
            for x, y in self.loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()


Trainer().fit()
"""
    told = "range(3):\n            self.sampler.set_epoch(epoch)\n"
    assert mended(text, "TDR710") == text.replace("range(3):\n", told)


def test_the_first_process_saves(mended: Mended) -> None:
    text = f"{DISTRIBUTED}loader = DataLoader(rows, 8, sampler=sampler)\nfor epoch in range(3):\n{EPOCHS}"
    saved = "    torch.save(\n        model.module.state_dict(),\n        'last.pt',\n    )\n"
    guarded = "    if dist.get_rank() == 0:\n" + "".join(f"    {row}\n" for row in saved.splitlines())
    assert mended(text + saved, "TDR809") == text + guarded


def test_a_save_of_a_run_that_need_not_be_distributed_stays(mended: Mended) -> None:
    wrapped = "import sys\nmodel = nn.Linear(2, 1)\nif len(sys.argv) > 1:\n    model = nn.parallel.DistributedDataParallel(model)\n"
    head = DISTRIBUTED.replace("model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))\n", wrapped)
    text = f"{head}loader = DataLoader(rows, 8)\nfor epoch in range(3):\n{EPOCHS}    torch.save(model.state_dict(), 'last.pt')\n"
    assert mended(text, "TDR809") == text


def test_a_flag_that_is_not_plainly_on_stays(mended: Mended) -> None:
    clash = "import torch\nimport torch.backends.cudnn as cudnn\n\ncudnn.deterministic = True\ncudnn.benchmark = True\n"
    assert mended(clash + TRAINING, "TDR902") == clash.replace("benchmark = True", "benchmark = False") + TRAINING
    odd = clash.replace("benchmark = True", "benchmark = not False")
    assert mended(odd + TRAINING, "TDR902") == odd + TRAINING


def test_settings_of_a_loader_that_come_from_options_stay(mended: Mended) -> None:
    text = """\
import argparse
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.rand(2, generator=torch.Generator().manual_seed(index))


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
args = parser.parse_args()
loader = DataLoader(Rows(), 8, num_workers=WORKERS)
TRAINING"""
    training = TRAINING.replace("for step in range(10)", "for x in loader").replace("torch.rand(4, 2)", "x.cuda()")
    text = text.replace("TRAINING", training.replace("Linear(2, 1)", "Linear(2, 1).cuda()"))
    chosen, none = text.replace("WORKERS", "args.workers"), text.replace("WORKERS", "0")
    assert mended(chosen, "TDR703") == chosen
    assert mended(none, "TDR703") == none.replace("num_workers=0", "num_workers=2, pin_memory=True")
    again = text.replace("for x in loader:\n", "for epoch in range(3):\n  for x in loader:\n")
    again = again.replace("default=0", "default=2")
    two = again.replace("WORKERS", "2, pin_memory=True")
    assert mended(two, "TDR703") == two.replace("pin_memory=True", "pin_memory=True, persistent_workers=True")
    option = again.replace("WORKERS", "args.workers, pin_memory=True")
    assert mended(option, "TDR703") == option
