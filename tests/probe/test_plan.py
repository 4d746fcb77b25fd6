"""What one run is to do."""

from __future__ import annotations

import json
from pathlib import Path

from torch_doctor.probe.plan import BATCHES, EPOCHS, Request, foreseen, loops, plan
from torch_doctor.rule import Level, Rule
from torch_doctor.static.tables.sinks import BY_PACKAGE
from torch_doctor.trace import (
    Backward,
    Branch,
    BranchKind,
    Formula,
    Forward,
    Kind,
    LoopEntered,
    LoopKind,
    Scope,
    ScopeKind,
    Site,
    TensorFact,
    Trace,
)

ROOT = Site("train.py", 1, 1, 1, 1)
EPOCH_LOOP, BATCH_LOOP, OTHER_LOOP = (Site("train.py", row, 1, row, 20) for row in (10, 11, 20))
STEP = Site("train.py", 13, 9, 13, 24)


class Costly(Rule):
    """Needs more than is always measured."""

    code = "TDR118"
    name = "costly"
    level = Level.ERROR
    witness = "P"
    needs = frozenset(("units", "finite"))

    def check(self, trace: Trace) -> tuple[()]:  # noqa: ARG002
        return ()


def trace_of(*headers: Site, cell: int | None = None) -> Trace:
    """A backward pass inside loops with these headers, beside a loop without one."""
    trace = Trace("train.py")
    scope = Scope(ScopeKind.ROOT, ROOT)
    trace.add(LoopEntered(site=OTHER_LOOP, scope=scope, loop=99, loop_kind=LoopKind.PLAIN, over="names"))
    for number, header in enumerate(headers, start=1):
        site = header._replace(cell=cell)
        trace.add(LoopEntered(site=site, scope=scope, loop=number, loop_kind=LoopKind.PLAIN, over="x"))
        scope = Scope(ScopeKind.ITERATION, site, scope, loop=number, number=1)
    loss = TensorFact(kind=Kind.LOSS)
    nothing: frozenset[int] = frozenset()
    trace.add(
        Backward(site=STEP, scope=scope, name="loss", through="backward", loss=loss, modules=nothing, whole=False)
    )
    return trace


def test_the_innermost_loop_around_a_backward_goes_over_batches_and_those_around_it_over_epochs() -> None:
    assert loops([trace_of(EPOCH_LOOP, BATCH_LOOP)]) == {
        EPOCH_LOOP: {"cap": EPOCHS, "kind": "epoch"},
        BATCH_LOOP: {"cap": BATCHES, "kind": "batch"},
    }


def test_a_loop_with_no_other_around_it_makes_the_batches_of_all_epochs() -> None:
    assert loops([trace_of(EPOCH_LOOP)]) == {EPOCH_LOOP: {"cap": BATCHES * EPOCHS, "kind": "batch"}}


def test_a_loop_that_goes_backward_every_so_many_passes_has_that_period() -> None:
    trace = trace_of(EPOCH_LOOP, BATCH_LOOP)
    passes = Formula("%", (Formula("pass", value=1, of=1), Formula("number", value=20)))
    test = Formula("==", (passes, Formula("number", value=0)))
    trace.branches.append(Branch(STEP, BranchKind.PERIODIC, test))
    trace.replace(trace.of(Backward)[0], guards=frozenset({(0, True)}))
    assert loops([trace])[BATCH_LOOP] == {"cap": BATCHES, "kind": "batch", "period": 20}
    assert "period" not in loops([trace])[EPOCH_LOOP]


def test_a_loop_that_is_around_others_in_one_run_only_is_around_others() -> None:
    both = loops([trace_of(EPOCH_LOOP), trace_of(EPOCH_LOOP, BATCH_LOOP)])
    assert both[EPOCH_LOOP]["kind"] == "epoch"


def test_the_plan_is_what_the_agent_reads(tmp_path: Path) -> None:
    request = Request(
        script=tmp_path / "train.py", root=tmp_path, cwd=tmp_path, args=("--lr", "1"), device="cpu", seconds=20.0
    )
    made = json.loads(
        json.dumps(plan(request, tmp_path / "s", [Costly()], [trace_of(EPOCH_LOOP)], Path("/p").joinpath))
    )
    assert made["script"] == str(tmp_path / "train.py")
    assert made["args"] == ["--lr", "1"]
    assert made["needs"] == ["finite", "units"]
    assert made["loops"] == {"/p/train.py:10:1": {"cap": BATCHES * EPOCHS, "kind": "batch"}}
    assert made["timeout"] < 20
    assert made["text"] is None


def test_two_batches_of_two_epochs_at_least() -> None:
    assert BATCHES >= 2
    assert EPOCHS >= 2


def test_places_in_cells_are_those_in_what_is_run(tmp_path: Path) -> None:
    traces = [trace_of(EPOCH_LOOP, cell=3)]
    (loop,) = loops(traces)
    request = Request(script=tmp_path / "n.ipynb", root=tmp_path, cwd=tmp_path, text="pass", places=frozenset((loop,)))

    def laid(site: Site) -> Site:
        return site._replace(row=site.row + 20, end_row=site.end_row + 20, cell=None)

    made = plan(request, tmp_path, [], traces, Path("/p").joinpath, laid=laid)
    assert made["loops"] == {f"/p/{loop.path}:{loop.row + 20}:{loop.column}": {"cap": 6, "kind": "batch"}}
    assert loop.row + 20 in made["places"][f"/p/{loop.path}"]
    assert made["text"] == "pass"


def test_what_is_known_of_sinks_travels_to_the_agent(tmp_path: Path) -> None:
    request = Request(script=tmp_path / "train.py", root=tmp_path, cwd=tmp_path, sinks=BY_PACKAGE)
    made = json.loads(json.dumps(plan(request, tmp_path, [], [], Path)))
    assert made["sinks"]["tqdm"] == {"set_postfix": "number"}
    assert made["sinks"]["timm"] == {"update": "keeps"}


def test_forwards_that_go_backward_by_the_source_are_foreseen() -> None:
    trace = Trace("train.py")
    root = Scope(ScopeKind.ROOT, ROOT)
    used, unused = (Site("train.py", row, 5, row, 13) for row in (3, 4))
    first, _ = (
        trace.add(
            Forward(
                site=site,
                scope=root,
                module=1,
                name="model",
                class_name="Linear",
                sensitive=False,
                training=True,
                grad=True,
                trainable=True,
                inputs=TensorFact(),
                output=TensorFact(),
            )
        )
        for site in (used, unused)
    )
    loss = TensorFact(kind=Kind.LOSS, forwards=frozenset({first.index}))
    nothing: frozenset[int] = frozenset()
    trace.add(Backward(site=STEP, scope=root, name="loss", through="backward", loss=loss, modules=nothing, whole=False))
    assert foreseen([trace]) == {used}
