"""Training code that nobody in sight calls is read as if its callers did the ordinary thing."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import Level, all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """
import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader
"""
PARTS = ("model", "criterion", "optimizer", "scheduler", "train_loader", "val_loader", "device", "epochs")
WRONG = {
    "warm_up": """
        for x, y in {train_loader}:
            x, y = x.to({device}), y.to({device})
            {optimizer}.zero_grad()
            probabilities = F.softmax({model}(x), dim=1)  # TDR201
            loss = F.cross_entropy(probabilities, y)
            loss.backward()
            {optimizer}.step  # TDR111
    """,
    "train_epoch": """
        {model}.train()
        total = 0.0
        history = []
        for x, y in {train_loader}:
            x, y = x.to({device}), y.to({device})
            outputs = {model}(x)
            loss = {criterion}(outputs, y)
            loss.backward(retain_graph=True)  # TDR101 TDR503
            {optimizer}.step()
            clip_grad_norm_({model}.parameters(), 1.0)  # TDR108
            total += loss  # TDR501
            history.append(loss)  # TDR502
        return total / len({train_loader}), len(history)
    """,
    "validate": """
        {model}.eval()
        total = 0.0
        for x, y in {val_loader}:
            outputs = {model}(x.to({device}))  # TDR402
            total += {criterion}(outputs, y.to({device})).item()
        return total / len({val_loader})
    """,
    "fit": """
        best, weights = float("inf"), None
        {warm_up}
        for epoch in range({epochs}):
            {scheduler}.step()  # TDR110
            {train_epoch}
            score = {validate}
            if score < best:
                best, weights = score, {model}.state_dict()  # TDR602
                torch.save({model}, "best.pt")  # TDR601
        {model}.load_state_dict(weights)
    """,
}
RIGHT = {
    "warm_up": """
        for x, y in {train_loader}:
            x, y = x.to({device}), y.to({device})
            {optimizer}.zero_grad()
            loss = F.cross_entropy({model}(x), y)
            loss.backward()
            {optimizer}.step()
    """,
    "train_epoch": """
        {model}.train()
        total = 0.0
        history = []
        for x, y in {train_loader}:
            x, y = x.to({device}), y.to({device})
            {optimizer}.zero_grad()
            outputs = {model}(x)
            loss = {criterion}(outputs, y)
            loss.backward()
            clip_grad_norm_({model}.parameters(), 1.0)
            {optimizer}.step()
            total += loss.item()
            history.append(loss.item())
        return total / len({train_loader}), len(history)
    """,
    "validate": """
        {model}.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in {val_loader}:
                outputs = {model}(x.to({device}))
                total += {criterion}(outputs, y.to({device})).item()
        return total / len({val_loader})
    """,
    "fit": """
        best, weights = float("inf"), None
        {warm_up}
        for epoch in range({epochs}):
            {train_epoch}
            score = {validate}
            {scheduler}.step()
            if score < best:
                best, weights = score, copy.deepcopy({model}.state_dict())
                torch.save({model}.state_dict(), "best.pt")
        {model}.load_state_dict(weights)
    """,
}


def _indented(code: str, levels: int) -> str:
    return textwrap.indent(textwrap.dedent(code).strip("\n"), "    " * levels)


def _method(name: str, parameters: str, code: str) -> str:
    return f"    def {name}({parameters}):\n{_indented(code, 2)}\n"


def _filled(bodies: dict[str, str], names: dict[str, str], calls: dict[str, str]) -> dict[str, str]:
    return {name: body.format(**names, **calls) for name, body in bodies.items()}


def _trainer(bodies: dict[str, str], init: str, *, base: str = "", more: str = "") -> str:
    """A class with everything in attributes of `self`."""
    calls = {name: f"self.{name}()" for name in bodies}
    filled = _filled(bodies, {part: f"self.{part}" for part in PARTS}, calls)
    methods = "\n".join(_method(name, "self", body) for name, body in filled.items())
    return f"{HEAD}\n{more}\nclass Trainer{base}:\n{_indented(init, 1)}\n\n{methods}"


def _assignments(source: str = "{0}", parts: tuple[str, ...] = PARTS) -> str:
    return "\n".join(f"    self.{part} = {source.format(part)}" for part in parts)


def handed_to_init(bodies: dict[str, str]) -> str:
    return _trainer(bodies, f"def __init__(self, {', '.join(PARTS)}):\n{_assignments()}")


def moved_in_init(bodies: dict[str, str]) -> str:
    rest = _assignments(parts=PARTS[1:])
    return _trainer(bodies, f"def __init__(self, {', '.join(PARTS)}):\n    self.model = model.to(device)\n{rest}")


def with_defaults_by_keyword(bodies: dict[str, str]) -> str:
    parameters = ", ".join(f"{part}=None" for part in PARTS[1:])
    return _trainer(bodies, f"def __init__(self, model, *, {parameters}):\n{_assignments()}")


def from_a_dictionary(bodies: dict[str, str]) -> str:
    return _trainer(bodies, "def __init__(self, config):\n" + _assignments('config["{0}"]'))


def from_settings(bodies: dict[str, str]) -> str:
    return _trainer(bodies, "def __init__(self, cfg):\n" + _assignments("cfg.{0}"))


def from_keywords(bodies: dict[str, str]) -> str:
    return _trainer(bodies, "def __init__(self, **kwargs):\n" + _assignments('kwargs["{0}"]'))


def annotated(bodies: dict[str, str]) -> str:
    types = ("nn.Module", "nn.Module", "torch.optim.Optimizer", "object", "DataLoader", "DataLoader", "str", "int")
    parameters = ", ".join(f"{part}: {kind}" for part, kind in zip(PARTS, types, strict=True))
    return _trainer(bodies, f"def __init__(self, {parameters}) -> None:\n{_assignments()}")


def a_dataclass(bodies: dict[str, str]) -> str:
    types = ("nn.Module", "nn.Module", "torch.optim.Optimizer", "object", "DataLoader", "DataLoader", "str", "int")
    fields = "\n".join(f"{part}: {kind}" for part, kind in zip(PARTS, types, strict=True))
    return _trainer(bodies, fields, more="@dataclass")


def assigned_by_a_later_method(bodies: dict[str, str]) -> str:
    empty = "\n".join(f"    self.{part} = None" for part in PARTS)
    return _trainer(bodies, f"def __init__(self):\n{empty}\n\ndef setup(self, {', '.join(PARTS)}):\n{_assignments()}")


def with_an_abstract_base(bodies: dict[str, str]) -> str:
    first, rest = PARTS[:4], PARTS[4:]
    base = f"""
