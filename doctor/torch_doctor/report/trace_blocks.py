"""Nest the events of a trace by call, loop, context and condition."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from torch_doctor import trace as t

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    _Condition: TypeAlias = tuple[t.Site, bool]

STRUCTURE = (t.CallEntered, t.LoopEntered, t.LoopIterated, t.GradModeEntered)


@dataclasses.dataclass(slots=True)
class Block:
    """An event with the events inside it, or a condition (a branch and its arm) with the events under it.

    The outermost block has neither.
    """

    event: t.Event | None = None
    inner: list[Block] = dataclasses.field(default_factory=list)
    condition: tuple[int, bool] | None = None
    ended: bool = False


def nested(trace: t.Trace) -> Block:
    """Return the nested events, without calls, loops, iterations and contexts that contain no other event."""
    top = Block()
    stack = [top]
    for event in trace.events:
        if isinstance(event, (t.CallExited, t.LoopExited, t.GradModeExited)):
            if _leave(stack, event) or not isinstance(event, t.GradModeExited):
                continue
        elif isinstance(event, t.LoopIterated):
            _leave(stack, event)
        block = Block(event)
        stack[-1].inner.append(block)
        if isinstance(event, STRUCTURE):
            stack.append(block)
    return Block(inner=_Conditions(trace).grouped(_pruned(top).inner, frozenset()))


def _leave(stack: list[Block], event: t.Event) -> bool:
    """Leave the call, loop, context or iteration that `event` ends; return whether it was on the stack."""
    for depth in range(len(stack) - 1, 0, -1):
        entered = stack[depth].event
        if isinstance(event, t.CallExited):
            found = isinstance(entered, t.CallEntered) and entered.function == event.function
        elif isinstance(event, t.GradModeExited):
            found = isinstance(entered, t.GradModeEntered)
            if isinstance(entered, (t.CallEntered, t.LoopEntered)):
                return False
        elif isinstance(event, (t.LoopExited, t.LoopIterated)):
            found = isinstance(entered, t.LoopEntered) and entered.loop == event.loop
        else:
            return False
        if found:
            for block in stack[depth:]:
                block.ended = isinstance(event, (t.CallExited, t.GradModeExited))
            del stack[depth + isinstance(event, t.LoopIterated) :]
            return True
    return False


def _pruned(block: Block) -> Block:
    """Return the block without empty parts; events after a context that never ends become its siblings."""
    inner: list[Block] = []
    for each in map(_pruned, block.inner):
        if isinstance(each.event, t.GradModeEntered) and not each.ended:
            inner += [Block(each.event), *each.inner]
        elif each.inner or not isinstance(each.event, STRUCTURE):
            inner.append(each)
    return Block(block.event, inner, ended=block.ended)


class _Conditions:
    """Groups consecutive blocks under the same condition into one block."""

    def __init__(self, trace: t.Trace) -> None:
        self._branches = trace.branches

    def grouped(self, blocks: Sequence[Block], known: frozenset[_Condition]) -> list[Block]:
        """Return the blocks, grouped by the conditions that are not already `known` from an outer block."""
        result: list[Block] = []
        position = 0
        while position < len(blocks):
            block = blocks[position]
            conditions = self._of(block)
            new = [(guard, condition) for condition, guard in conditions.items() if condition not in known]
            if not new:
                inner = self.grouped(block.inner, known)
                result.append(Block(block.event, inner, ended=block.ended))
                position += 1
                continue
            guard, condition = min(new)
            end = position + 1
            while end < len(blocks) and condition in self._of(blocks[end]):
                end += 1
            result.append(Block(inner=self.grouped(blocks[position:end], known | {condition}), condition=guard))
            position = end
        return result

    def _of(self, block: Block) -> dict[_Condition, tuple[int, bool]]:
        """Return the conditions of a block; the parts of one test (`a and b`) are separate branches at the same site."""
        guards = block.event.guards if block.event is not None else ()
        return {(self._branches[number].site, arm): (number, arm) for number, arm in sorted(guards, reverse=True)}
