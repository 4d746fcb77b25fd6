"""Observers are found, are told what happens, and are there only where somebody reads what they write."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Container
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.said import said
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, examining, scan
from torch_doctor.static import Failure, Followed, Witness, dispatch
from torch_doctor.static.hooks import Hooks, key_of
from torch_doctor.static.observer import HOOKS, OF_A_VALUE, OF_AN_OPERATION, Named, Observer, observers
from torch_doctor.static.values import Const, Lib, Method, Plain, Zero
from torch_doctor.trace import Backward, Site, Timed, Trace, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch_doctor.sources.source import SourceFile

dispatch.load()

TIMED = """
import time
import torch
from torch import nn

model = nn.Linear(4, 2).cuda()
for x in torch.utils.data.DataLoader(data):
    start = time.time()
    out = model(x.cuda())
    print(time.time() - start)
"""


@pytest.mark.parametrize("observer", observers(), ids=lambda each: each.__name__)
def test_an_observer_writes_the_events_that_it_names_and_listens_to_hooks(observer: type[Observer]) -> None:
    assert observer.__module__.startswith("torch_doctor.static.observers.")
    assert observer.__doc__
    tree = ast.parse(inspect.getsource(sys.modules[observer.__module__]))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    emitted = {node.args[0].id for node in calls if node.func.attr == "emit" and isinstance(node.args[0], ast.Name)}  # type: ignore[attr-defined]  # see above
    if any(node.func.attr == "replace" for node in calls):  # type: ignore[attr-defined]  # it completes those it looks up
        emitted |= {node.args[0].id for node in calls if node.func.attr == "of" and isinstance(node.args[0], ast.Name)}  # type: ignore[attr-defined]  # see above
    others = {event.__name__ for each in observers() if each.__module__ == observer.__module__ for event in each.writes}
    assert {event.__name__ for event in observer.writes} <= emitted <= others
    assert any(hook in vars(observer) for hook in HOOKS)


@pytest.mark.parametrize("observer", observers(), ids=lambda each: each.__name__)
def test_no_method_of_an_observer_has_nearly_the_name_of_a_hook(observer: type[Observer]) -> None:
    """With `@override`, mypy finds a misspelt hook; without it, this does."""
    methods = (name for name, what in vars(observer).items() if inspect.isfunction(what) and name not in HOOKS)
    assert not [name for name in methods if name[0] != "_" and get_close_matches(name, HOOKS, cutoff=0.85)]


def test_a_rule_reads_the_events_that_its_modules_name() -> None:
    reads = {rule.code: rule.reads() for rule in all_rules()}
    assert {Backward, ZeroGrad} <= reads["TDR101"]
    assert Timed in reads["TDR808"]
    assert Timed not in reads["TDR101"]


@pytest.mark.parametrize(("code", "there"), [("TDR808", True), ("TDR101", False)])
def test_an_observer_of_which_nobody_reads_anything_is_not_there(
    code: str, there: bool, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("train.py", TIMED)
    seen: list[Any] = []

    class Watching(Witness):
        def file(self, file: SourceFile, before: Followed = Followed()) -> Iterator[Trace | Failure]:  # noqa: B008 - frozen
            for trace in super().file(file, before):
                seen.append(trace)
                yield trace

    monkeypatch.setattr(examining, "Witness", Watching)
    report = scan(Options(paths=(path,), rules=tuple(rule for rule in all_rules() if rule.code == code)))
    assert bool(report.findings) is there
    assert any(trace.of(Timed) for trace in seen) is there


class Listener:
    """Hears of constants, of some functions and methods by their names, and of two operators."""

    about: ClassVar = {
        "called": (Const, Named(Lib, lambda name: name.startswith("torch.")), Named(Method, ("step",))),
        "computed": ("+", "-"),
    }
    listens = ("called", "read", "computed", "made")

    def called(self) -> None: ...

    def read(self) -> None: ...

    def computed(self) -> None: ...

    def made(self) -> None: ...


def test_a_method_is_called_for_the_values_that_its_observer_names() -> None:
    hooks = Hooks([Listener()])  # type: ignore[list-item]  # those that are defined are there in every run
    told = (Const(1), Zero(0, Site("", 1, 1, 1, 1)), Lib("torch.add"), Method(Plain(), "step"))
    others = (Plain(), Lib("numpy.add"), Method(Plain(), "zero_grad"))
    assert [len(hooks.called[key_of(each)]) for each in told] == [1, 1, 1, 1]
    assert [len(hooks.called[key_of(each)]) for each in others] == [0, 0, 0]
    assert [len(hooks.read[each, "grad"]) for each in (Const, Plain)] == [1, 1]


def test_a_method_is_called_for_the_operations_that_its_observer_names() -> None:
    hooks = Hooks([Listener()])  # type: ignore[list-item]  # as above
    assert [len(hooks.computed[op]) for op in ("+", "-", "*")] == [1, 1, 0]
    assert len(hooks.made["add"]) == 1


def test_each_observer_of_a_run_is_told_by_its_own_method() -> None:
    first, second = Listener(), Listener()
    for each in (first, second):
        hooks = Hooks([each])  # type: ignore[list-item]  # as above
        assert [method.__self__ for method in hooks.computed["+"]] == [each]  # type: ignore[attr-defined]  # it is bound


@pytest.mark.parametrize("observer", observers(), ids=lambda each: each.__name__)
def test_an_observer_says_what_the_hooks_are_for_that_it_listens_to(observer: type[Observer]) -> None:
    assert (OF_A_VALUE | OF_AN_OPERATION).intersection(observer.listens) >= observer.about.keys()
    for hook, about in observer.about.items():
        named = [about] if hook in OF_AN_OPERATION else [each.names for each in about if isinstance(each, Named)]  # type: ignore[union-attr]  # of a value, it is a tuple
        assert all(isinstance(names, Container) or callable(names) for names in named)
        assert hook in OF_AN_OPERATION or isinstance(about, tuple)


def test_a_list_of_layers_that_begins_empty_is_told_to_all() -> None:
    events = said(
        """
        import torch
        from torch import nn

        class Block(nn.Sequential):
            def __init__(self):
                super().__init__()
                self.add_module("layer", nn.Linear(4, 4))

        Block()(torch.randn(2, 4)).sum().backward()
        """,
        "gradients",
    )
    assert len(events) == 1


def test_attention_that_got_its_rate_before_the_call_is_not_looked_at() -> None:
    script = """
import functools
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def forward(self, q, k, v):
        return {attend}


Attention()(q, k, v)
"""
    told = "in both training and evaluation mode"
    assert said(script.format(attend="F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)"), told)
    early = "functools.partial(F.scaled_dot_product_attention, dropout_p=0.1)(q, k, v)"
    assert not said(script.format(attend=early), told)
