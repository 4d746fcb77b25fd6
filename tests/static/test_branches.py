"""What one arm of a branch does is unknown to the other arm."""

from __future__ import annotations

import textwrap

import pytest

from tests.said import said

MODELS = """
import torch
from torch import nn
model, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
other = torch.optim.SGD(model.parameters(), lr=0.1)

def grow():
    optimizer.add_param_group({"params": head.parameters()})

loss = head(model(torch.randn(2, 4))).sum()
"""
GROWS = """optimizer.add_param_group({"params": head.parameters()})"""


def steps(script: str) -> list[str]:
    """What the steps of `MODELS` followed by a script update."""
    return said(MODELS + textwrap.dedent(script), "step `")


@pytest.mark.parametrize(
    "script",
    [
        f"""
        if flag():
            {GROWS}
        else:
            optimizer.step()
        """,
        f"""
        if flag():
            optimizer.step()
        else:
            {GROWS}
        """,
        """
        if flag():
            grow()
        else:
            optimizer.step()
        """,
        f"""
        def train(a):
            if a:
                {GROWS}
            else:
                optimizer.step()
        train(flag())
        """,
        f"""
        def train(a):
            if a:
                {GROWS}
                return
            optimizer.step()
        train(flag())
        """,
        """
        grow() if flag() else optimizer.step()
        """,
        f"""
        if flag():
            pass
        elif flag():
            {GROWS}
        else:
            optimizer.step()
        """,
        f"""
        for _ in range(3):
            if flag():
                {GROWS}
                break
            optimizer.step()
        """,
        f"""
        if flag():
            for _ in range(3):
                {GROWS}
        else:
            optimizer.step()
        """,
        """
        if flag():
            other.add_param_group({"params": head.parameters()})
            optimizer.step()
        else:
            other.step()
        """,
    ],
)
def test_parameters_that_one_arm_adds_are_not_updated_in_the_other(script: str) -> None:
    assert steps(script)
    assert not any("`head`" in line for line in steps(script))


@pytest.mark.parametrize(
    "script",
    [
        f"""
        if flag():
            {GROWS}
        optimizer.step()
        """,
        f"""
        if flag():
            pass
        else:
            {GROWS}
        optimizer.step()
        """,
        f"""
        try:
            {GROWS}
        except ValueError:
            print()
        optimizer.step()
        """,
        f"""
        for _ in range(3):
            optimizer.step()
            if flag():
                {GROWS}
        """,
    ],
)
def test_what_is_executed_after_both_arms_knows_what_either_did(script: str) -> None:
    assert "`model`, `head`" in steps(script)[-1]


DEVICES = """
import sys, time
import accelerate
import torch
from torch import nn
flag = len(sys.argv) > 1
model = nn.Linear(4, 4).cuda()
other = nn.Linear(4, 4).cuda()
x = torch.randn(2, 4).to("cpu")
"""


MEETS = "model(x)"


