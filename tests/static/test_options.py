"""Options by default and otherwise: a bug that needs another setting says which, and bugs of two settings never meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

SCRIPT = Path("/nowhere/train.py")
TRAINING = """
import argparse
import torch
from torch import nn
from torch.nn import functional as F
parser = argparse.ArgumentParser()
{option}
args = parser.parse_args()
{then}
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{loss}
for step in range(100):
    out = model(torch.randn(8, 4))
    target = torch.randint(3, (8,))
    {change}
    loss = criterion(out, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CRITERION = "criterion = nn.CrossEntropyLoss()"
SOFTMAX = "if {test}: out = F.softmax(out, 1)"


def _conditions(option: str, change: str, code: str = "TDR201", then: str = "", loss: str = CRITERION) -> list[str]:
    """The condition of each finding of a rule in a script with this option and this change of the loop."""
    source = TRAINING.format(option=option, change=change, then=then, loss=loss).lstrip("\n").encode()
    rules = tuple(rule for rule in all_rules() if rule.code == code)
    report = scan(Options(paths=(SCRIPT,), rules=rules, overlay={SCRIPT: source}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    return [finding.condition for finding in report.findings]


@pytest.mark.parametrize(
    ("option", "test", "condition"),
    [
        ('parser.add_argument("--soft", action="store_true")', "args.soft", "with `--soft`"),
        ('parser.add_argument("--raw", action="store_true")', "not args.raw", ""),
        ('parser.add_argument("--raw", dest="soft", action="store_false")', "args.soft", ""),
        ('parser.add_argument("--raw", dest="soft", action="store_false")', "not args.soft", "with `--raw`"),
        ('parser.add_argument("--soft", type=int, default=1)', "args.soft", ""),
        ('parser.add_argument("--soft", type=int, default=0)', "args.soft", "with `--soft 1`"),
        ('parser.add_argument("--head", default="softmax")', 'args.head == "softmax"', ""),
        ('parser.add_argument("--head", default="none")', 'args.head == "softmax"', "with `--head softmax`"),
        ('parser.add_argument("--head", default="none")', 'vars(args)["head"] == "softmax"', "with `--head softmax`"),
        ('parser.add_argument("--soft", default=0)', "args.soft", "with `--soft` other than `0`"),
        (
            'parser.add_argument("--head", default="none", choices=["none", "softmax"])',
            'args.head != "none"',
            "with `--head softmax`",
        ),
        ('parser.add_argument("--head", default="none")', 'args.head != "none"', "with `--head` other than `none`"),
        ('parser.add_argument("--heads")', "args.heads is not None", "with `--heads`"),
        (
            'parser.add_argument("--soft", action=argparse.BooleanOptionalAction, default=True)',
            "not args.soft",
            "with `--no-soft`",
        ),
        (
            'parser.add_argument("--soft", action="store_true")\nparser.add_argument("--hot", action="store_true")',
            "args.soft and args.hot",
            "with `--soft` and `--hot`",
        ),
        ('parser.add_argument("--soft", action="store_true")\nparser.set_defaults(soft=True)', "args.soft", ""),
        ('parser.add_argument("--heat", type=float, default=0.0)', "args.heat > 0", "with `--heat 0.5`"),
    ],
)
def test_a_value_that_an_option_changes_is_judged_after_the_branch(option: str, test: str, condition: str) -> None:
    assert _conditions(option, SOFTMAX.format(test=test)) == [condition]


SWITCH = 'parser.add_argument("--soft", action="store_true")'
ON = 'parser.add_argument("--raw", dest="soft", action="store_false")'
NLL = """if {test}: criterion = nn.NLLLoss(); out = F.log_softmax(out, 1)
    else: criterion = nn.CrossEntropyLoss()"""
RIGHT = {
    "it has to be passed": ('parser.add_argument("--soft", required=True)', "", "args.soft"),
    "it has a place": ('parser.add_argument("soft")', "", "args.soft"),
    "its default is computed": ('parser.add_argument("--soft", default=torch.cuda.is_available())', "", "args.soft"),
    "a file has its default": (f"{SWITCH}; parser.set_defaults(**load())", "", "args.soft"),
    "another call has its default": (f"{ON}; parser.set_defaults(soft=False)", "", "args.soft"),
    "two options write it": (f"{ON}\n{SWITCH}", "", "args.soft"),
    "a value that text never is": ('parser.add_argument("--soft", default=0)', "", "args.soft == 1"),
    "not one of its choices": (
        'parser.add_argument("--soft", default="n", choices=["n", "m"])',
        "",
        'args.soft == "y"',
    ),
    "bool reads its text": ('parser.add_argument("--raw", type=bool, default=True)', "", "not args.raw"),
    "a function reads its text": ('parser.add_argument("--soft", type=load, default="yes")', "", "args.soft"),
    "the script assigns it": (ON, "args.soft = False", "args.soft"),
    "the script assigns it by name": (ON, "setattr(args, 'soft', False)", "args.soft"),
    "the script assigns all": (ON, "for name, value in load(): setattr(args, name, value)", "args.soft"),
    "the script updates the dict": (ON, "vars(args).update(load())", "args.soft"),
    "the script updates __dict__": (ON, "args.__dict__.update(load())", "args.soft"),
    "the script assigns an item": (ON, "vars(args)['soft'] = False", "args.soft"),
    "the script assigns an item of __dict__": (ON, "for name in load(): args.__dict__[name] = load()", "args.soft"),
    "a copy is assigned": (ON, "import copy; args = copy.deepcopy(args); args.soft = False", "args.soft"),
    "a namespace is created": (ON, "args = argparse.Namespace(**{**vars(args), 'soft': False})", "args.soft"),
    "a library gets them": (ON, "import others; others.prepare(args)", "args.soft"),
    "a library returns them": (ON, "import others; args = others.prepare(args)", "args.soft"),
    "the script has the arguments": (ON, "args = parser.parse_args(['--raw'])", "args.soft"),
    "a namespace has the values": (ON, "args = parser.parse_args(None, argparse.Namespace(soft=False))", "args.soft"),
    "another value raises": (SWITCH, "if args.soft: raise ValueError", "args.soft"),
    "another value ends the script": (SWITCH, "import sys\nif args.soft: sys.exit('no')", "args.soft"),
    "another value is an error": (SWITCH, "if args.soft: parser.error('no')", "args.soft"),
    "another value fails": (SWITCH, "assert not args.soft", "args.soft"),
    "a function raises": (SWITCH, "def check(args):\n    if args.soft: raise ValueError\ncheck(args)", "args.soft"),
    "a function asserts": (SWITCH, "def check(soft):\n    assert not soft\ncheck(args.soft)", "args.soft"),
    "what it decides is stored": (SWITCH, "args.hot = args.soft and False", "args.hot"),
}


@pytest.mark.parametrize("right", RIGHT)
def test_nothing_is_reported_where_no_setting_leads_to_the_bug(right: str) -> None:
    option, then, test = RIGHT[right]
    assert _conditions(option, SOFTMAX.format(test=test), then=then) == []


@pytest.mark.parametrize(
    ("option", "test"),
    [
        (SWITCH, "args.soft"),
        (ON, "args.soft"),
        ('parser.add_argument("--soft", type=int, default=1)', "args.soft"),
        ('parser.add_argument("--loss", choices=["ce", "nll"], default="ce")', 'args.loss == "nll"'),
        ('parser.add_argument("--loss", default="nll")', 'args.loss == "nll"'),
        ('parser.add_argument("--heat", type=float, default=0.0)', "args.heat > 0"),
    ],
)
def test_settings_that_exclude_each_other_are_not_combined(option: str, test: str) -> None:
    change = NLL.format(test=test)
    assert [_conditions(option, change, code) for code in ("TDR201", "TDR202", "TDR203")] == [[], [], []]


def test_options_of_which_only_one_may_be_passed_are_not_combined() -> None:
    option = """group = parser.add_mutually_exclusive_group()
group.add_argument("--soft", action="store_true")
group.add_argument("--hot", action="store_true")"""
    assert _conditions(option, SOFTMAX.format(test="args.soft and args.hot")) == []
    assert _conditions(option, SOFTMAX.format(test="args.hot")) == ["with `--hot`"]


def test_a_bug_with_and_without_an_option_has_no_condition() -> None:
    option = 'parser.add_argument("--cold", action="store_true")'
    change = "if args.cold: out = F.softmax(out, 1)\n    else: out = F.softmax(out / 2, 1)"
    assert "" in _conditions(option, change)


CHOSEN = {
    "an expression chooses": 'criterion = nn.CrossEntropyLoss() if args.loss == "ce" else nn.MSELoss()',
    "a function returns": """def made(loss):
    if loss == "ce":
        return nn.CrossEntropyLoss()
    return nn.MSELoss()
criterion = made(args.loss)""",
    "a dict has classes": 'criterion = {"ce": nn.CrossEntropyLoss, "mse": nn.MSELoss}[args.loss]()',
    "a dict has losses": 'criterion = {"ce": nn.CrossEntropyLoss(), "mse": nn.MSELoss()}[args.loss]',
    "each arm computes it": """ce, mse = nn.CrossEntropyLoss(), nn.MSELoss()
def criterion(out, target):
    return ce(out, target) if args.loss == "ce" else mse(out, target)""",
}


@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize(("default", "condition"), [("ce", ""), ("mse", "with `--loss ce`")])
def test_a_loss_that_an_option_chooses_is_the_condition(chosen: str, default: str, condition: str) -> None:
    option = f'parser.add_argument("--loss", default="{default}", choices=["ce", "mse"])'
    assert _conditions(option, "out = F.softmax(out, 1)", loss=CHOSEN[chosen]) == [condition]
