"""Sums, differences, products and quotients of tensors: whether their shapes were stretched to match, for those of a loss."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ..marks import noted, on_node

if TYPE_CHECKING:
    from types import CodeType

    from ..watch import Watch

MOST = 3  # times that one place is looked at while its shapes agree
PLACES = 500
DIFFERENCE = "difference"
COLUMN_AND_ROW = ((2, 1), (1, 2))  # numbers of dimensions
OPERATIONS = {
    "sub": DIFFERENCE,
    "subtract": DIFFERENCE,
    "add": "sum",
    "mul": "product",
    "multiply": "product",
    "truediv": "quotient",
    "div": "quotient",
    "divide": "quotient",
    "true_divide": "quotient",
}
"""What the functions are called, as which they are told of."""


class Watcher:
    """Wraps arithmetic; what is stretched is noted on the node of the result, or beside it, for backward to find.

    Of a difference outside of modules, any other shape is noted; of everything else, a column and a row of equal length.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._tensor = watch.torch.Tensor
        self._agreed: dict[tuple[CodeType, int], int] = {}
        self._at: dict[int, int] = {}
        self.stretched = False  # whether a column and a row were, other than in a difference outside of modules

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch, replace = self._watch.torch, self._watch.patches.replace
        for name, operation in OPERATIONS.items():
            for owner, spelled in ((torch.Tensor, f"__{name}__"), (torch.Tensor, name), (torch, name)):
                replace(owner, spelled, self._wrapping(operation, by_method=owner is not torch and spelled == name))
        self._recorder.at_end.append(self._count)

    def _wrapping(self, operation: str, *, by_method: bool) -> Any:
        recorder, tensor, agreed, agree = self._recorder, self._tensor, self._agreed, self._agree
        frame_at, is_agents = sys._getframe, self._recorder.sites.is_agents

        def wrap(original: Any) -> Any:
            def combine(*arguments: Any, **keywords: Any) -> Any:
                made = original(*arguments, **keywords)
                if len(arguments) > 1 and isinstance(arguments[1], tensor) and not recorder.quiet:
                    left, right = arguments[:2]
                    if not isinstance(left, tensor):
                        return made
                    dims = left.dim(), right.dim()
                    differ = dims[0] != dims[1]
                    if not recorder.inside or dims in COLUMN_AND_ROW:
                        frame = frame_at(1)
                        while frame.f_back is not None and is_agents(frame.f_code.co_filename):  # it is watched twice
                            frame = frame.f_back
                        if differ:
                            recorder.safely(self._differ, operation, by_method, made, left, right, frame)
                        elif agreed.get((frame.f_code, frame.f_lasti), 0) < MOST:
                            recorder.safely(agree, frame)
                    if self.stretched:
                        recorder.safely(self._passed_on, made, left, right)
                return made

            return combine

        return wrap

    def _differ(self, operation: str, by_method: bool, made: Any, left: Any, right: Any, frame: Any) -> None:  # noqa: FBT001 - the wrapper passes it on
        """Notes what was stretched to match."""
        sites, node = self._recorder.sites, getattr(made, "grad_fn", None)
        plain = operation == DIFFERENCE and not self._recorder.inside
        crossed = _crossed(left, right)
        if not ((plain and node is not None) or crossed) or not sites.is_users(frame.f_code.co_filename):
            return
        if self._recorder.rests():
            return
        facts = self._watch.facts
        note = {
            "site": sites.of_frame(frame),
            "name": "",
            "left": facts.of(left) | facts.meta(left),
            "right": facts.of(right) | facts.meta(right),
            "operation": operation,
            "by_method": by_method,
        }
        if node is None:
            self._watch.marks.update(made, stretched=note)
        else:
            on_node(node)["broadcast" if plain else "stretched"] = note
        self.stretched |= node is None or not plain

    def _passed_on(self, made: Any, left: Any, right: Any) -> None:
        """What is computed of a tensor without a graph that was stretched has been stretched."""
        marks = self._watch.marks
        note = marks.of(left).stretched or marks.of(right).stretched
        if note is not None:
            self._note(made, note)

    def compared(self, loss: Any, given: Any, target: Any) -> None:
        """A loss was computed of its input and its target, one of which may have been stretched without a graph."""
        if self.stretched and isinstance(given, self._tensor) and isinstance(target, self._tensor):
            for one, other in ((given, target), (target, given)):
                note = self._watch.marks.of(one).stretched
                if note is not None:
                    self._note(loss, note | {"linear": other.numel() == len(other)})

    def _note(self, made: Any, note: dict[str, Any]) -> None:
        node = made.grad_fn
        if node is None:
            self._watch.marks.update(made, stretched=note)
        elif "stretched" not in (noted(node) or {}):
            on_node(node)["stretched"] = note

    def _agree(self, frame: Any) -> None:
        """Counts, for the first times at a place, that nothing had to be stretched."""
        place = (frame.f_code, frame.f_lasti)
        users = len(self._agreed) < PLACES and self._recorder.sites.is_users(frame.f_code.co_filename)
        if not users:
            self._agreed[place] = MOST  # not worth a second look
            return
        self._agreed[place] = self._agreed.get(place, 0) + 1
        site = self._recorder.sites.of_frame(frame)
        self._at[site] = self._at.get(site, 0) + 1

    def _count(self, _: BaseException | None) -> None:
        for site, times in self._at.items():
            self._recorder.measured(claims.SHAPES_AGREE, times, site=site)


def _crossed(left: Any, right: Any) -> bool:
    """Whether one is a column and the other a row of as many numbers."""
    column, row = (left, right) if left.dim() > right.dim() else (right, left)
    return row.dim() == 1 and column.dim() == 2 and tuple(column.shape) == (len(row), 1) and len(row) > 1  # noqa: PLR2004
