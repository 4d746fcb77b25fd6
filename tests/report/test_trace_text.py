"""A trace to read, and the same for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torch_doctor import trace as t
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look
from torch_doctor.report.trace_text import render, render_json
from torch_doctor.sources.source import SourceFile

PLAIN = Look(Paint())
TEXT = "\nwhile not done:" + "\n" * 12 + "        if args.clip: clip()\n"


class Script:
    """Writes the trace of a training script, event by event."""

    def __init__(self) -> None:
        self.trace = t.Trace("train.py")
        self.trace.branches.append(t.Branch(t.Site("train.py", 14, 12, 14, 21), t.BranchKind.FLAG))
        self.scope = t.Scope(t.ScopeKind.ROOT, site(1))

    def add(self, kind: type[t.Event], row: int, path: str = "train.py", **fields: object) -> None:
        guards = fields.pop("guards", frozenset())
        self.trace.add(kind(site=site(row, path), scope=self.scope, guards=guards, **fields))  # type: ignore[arg-type]

    def text(self) -> str:
        return render([self.trace], {"train.py": SourceFile(Path("/train.py"), "train.py", TEXT)}, PLAIN)


def site(row: int, path: str = "train.py") -> t.Site:
    return t.Site(path, row, 5, row, 9)


def epoch(script: Script, number: int, *, clip: bool = True) -> None:
    outer = script.scope
    script.scope = t.Scope(t.ScopeKind.ITERATION, site(12), outer, loop=1, number=number)
    script.add(t.LoopIterated, 12, loop=1, number=number)
    script.add(t.BatchTaken, 12, loader=7, name="loader")
    script.add(
        t.Backward,
        13,
        name="loss",
        through="backward",
        loss=t.TensorFact(kind=t.Kind.LOSS),
        modules=frozenset({1}),
        whole=True,
    )
    if clip:
        script.add(
            t.Clipped,
            14,
            function="torch.nn.utils.clip_grad_norm_",
            modules=frozenset({1}),
            guards=frozenset({(0, True)}),
        )
    script.scope = outer


@pytest.fixture
def script() -> Script:
    script = Script()
    main = site(10)
    script.add(t.CallEntered, 20, function="main", function_site=main)
    script.add(t.CallEntered, 11, function="build", function_site=site(3, "model.py"))
    script.add(t.ModuleBuilt, 4, "model.py", module=1, class_name="Net", sensitive=True)
    script.add(t.CallExited, 11, function="build")
    script.add(t.CallEntered, 11, function="seed", function_site=site(30))
    script.add(t.CallExited, 11, function="seed")
    script.add(t.LoopEntered, 12, loop=1, loop_kind=t.LoopKind.BATCHES, over="loader")
    epoch(script, 1)
    epoch(script, 2)
    script.add(t.LoopExited, 12, loop=1)
    script.add(t.CallExited, 20, function="main")
    script.add(t.Saved, 21, what="net", modules=(1,), names=("",))
    return script


def test_events_are_indented_by_call_and_loop(script: Script) -> None:
    assert (
        script.text()
        == """\
train.py
20:5  call main (line 10)
11:5    call build (model.py:3:5)
 4:5      create Net (mode-sensitive)
