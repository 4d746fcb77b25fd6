"""Gradients that a script reads: for it wants them, and not always a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import Either, Module, ParameterValue, Params, Tensor, Unknown, Value
from torch_doctor.trace import GradientsRead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run

HOOKS: Final = frozenset(
    f"register_{name}"
    for name in (
        "hook",
        "backward_hook",
        "full_backward_hook",
        "full_backward_pre_hook",
        "post_accumulate_grad_hook",
        "multi_grad_hook",
    )
)
"""What registers a function that every backward pass gives gradients."""


class GradientReads(Observer, read=(Named(Value, HOOKS | {"grad"}),)):
    """Where `.grad` is taken, or a hook gets gradients: of parameters, of inputs, of something unresolved."""

    writes = (GradientsRead,)

    _recent: dict[p.Node, GradientsRead] = per_run(dict)  # since the last branch

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """Write that gradients are read, or will be."""
        if name in HOOKS:
            modules, whole = _owners(run, run.modules_called[0] if run.modules_called else value)
            run.emit(GradientsRead, node, name=run.text(node), modules=modules, whole=whole, hooked=True)
        if name != "grad" or run.modules_called:
            return
        for option in [option for _, option in value.options] if isinstance(value, Either) else [value]:
            if isinstance(option, (Params, ParameterValue, Tensor, Unknown)):
                modules, whole = _owners(run, option)
                event = run.emit(GradientsRead, node, name=run.text(node), modules=modules, whole=whole)
                self._recent[node] = event

    @override
    def branching(self, run: Run, node: p.If | p.Choice) -> None:
        """Who only asks whether there is a gradient does not read it."""
        for asked in _asked(node.test) if self._recent else ():
            if asked in self._recent:
                run.trace.replace(self._recent[asked], asked=True)
        self._recent.clear()


def _owners(run: Run, value: Value) -> tuple[frozenset[int], bool]:
    """The modules whose gradients these are, and whether these are all; none for a tensor that is no parameter."""
    if isinstance(value, Module):
        return module_parts.with_parts(run, frozenset((value.id,))), True
    if isinstance(value, Params):
        return value.modules, value.whole
    if isinstance(value, ParameterValue):
        return frozenset((value.id,)), True
    if isinstance(value, Unknown):
        return frozenset(n for n in value.holds if isinstance(run.objects.get(n), (Module, ParameterValue))), False
    return frozenset(), True


def _asked(test: p.Expr) -> Iterator[p.Node]:
    """What a test asks for being there: by itself, or compared with None."""
    if isinstance(test, p.Logic):
        for part in test.operands:
            yield from _asked(part)
    elif isinstance(test, p.Compare):
        if isinstance(test.right, p.Const) and test.right.value is None:
            yield test.left
    else:
        yield test