class Base(ABC):
    def __init__(self, {", ".join(first)}):
{_indented(_assignments(parts=first), 2)}

    @abstractmethod
    def train_epoch(self):
        raise NotImplementedError
"""
    init = (
        f"def __init__(self, {', '.join(PARTS)}):\n    super().__init__({', '.join(first)})\n{_assignments(parts=rest)}"
    )
    return _trainer(bodies, init, base="(Base)", more=base)


def with_fit_in_the_base(bodies: dict[str, str]) -> str:
    calls = {name: f"self.{name}()" for name in bodies}
    filled = _filled(bodies, {part: f"self.{part}" for part in PARTS}, calls)
    abstract = "\n".join(_method(name, "self", "raise NotImplementedError") for name in bodies if name != "fit")
    own = "\n".join(_method(name, "self", body) for name, body in filled.items() if name != "fit")
    init = _method("__init__", f"self, {', '.join(PARTS)}", textwrap.dedent(_assignments()))
    fit = _method("fit", "self", filled["fit"])
    return f"{HEAD}\n\nclass Base:\n{init}\n{fit}\n{abstract}\n\nclass Trainer(Base):\n{own}"


def of_mixins(bodies: dict[str, str]) -> str:
    calls = {name: f"self.{name}()" for name in bodies}
    filled = _filled(bodies, {part: f"self.{part}" for part in PARTS}, calls)
    mixins = [f"class {name.title()}:\n" + _method(name, "self", body) for name, body in filled.items()]
    init = _method("__init__", f"self, {', '.join(PARTS)}", textwrap.dedent(_assignments()))
    bases = ", ".join(name.title() for name in bodies)
    return "\n\n".join((HEAD, *mixins, f"class Trainer({bases}):\n{init}"))


def free_functions(bodies: dict[str, str]) -> str:
    names = dict(
        zip(PARTS, ("net", "loss_fn", "opt", "sched", "train_dl", "valid_dl", "device", "epochs"), strict=True)
    )
    given = ", ".join(names.values())
    calls = {name: f"{name}({given})" for name in bodies}
    filled = _filled(bodies, names, calls)
    return f"{HEAD}\n" + "\n\n".join(f"def {name}({given}):\n{_indented(body, 1)}" for name, body in filled.items())


FORMS = (
    handed_to_init,
    moved_in_init,
    with_defaults_by_keyword,
    from_a_dictionary,
    from_settings,
    from_keywords,
    annotated,
    a_dataclass,
    assigned_by_a_later_method,
    with_an_abstract_base,
    with_fit_in_the_base,
    of_mixins,
    free_functions,
)
RULES = tuple(rule for rule in all_rules() if rule.level is not Level.ADVICE)


def _found(source: str) -> set[tuple[int, str]]:
    script = Path("/nowhere/trainer.py")
    compile(source, script, "exec")
    options = Options(paths=(script,), rules=RULES, overlay={script: source.encode()}, names={script: script.name})
    report = scan(options)
    assert not report.errors, report.errors
    return {(finding.site.row, finding.code) for finding in report.findings}


def _marked(source: str) -> set[tuple[int, str]]:
    lines = enumerate(source.splitlines(), start=1)
    return {(row, code) for row, line in lines for code in re.findall(r"TDR\d{3}", line.partition("#")[2])}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_eleven_bugs_of_a_trainer_are_found(form: Callable[[dict[str, str]], str]) -> None:
    source = form(WRONG)
    assert _found(source) == _marked(source)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_right_trainer_is_silent(form: Callable[[dict[str, str]], str]) -> None:
    assert _found(form(RIGHT)) == set()


MAKERS = {
    "a function of a package": ("make_optimizer(self.model, cfg)", "make_scheduler(self.optimizer)"),
    "settings": ("cfg.optimizer(self.model.parameters())", "cfg.scheduler(self.optimizer)"),
    "the name of a class": (
        "getattr(torch.optim, cfg.name)(self.model.parameters(), lr=cfg.lr)",
        "getattr(torch.optim.lr_scheduler, cfg.schedule)(self.optimizer)",
    ),
    "an argument": ("optimizer_fn(self.model.parameters())", "scheduler_fn(self.optimizer)"),
}
UPDATE = (
    "self.optimizer.zero_grad()",
    "loss = F.cross_entropy(self.model(x), y)",
    "loss.backward()",
    "self.optimizer.step()",
)
UPDATES = {
    "right": UPDATE,
    "TDR101": (UPDATE[1], "loss.backward()  # TDR101", UPDATE[3]),
    "TDR102": (UPDATE[1], UPDATE[2], "self.optimizer.zero_grad()  # TDR102", UPDATE[3]),
    "TDR104": (UPDATE[0], UPDATE[1], "loss.backward()  # TDR104"),
    "TDR113": (
        UPDATE[0],
        "with torch.no_grad():",
        "    scores = self.model(x)  # TDR113",
        "loss = F.cross_entropy(scores, y).requires_grad_()",
        *UPDATE[2:],
    ),
    "TDR115": (*UPDATE[:2], "loss = torch.tensor(loss.item(), requires_grad=True)  # TDR115", *UPDATE[2:]),
    "TDR503": (*UPDATE[:2], "loss.backward(retain_graph=True)  # TDR503", UPDATE[3]),
}
MODELS = {
    "a model of its own": "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))",
    "any model": "model.cuda()",
}


def _with_made(optimizer: str, scheduler: str, model: str, update: tuple[str, ...], before: str, behind: str) -> str:
    """A trainer that has its optimizer and its scheduler made; `before` and `behind` are what each epoch begins and ends with."""
    lines = "\n".join(update)
    return f"""{HEAD}