@pytest.mark.parametrize(
    ("arm", "meetings"), [("torch.set_default_device('cuda')", 1), ("accelerate.Accelerator()", 1), ("other(x)", 2)]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_model_meets_its_input_whatever_the_other_arm_does(arm: str, meetings: int, first: bool) -> None:
    one, two = (arm, MEETS) if first else (MEETS, arm)
    script = f"{DEVICES}if flag:\n    {one}\nelse:\n    {two}\n"
    assert len(said(script, "on the CPU and others")) == meetings


def test_what_either_arm_has_set_is_known_after_them() -> None:
    script = f"{DEVICES}if flag:\n    torch.set_default_device('cuda')\n{MEETS}\n"
    assert not said(script, "on the CPU and others")


@pytest.mark.parametrize("wait", ["model(x).sum().item()", "print(f'{model(x)}')", "(model(x) > 0).nonzero()"])
def test_calls_that_wait_in_one_arm_are_not_between_the_readings_of_the_other(wait: str) -> None:
    begin, end = "start = time.time()", "print(time.time() - start)"
    script = f"{DEVICES}{begin}\nif flag:\n    {wait}\nelse:\n    {end}\n"
    assert said(script, "measure elapsed time")
    assert not said(script, "waiting for the GPU")
    assert said(f"{script}{end}\n", "waiting for the GPU")


def test_gradients_cleared_in_one_arm_make_no_optimizer_in_the_other() -> None:
    thing = "thing = somewhere.make()"
    script = f"import sys, torch, somewhere\nflag = len(sys.argv) > 1\n{thing}\nother = thing\nif flag:\n    thing.zero_grad()\n"
    assert not said(f"{script}else:\n    other.step()\n", "step `other`")
    assert said(f"{script}thing.step()\n", "step `thing`")


LIGHTNING = """
import torch
import sys
import pytorch_lightning as pl
flag = len(sys.argv) > 1

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

model = Model()
"""


def test_a_framework_drives_a_module_in_each_arm() -> None:
    fits = "pl.Trainer().fit(model)"
    script = f"{LIGHTNING}if flag:\n    {fits}\nelse:\n    {fits}\n"
    epochs = "loop over `the epochs`"
    assert len(said(script, epochs)) == 2
    assert len(said(f"{LIGHTNING}{fits}\n{fits}\n", epochs)) == 1


PROGRAM = """
import sys, somewhere
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
flag = len(sys.argv) > 1
"""


def in_arms(one: str, other: str) -> str:
    """A branch with an arm for each."""
    return f"if flag:\n{textwrap.indent(one, '    ')}\nelse:\n{textwrap.indent(other, '    ')}\n"


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_used_as_an_optimizer_in_one_arm_is_none_in_the_other(order: int) -> None:
    script = PROGRAM + (
        "thing = somewhere.make()\ndef update(optimizer):\n    optimizer.step()\ndef look(it):\n    it.step()\n"
    )
    branch = script + in_arms(*("update(thing)", "look(thing)")[::order])
    assert [line.partition(":")[0] for line in said(branch, "step `")] == ["step `optimizer`"]
    assert said(f"{branch}look(thing)\n", "step `it`")


@pytest.mark.parametrize("order", [1, -1])
def test_an_optimizer_of_one_arm_has_no_scheduler_in_the_other(order: int) -> None:
    built = "optimizer = torch.optim.SGD(nn.Linear(4, 1).parameters(), lr=1)"
    made = "scheduler = somewhere.make(3)\nscheduler.step()"
    assert said(PROGRAM + in_arms(*(built, made)[::order]), "step scheduler")
    assert not said(f"{PROGRAM}{built}\n{made}\n", "step scheduler")


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_that_a_forward_fills_in_one_arm_is_filled_in_the_other(order: int) -> None:
    model = textwrap.dedent("""
        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(4, 3)

            def forward(self, x):
                found = []
                found.append(self.head(x).softmax(1))
                return found

        model, x, y = Heads(), torch.randn(2, 4), torch.tensor([1, 2])
        """)
    loss = "nn.functional.cross_entropy(model(x)[0], y)"
    [line] = said(PROGRAM + model + in_arms(*("model(x)", loss)[::order]), "cross_entropy")
    assert "probabilities" in line


@pytest.mark.parametrize("order", [1, -1])
def test_a_data_set_that_one_arm_changes_is_as_it_was_in_the_other(order: int) -> None:
    data = textwrap.dedent("""
        class Rows(Dataset):
            def __init__(self):
                self.dtype = torch.float32

            def __len__(self):
                return 8

            def __getitem__(self, i):
                return torch.zeros(3, dtype=self.dtype)

        data = Rows()
        loader = DataLoader(data, batch_size=4)
        """)
    reads = "for x in loader:\n    nn.functional.mse_loss(x, x)"
    arms = (f"data.dtype = torch.float64\n{reads}", reads)[::order]
    found = said(PROGRAM + data + in_arms(*arms), "mse_loss")
    assert ["float64[batch, 3]" in line for line in found] == [True, False][::order]
    assert ["float32[batch, 3]" in line for line in found] == [False, True][::order]


@pytest.mark.parametrize("asks", ["torch.cuda.is_available()", "flag()", "len(sys.argv) > 1"])
def test_what_goes_to_the_gpu_stays_where_the_same_test_found_none(asks: str) -> None:
    found = said(
        f"""
        import sys, torch
        from torch import nn
        from somewhere import flag
        use_cuda = {asks}
        device = torch.device("cuda" if use_cuda else "cpu")
        model = nn.Linear(4, 4).cuda() if use_cuda else nn.Linear(4, 4)
        model(torch.randn(2, 4, device=device))
        """,
        "on the CPU and others",
    )
    assert not found


def test_whether_there_is_a_gpu_is_the_same_wherever_it_is_asked() -> None:
    script = """
    import torch
    from torch import nn
    model = nn.Linear(4, 4).cuda() if torch.cuda.is_available() else nn.Linear(4, 4)
    model(torch.randn(2, 4).to("cuda" if torch.cuda.is_available() else "cpu"))
    """
    assert not said(script, "on the CPU and others")
    assert said(script.replace("model(torch", "nn.Linear(4, 4)(torch"), "on the CPU and others")
