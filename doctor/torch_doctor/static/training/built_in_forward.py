"""Layers and parameters that a module makes while it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library
from torch_doctor.static.training import module_parts
from torch_doctor.static.values import Call, Const, Fact, Module, Params, Tensor
from torch_doctor.trace import BuiltInForward, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Guards, Site


class Constructions(Knowledge):
    """Where layers and parameters are built while a module is called."""

    def __init__(self) -> None:
        self.arms = 0  # arms of branches, decided ones too, that are being executed
        self.called_in: tuple[int, Guards, int] = (
            0,
            frozenset(),
            0,
        )  # arms, guards and newest object when the last module was called
        self.reported: set[Site] = set()  # constructions of which it was said that a forward makes them


_AFFINE = ("affine", "elementwise_affine")


def layer(run: Run, made: Module) -> None:
    """A module was constructed; where that is within a forward, it is remembered until it is called."""
    if run.modules_called and not run.building:
        guarded = (run.of(Constructions).arms, run.guards) != run.of(Constructions).called_in[:2]
        made.facts[Fact.MADE_IN_FORWARD] = (
            guarded,
            run.modules_called[-1],
            run.of(Constructions).called_in[2],
        )  # not logged: it is new


def called(run: Run, made: Module, node: p.Node) -> None:
    """A module is called within a forward: one that was made there is written.

    Not one that became part of a module behind a branch, which may be taken once; nor one whose weights were given to it.
    """
    found = made.fact(Fact.MADE_IN_FORWARD)
    if found is None or made.born is None or made.born in run.of(Constructions).reported:
        return
    guarded, owner, before = found
    kept = made.fact(Fact.REGISTERED)
    directly = isinstance(node, p.Call) and isinstance(node.func, p.Call)
    if guarded and (kept or not directly):
        return
    given = made.fact(Fact.WEIGHTS_GIVEN) or any(name in made.fields for name in ("weight", "bias"))
    plain = any(isinstance(value := made.settings.get(name), Const) and not value.value for name in _AFFINE)
    if given or plain or not any(_is_new(run, part, before) for part in module_parts.parts_of(run, made).parts):
        return
    run.of(Constructions).reported.add(made.born)
    run.emit(
        BuiltInForward,
        made.born,
        owner=owner.id,
        owner_class=owner.class_name,
        class_name=made.class_name,
        used_at=run.site(node),
        registered=kept,
    )


def _is_new(run: Run, part: Module, before: int) -> bool:
    """Whether a part has weights that were drawn since the forward began, and may be trained."""
    weights = part.id > before and module_parts.has_parameters(run, part) is True
    return weights and part.fact(Fact.FROZEN) is False


@library("torch.nn.Parameter", stage=Stage.NOTE)
def parameter(run: Run, _: str, call: Call) -> None:
    """`nn.Parameter(...)`; within a forward it is written when it holds numbers of its own, and not what was computed."""
    flag = call.argument(1, "requires_grad")
    value = call.argument(0, "data")
    if (
        not run.modules_called
        or run.building
        or (run.of(Constructions).arms, run.guards) != run.of(Constructions).called_in[:2]
        or flag is not None
    ):
        return
    new = isinstance(value, Tensor) and value.flow.source in (Source.DATA, Source.NOISE) and not value.flow.forwards
    if (
        new
        and value is not None
        and value.flow.graph is False
        and run.site(call.node) not in run.of(Constructions).reported
    ):
        run.of(Constructions).reported.add(run.site(call.node))
        owner = run.modules_called[-1]
        run.emit(
            BuiltInForward,
            call.node,
            owner=owner.id,
            owner_class=owner.class_name,
            class_name="torch.nn.Parameter",
            used_at=run.site(call.node),
        )


def weights_given(run: Run, params: Params) -> None:
    """Parameters got their values from somebody."""
    for number in params.modules:
        thing = run.objects.get(number)
        if isinstance(thing, Module) and thing.fact(Fact.MADE_IN_FORWARD) is not None:
            run.heap.set(thing.facts, Fact.WEIGHTS_GIVEN, value=True)