from package import make_optimizer, make_scheduler

class Trainer:
    def __init__(self, model, loader, cfg, optimizer_fn, scheduler_fn):
        self.model = {model}
        self.loader = loader
        self.optimizer = {optimizer}
        self.scheduler = {scheduler}

    def fit(self):
        for epoch in range(10):
            {before}
            for x, y in self.loader:
{_indented(lines, 4)}
            {behind}
"""


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_an_optimizer_that_is_made_out_of_sight_is_one(
    made: tuple[str, str], update: tuple[str, ...], model: str
) -> None:
    source = _with_made(*made, model, update, "print(epoch)", "self.scheduler.step()")
    assert _found(source) == _marked(source)


@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_a_schedule_that_is_made_out_of_sight_is_one(made: tuple[str, str]) -> None:
    source = _with_made(*made, MODELS["any model"], UPDATE, "self.scheduler.step()  # TDR110", "print(epoch)")
    assert _found(source) == _marked(source)


@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_who_makes_an_optimizer_does_not_go_backward(made: tuple[str, str]) -> None:
    update = (*UPDATE[:2], "self.optimizer.step()  # TDR105")
    source = _with_made(*made, MODELS["a model of its own"], update, "print(epoch)", "self.scheduler.step()")
    assert _found(source) == _marked(source)


ACCUMULATION = """
def train(model, {loader}, {criterion}, optimizer, accumulate=4):
    model.train()
    optimizer.zero_grad()
    for i, (x, y) in enumerate({loader}):
        loss = {criterion}(model(x), y){divided}
        loss.backward(){unscaled}
        if {last}(i + 1) % accumulate == 0:{dropped}
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize("loader", ["loader", "train_dl", "batches"])
@pytest.mark.parametrize("criterion", ["criterion", "loss_fn", "objective"])
def test_windows_of_what_is_handed_in_are_means_of_any_number(criterion: str, loader: str) -> None:
    names = {"criterion": criterion, "loader": loader}
    wrong = {"divided": "", "unscaled": "  # TDR106", "last": "", "dropped": "  # TDR107"}
    right = {"divided": " / accumulate", "unscaled": "", "last": f"i + 1 == len({loader}) or ", "dropped": ""}
    for way in (wrong, right):
        source = HEAD + ACCUMULATION.format(**names, **way)
        assert _found(source) == _marked(source)


def test_a_sum_that_is_built_beside_may_be_handed_in() -> None:
    windows = {"divided": "", "unscaled": "", "last": "i + 1 == len(loader) or ", "dropped": ""}
    source = ACCUMULATION.format(criterion="criterion", loader="loader", **windows)
    built = 'CRITERION = nn.CrossEntropyLoss(reduction="sum")'
    assert _found(f"{HEAD}\n{built}\n{source}") == set()
