"""Command lines of click, typer, fire, tyro and transformers: their options are settings, as those of argparse are."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

SCRIPT = Path("/nowhere/train.py")
TRAINING = """
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    for step in range(100):
        out = model(torch.randn(8, 4))
        if {test}:
            out = F.softmax(out, 1)
        loss = criterion(out, torch.randint(3, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
IMPORTS = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
CLICK = "import click\n@click.command()\n@click.option({option})\ndef main({name}):{training}\nmain()\n"
TYPER = "import typer\ndef main({option}):{training}\ntyper.run(main)\n"
APP = "import typer\napp = typer.Typer()\n@app.command()\ndef main({option}):{training}\napp()\n"
FIRE = "import fire\ndef main({option}):{training}\nfire.Fire(main)\n"
FIELDS = "from dataclasses import dataclass, field\n@dataclass\nclass Args:\n    {option}\n"
TYRO = FIELDS + "import tyro\ndef main(args):{training}\nmain(tyro.cli(Args))\n"
SAID = "with `--soft True`"
READER = (
    FIELDS + "from transformers import HfArgumentParser, TrainingArguments\ndef main(args, others):{training}\n"
    "main(*HfArgumentParser((Args, TrainingArguments)).parse_args_into_dataclasses())\n"
)


def _conditions(form: str, option: str, test: str, name: str = "") -> list[str]:
    """The conditions of the findings of TDR201 in a script with this option, where `test` puts a softmax in the way."""
    source = (IMPORTS + form.format(option=option, name=name, training=TRAINING.format(test=test))).encode()
    rules = tuple(rule for rule in all_rules() if rule.code == "TDR201")
    report = scan(Options(paths=(SCRIPT,), rules=rules, overlay={SCRIPT: source}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    return [finding.condition for finding in report.findings]


@pytest.mark.parametrize(
    ("form", "option", "test", "condition"),
    [
        (CLICK, '"--soft", is_flag=True', "soft", "with `--soft`"),
        (CLICK, '"--soft/--hard", default=False', "soft", "with `--soft`"),
        (CLICK, '"--soft/--hard", default=True', "not soft", "with `--hard`"),
        (CLICK, '"--soft/--hard", default=True', "soft", ""),
        (CLICK, '"--head", "soft", default="none"', 'soft == "softmax"', "with `--head softmax`"),
        (CLICK, '"--soft", default=0, type=int', "soft > 0", "with `--soft 1`"),
        (CLICK, '"--soft", type=click.Choice(["no", "yes"]), default="no"', 'soft == "yes"', "with `--soft yes`"),
        (TYPER, "soft: bool = False", "soft", "with `--soft`"),
        (TYPER, "soft: bool = True", "not soft", "with `--no-soft`"),
        (TYPER, 'soft: str = typer.Option("no", help="which")', 'soft == "yes"', "with `--soft yes`"),
        (APP, "soft_head: bool = False", "soft_head", "with `--soft-head`"),
        (FIRE, "soft_head=False", "soft_head", "with `--soft_head`"),
        (FIRE, "soft=True", "not soft", "with `--nosoft`"),
        (TYRO, "soft: bool = False", "args.soft", "with `--soft`"),
        (
            TYRO.replace("tyro.cli", "pyrallis.parse").replace("tyro", "pyrallis"),
            "soft: bool = False",
            "args.soft",
            SAID,
        ),
        (TYRO, 'head: str = field(default="none")', 'args.head == "softmax"', "with `--head softmax`"),
        (TYRO, "soft: bool = True", "args.soft", ""),
        (READER, 'head: str = field(default="none")', 'args.head == "softmax"', "with `--head softmax`"),
    ],
)
def test_an_option_of_any_command_line_is_the_condition_of_what_it_decides(
    form: str, option: str, test: str, condition: str
) -> None:
    assert _conditions(form, option, test, name="soft") == [condition]


def test_nothing_is_known_by_default_of_an_option_that_must_be_given() -> None:
    assert _conditions(CLICK, '"--soft", required=True', "soft", name="soft") == []
