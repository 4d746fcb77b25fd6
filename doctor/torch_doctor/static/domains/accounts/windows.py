"""Windows that a library keeps: which calls of a prepared optimizer wait until its window is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.decisions import Decisions
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Optimizer, Plain, Tool
from torch_doctor.static.values.symbols import SYNCHRONISED
from torch_doctor.trace import Formula, Guards, Scope

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol, Value

STEPS: Final = "gradient_accumulation_steps"
STEPS_AT: Final = 3
PLUGIN: Final = "gradient_accumulation_plugin"
NO_GUARDS: Final[Guards] = frozenset()
_NOT_KEPT: Final = frozenset(("deepspeed_plugin", "fsdp_plugin", "megatron_lm_plugin", "**"))
"""Arguments with which something else keeps the windows, or may do so."""
_UNTIED: Final = frozenset(("step_scheduler_with_optimizer", "**"))
"""Arguments with which schedulers may step without their optimizers."""


class Windows(Lasting):
    """The windows of this run: how long those of each accelerator are, where each began one last, and whom it prepared."""

    lengths: dict[int, int] = per_run(dict)
    begun: dict[int, Scope | None] = per_run(dict)
    prepared: dict[int, int] = per_run(dict)


def settings(call: Call) -> tuple[str, ...]:
    """Return the arguments of an accelerator by which it divides losses, or by which something else may."""
    named = ((STEPS,) if len(call.args) > STEPS_AT else ()) + tuple(call.keywords)
    return tuple(name for name in named if name in (STEPS, PLUGIN, *_NOT_KEPT))


def built(run: Run, tool: Tool, call: Call) -> None:
    """Note an accelerator whose windows are known to have several passes."""
    given: Value | None = call.argument(STEPS_AT, STEPS)
    plugin = call.keywords.get(PLUGIN)
    if isinstance(plugin, Tool):
        given = plugin.keywords.get("num_steps")
    if (
        isinstance(given, Const)
        and type(given.value) is int
        and given.value > 1
        and not _NOT_KEPT & call.keywords.keys()
    ):
        run.of(Windows).lengths[tool.id] = given.value


def prepared(run: Run, tool: Tool, thing: Optimizer | Tool) -> None:
    """Note that calls of an optimizer, or steps of a scheduler, wait from here on."""
    if tool.id in run.of(Windows).lengths and (
        isinstance(thing, Optimizer) or tool.keywords.keys().isdisjoint(_UNTIED)
    ):
        run.of(Windows).prepared[thing.id] = tool.id


def batches_of(run: Run, thing: Tool) -> int:
    """Return how many batches a step takes that has no effect before its window is complete."""
    windows = run.of(Windows)
    tool = windows.prepared.get(thing.id, 0)
    return windows.lengths[tool] if tool in windows.begun else 1


def entered(run: Run, tool: Tool) -> bool:
    """Note that a pass of a window begins, and whether there are windows: the accelerator then says which pass is the last."""
    windows = run.of(Windows)
    if tool.id not in windows.lengths:
        return False
    windows.begun[tool.id] = next(reversed(run.scope.iterations()), None)
    run.heap.set(tool.fields, SYNCHRONISED, Plain((SYNCHRONISED, tool.id)))
    return True


def waits(run: Run, optimizer: Optimizer, node: p.Node) -> Guards:
    """Return what guards a call of an optimizer: it has no effect before its window is complete."""
    windows = run.of(Windows)
    tool = windows.prepared.get(optimizer.id, 0)
    if tool not in windows.begun:
        return NO_GUARDS
    within = windows.begun[tool] is next(reversed(run.scope.iterations()), None)
    symbol = (SYNCHRONISED, tool) if within else (SYNCHRONISED, tool, "before")
    branch = run.of(Decisions).branch(
        symbol, node, run.site(node), run.trace, lambda _: None, lambda symbol: formula(run, symbol)
    )
    return frozenset(((branch, True),))


def formula(run: Run, symbol: Symbol) -> Formula | None:
    """Return when a window is complete, by the symbol that says so; None for any other symbol."""
    length = run.of(Windows).lengths.get(symbol[1], 0) if symbol[0] == SYNCHRONISED else 0
    return _complete(length, within=len(symbol) == 2) if length else None


def _complete(length: int, *, within: bool) -> Formula:
    """Whether a window is complete: after so many passes, and at the end of the loader; before its next, as after the last."""
    passes = Formula("pass", value=int(within))
    full = Formula("==", (Formula("%", (passes, Formula("number", value=length))), Formula("number", value=0)))
    return Formula("or", (full, Formula("==", (passes, Formula("batches"))))) if within else full