12:5    loop over `loader`, batch by batch
12:5      iteration 1
12:5        take a batch from `loader`
13:5        backward `loss`: gradients for Net
14:5        clip the gradients of Net (utils.clip_grad_norm_)  [if args.clip]
12:5      iteration 2: same as above
21:5  save `net`: the Net object, not its state_dict
"""
    )


def test_a_pass_that_differs_is_shown() -> None:
    script = Script()
    script.add(t.LoopEntered, 12, loop=1, loop_kind=t.LoopKind.PLAIN, over="range(2)")
    epoch(script, 1)
    epoch(script, 2, clip=False)
    assert script.text().count("backward `loss`") == 2


def test_a_while_loop_is_called_one() -> None:
    script = Script()
    script.add(t.LoopEntered, 2, loop=1, loop_kind=t.LoopKind.PLAIN, over="not done")
    epoch(script, 1)
    assert " 2:5  loop while `not done`\n" in script.text()


def test_what_ends_without_saying_so_does_not_swallow_the_rest() -> None:
    script = Script()
    script.add(t.CallEntered, 20, function="main", function_site=site(10))
    script.add(t.LoopEntered, 12, loop=1, loop_kind=t.LoopKind.PLAIN, over="x")
    epoch(script, 1)
    script.add(t.CallExited, 20, function="main")
    script.add(t.ScalerUpdated, 30, scaler=1)
    assert "\n30:5  update the gradient scaler\n" in script.text()


def under(script: Script, *rows: int, guards: t.Guards = frozenset()) -> None:
    for row in rows:
        script.add(t.ScalerUpdated, row, scaler=1, guards=guards)


def test_events_under_the_same_condition_stand_below_it() -> None:
    script = Script()
    script.trace.branches.append(t.Branch(t.Site("train.py", 3, 4, 3, 9), t.BranchKind.PERIODIC))
    under(script, 1)
    under(script, 15, 16, guards=frozenset({(0, True)}))
    under(script, 17, guards=frozenset({(0, True), (1, False)}))
    under(script, 18, guards=frozenset({(1, False)}))
    assert script.text() == (
        "train.py\n"
        " 1:5  update the gradient scaler\n"
        "14:12  if args.clip\n"
        "15:5    update the gradient scaler\n"
        "16:5    update the gradient scaler\n"
        "17:5    update the gradient scaler  [unless the condition on line 3 (periodic)]\n"
        "18:5  update the gradient scaler  [unless the condition on line 3 (periodic)]\n"
    )


def test_the_parts_of_one_test_are_said_once() -> None:
    script = Script()
    script.trace.branches += [script.trace.branches[0]] * 2
    under(script, 15, guards=frozenset({(0, True), (1, True), (2, True)}))
    assert script.text() == "train.py\n15:5  update the gradient scaler  [if args.clip]\n"
    under(script, 16, guards=frozenset({(1, True)}))
    assert script.text().count("if args.clip") == 1


def test_a_context_holds_what_happens_in_it() -> None:
    script = Script()
    script.add(t.GradModeEntered, 1, context="torch.no_grad", enabled=False)
    under(script, 2)
    script.add(t.GradModeExited, 1, context="torch.no_grad", enabled=True)
    script.add(t.GradModeEntered, 3, context="torch.no_grad", enabled=False)
    script.add(t.GradModeExited, 3, context="torch.no_grad", enabled=True)
    under(script, 4)
    assert script.text() == (
        "train.py\n1:5  no_grad: autograd off\n2:5    update the gradient scaler\n4:5  update the gradient scaler\n"
    )


def test_what_follows_a_context_that_never_ends_stands_beside_it() -> None:
    script = Script()
    script.add(t.GradModeEntered, 1, context="torch.set_grad_enabled", enabled=True)
    under(script, 2)
    script.add(t.CallEntered, 20, function="main", function_site=site(10))
    script.add(t.GradModeExited, 3, context="torch.no_grad", enabled=None)
    assert script.text() == (
        "train.py\n"
        " 1:5  set_grad_enabled: autograd on\n"
        " 2:5  update the gradient scaler\n"
        "20:5  call main (line 10)\n"
        " 3:5    autograd unknown again\n"
    )


def test_a_module_goes_by_the_name_it_has_furthest_outside() -> None:
    script = Script()
    script.add(t.OptimizerBuilt, 1, optimizer=2, class_name="torch.optim.SGD", modules=frozenset({1}), whole=True)
    root = script.scope
    script.scope = t.Scope(t.ScopeKind.CALL, site(3), root, name="fit")
    script.add(t.ModeSet, 4, module=1, name="self.net", training=True, whole=True)
    script.scope = root
    script.add(t.ModeSet, 5, module=1, name="model", training=True, whole=True)
    assert "1:5  create optimizer SGD over `model`\n" in script.text()


@pytest.mark.parametrize(
    ("row", "called"),
    [
        ("model = nets.Small(3)", "nets.Small.__init__"),
        ("model = Small(", "Small.__init__"),
        ("model = super().__init__()", "super().__init__"),
        ("model = nn.Module.__init__(self)", "nn.Module.__init__"),
        ("model = classes[name](3)", "__init__"),
    ],
)
def test_a_constructor_is_named_with_its_class(row: str, called: str) -> None:
    script = Script()
    script.add(t.CallEntered, 1, function="__init__", function_site=site(3))
    under(script, 4)
    script.trace.replace(script.trace.events[0], site=t.Site("train.py", 1, 9, 1, len(row) + 1))
    source = SourceFile(Path("/train.py"), "train.py", row)
    assert render([script.trace], {"train.py": source}, PLAIN).startswith(f"train.py\n1:9  call {called} (line 3)\n")


def test_a_trace_in_which_nothing_happens_is_left_out() -> None:
    script = Script()
    script.add(t.CallEntered, 20, function="main", function_site=site(10))
    script.add(t.CallExited, 20, function="main")
    assert script.text() == ""


def test_the_start_in_the_middle_of_things_is_told(script: Script) -> None:
    script.trace.begins_outside = True
    assert script.text().startswith("train.py (a function without known callers)\n")


def test_programs_get_every_event_with_all_it_says(script: Script) -> None:
    (record,) = json.loads(render_json([script.trace]))
    assert [event["event"] for event in record["events"]] == [type(event).__name__ for event in script.trace.events]
    clipped = next(event for event in record["events"] if event["event"] == "Clipped")
    assert clipped["site"] == {"path": "train.py", "row": 14, "column": 5, "end_row": 14, "end_column": 9, "cell": None}
    assert clipped["guards"] == [{"branch": 0, "arm": True}]
    assert clipped["within"][-1] == {"kind": "iteration", "loop": 1, "number": 1, "over": "plain"}
    assert clipped["modules"] == [1]
    assert record["branches"] == [
        {
            "site": {**clipped["site"], "column": 12, "end_column": 21},
            "kind": "flag",
            "test": None,
            "needs": None,
        }
    ]
