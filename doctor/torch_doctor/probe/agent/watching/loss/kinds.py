"""Softmax, log-softmax and sigmoid: where a tensor became probabilities; argmax, top-k and maximum: what was chosen of them."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from ... import claims
from ..marks import Mark, on_node

if TYPE_CHECKING:
    from types import FrameType

    from ..watch import Watch

SOFTMAX, LOG_SOFTMAX = "probabilities", "log-probabilities"
MOST = 1000  # places and sizes that are told
RANKED = {"argmax": 1, "max": 1, "topk": 2}
"""Functions that choose the largest along a dimension, with the position of `dim`."""
FORMATS = frozenset({"_multiclass_stat_scores_format", "_multiclass_confusion_matrix_format"})
"""Functions of torchmetrics that choose the largest along dimension 1, if scores have one dimension more than their `target`."""
SIGNS = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
NUMBERS = (int, float)
TIMES = 4  # calls of them at one place that are told
SIGMOID, LOG_SIGMOID = "bounded by a sigmoid", "log of a sigmoid"


class Watcher:
    """Wraps the functions and methods that make such values, and notes the place on what they return."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._torch = watch.torch
        self._busy = False
        self._told: set[tuple[int, int, int | None]] = set()
        self._ranked: dict[int, int] = {}
        self._matches: dict[int, int] = {}
        self._places: dict[int, tuple[weakref.ref[Any], int]] = {}  # where the largest are, by the tensor's id

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch, functional = self._torch, self._torch.nn.functional
        for owner, name, kind in (
            (functional, "softmax", SOFTMAX),
            (functional, "log_softmax", LOG_SOFTMAX),
            (functional, "sigmoid", SIGMOID),
            (functional, "logsigmoid", LOG_SIGMOID),
            (torch, "softmax", SOFTMAX),
            (torch, "log_softmax", LOG_SOFTMAX),
            (torch, "sigmoid", SIGMOID),
            (torch.Tensor, "softmax", SOFTMAX),
            (torch.Tensor, "log_softmax", LOG_SOFTMAX),
            (torch.Tensor, "sigmoid", SIGMOID),
        ):
            prefix = "torch.nn.functional" if owner is functional else "torch"
            self._watch.patches.replace(owner, name, self._making(kind, f"{prefix}.{name}"))
        for owner, name in ((torch, "eq"), (torch.Tensor, "eq"), (torch.Tensor, "__eq__"), (torch.Tensor, "__ne__")):
            self._watch.patches.replace(owner, name, self._comparing(SIGNS[name.strip("_")]))
        for owner, name in ((torch, "gt"), (torch.Tensor, "gt"), (torch.Tensor, "__gt__")):
            self._watch.patches.replace(owner, name, self._exceeding(SIGNS["gt"]))
        for owner, name in ((torch, "ge"), (torch.Tensor, "ge"), (torch.Tensor, "__ge__")):
            self._watch.patches.replace(owner, name, self._exceeding(SIGNS["ge"]))
        for name in RANKED:
            self._watch.patches.replace(torch, name, self._ranking(name))
            self._watch.patches.replace(torch.Tensor, name, self._ranking(name))

    def _making(self, kind: str, name: str) -> Any:
        recorder, noted = self._recorder, self._noted

        def wrap(original: Any) -> Any:
            def make(*arguments: Any, **keywords: Any) -> Any:
                if self._busy or recorder.quiet or recorder.rests():
                    return original(*arguments, **keywords)
                self._busy = True
                try:
                    made = original(*arguments, **keywords)
                finally:
                    self._busy = False
                recorder.safely(noted, made, kind, name, arguments, keywords)
                return made

            return make

        return wrap

    def _ranking(self, name: str) -> Any:
        recorder, chosen, compared = self._recorder, self._chosen, self._compared
        is_users = recorder.sites.is_users

        def wrap(original: Any) -> Any:
            def rank(*arguments: Any, **keywords: Any) -> Any:
                made = original(*arguments, **keywords)
                caller = sys._getframe(1)
                scores = caller.f_code.co_name in FORMATS
                if (scores or is_users(caller.f_code.co_filename)) and not recorder.quiet and not recorder.rests():
                    recorder.safely(chosen, name, arguments, keywords, made)
                    if scores:
                        recorder.safely(compared, made, caller.f_locals.get("target"))
                return made

            return rank

        return wrap

    def _chosen(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], made: Any) -> None:
        """Tells along which dimension the largest are looked for, for the first calls at a place."""
        given = keywords.get("input", arguments[0] if arguments else None)
        by_position = arguments[RANKED[name]] if len(arguments) > RANKED[name] else -1 if name == "topk" else None
        dim = keywords.get("dim", by_position)
        if dim is None and name == "argmax":
            self._chosen_of_all(given)
        if not isinstance(given, self._torch.Tensor) or not isinstance(dim, int):
            return
        axes = self._watch.class_axes
        if not (given.is_contiguous() or (axes is not None and axes.is_answer(given))):
            return  # of a view whose dimensions changed places it is not known what they hold
        here = self._recorder.here()
        if here.frame is None or self._ranked.get(here.site, 0) >= TIMES:
            return
        self._ranked[here.site] = self._ranked.get(here.site, 0) + 1
        fact = self._watch.facts.of(given) | self._watch.facts.meta(given)
        forwards = self._watch.facts.history(given)[0]
        over = None if axes is None else axes.are(forwards, given, dim)
        told: dict[str, Any] = {"function": f"torch.{name}", "input": fact, "dim": dim, "over_classes": over}
        event = self._recorder.event("Ranked", here, **told)
        places = made if isinstance(made, self._torch.Tensor) else made[1]
        self._places[id(places)] = weakref.ref(places), event

    def _chosen_of_all(self, given: Any) -> None:
        """Tells that one index was chosen among all elements, for the first calls at a place."""
        here = self._recorder.here()
        if here.frame is not None and self._ranked.get(here.site, 0) < TIMES:
            self._ranked[here.site] = self._ranked.get(here.site, 0) + 1
            shape = list(given.shape)
            self._recorder.event("ReducedToOne", here, name="argmax", function="argmax", shape=shape)

    def _comparing(self, sign: str) -> Any:
        recorder, compared, places, matched = self._recorder, self._compared, self._places, self._matched
        is_users, numbered = recorder.sites.is_users, self._numbered

        def wrap(original: Any) -> Any:
            def compare(*arguments: Any, **keywords: Any) -> Any:
                if len(arguments) > 1 and not recorder.quiet:
                    if places:
                        recorder.safely(compared, *arguments[:2])
                    if is_users(sys._getframe(1).f_code.co_filename):
                        told = numbered if type(arguments[1]) in NUMBERS else matched
                        recorder.safely(told, *arguments[:2], sign)
                return original(*arguments, **keywords)

            return compare

        return wrap

    def _exceeding(self, sign: str) -> Any:
        recorder, is_users, numbered = self._recorder, self._recorder.sites.is_users, self._numbered

        def wrap(original: Any) -> Any:
            def exceed(*arguments: Any, **keywords: Any) -> Any:
                about_number = len(arguments) > 1 and type(arguments[1]) in NUMBERS and not recorder.quiet
                if about_number and is_users(sys._getframe(1).f_code.co_filename):
                    recorder.safely(numbered, *arguments[:2], sign)
                return original(*arguments, **keywords)

            return exceed

        return wrap

    def _numbered(self, given: Any, number: float, sign: str) -> None:
        """Tells of the first comparisons with a number at a place."""
        here = self._recorder.here()
        tensor = isinstance(given, self._torch.Tensor)
        if here.frame is None or not tensor or self._matches.get(here.site, 0) >= TIMES:
            return
        self._matches[here.site] = self._matches.get(here.site, 0) + 1
        dtype = str(given.dtype).removeprefix("torch.")
        self._recorder.event("NumberCompared", here, sign=sign, number=number, dtype=dtype)

    def _compared(self, left: Any, right: Any) -> None:
        """Tells what places of the largest are compared with, once of each choice."""
        for value, other in ((left, right), (right, left)):
            base = getattr(value, "_base", None)
            for each in (value, base):
                found = self._places.get(id(each))
                if found is not None and found[0]() is each and isinstance(other, self._torch.Tensor):
                    del self._places[id(each)]
                    here, facts = self._recorder.here(), self._watch.facts
                    self._recorder.event("Compared", here, chosen=found[1], target=facts.of(other) | facts.meta(other))

    def _matched(self, left: Any, right: Any, _: str) -> None:
        """Tells the shapes of two tensors that are compared, for the first calls at a place."""
        if not (isinstance(left, self._torch.Tensor) and isinstance(right, self._torch.Tensor)):
            return
        here, facts = self._recorder.here(), self._watch.facts
        if here.frame is None or self._matches.get(here.site, 0) >= TIMES or not (left.dim() and right.dim()):
            return
        self._matches[here.site] = self._matches.get(here.site, 0) + 1
        sides = [facts.of(side) | facts.meta(side) for side in (left, right)]
        self._recorder.event("Matched", here, left=sides[0], right=sides[1])

    def _noted(self, made: Any, kind: str, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        site, module = self._place()
        if site is None:
            return
        if module is not None:
            name = f"torch.nn.{type(module).__name__}"
        if made.grad_fn is not None:
            on_node(made.grad_fn)["made"] = Mark(kind=kind, operation_at=site, operation=name)
        else:
            self._watch.marks.update(made, kind=kind, operation_at=site, operation=name)
        if kind in {SOFTMAX, LOG_SOFTMAX} and made.dim():
            given = keywords.get("input", arguments[0] if arguments else None)
            dim = keywords.get("dim", arguments[1] if len(arguments) > 1 else None)
            self._sized(made, site, name, given, dim)

    def _sized(self, made: Any, site: int, name: str, given: Any, dim: Any) -> None:
        """Tells along which dimension it went, and over how many numbers, once of each place and size."""
        # As `_get_softmax_dim` of `torch/nn/functional.py` chooses.
        along = dim if isinstance(dim, int) else 0 if made.dim() in {1, 3} else 1
        size = made.shape[along]
        if (site, size, dim) not in self._told and len(self._told) < MOST:
            self._told.add((site, size, dim))
            facts, here = self._watch.facts, self._recorder.here()
            fact = facts.of(given) | facts.meta(given)
            said = dim if isinstance(dim, int) else None
            event = self._recorder.event(
                "Normalised",
                here,
                site=site,
                function=name,
                input=fact,
                size=size,
                dim=said,
                in_model=self._in_model(),
            )
            if said == 0 and made.dim() > 1:
                self._summed(made, name, event, site)

    def _in_model(self) -> bool:
        """Whether a method of a module runs, the innermost of the user's functions."""
        frame = self._recorder.frame()
        if frame is None or not frame.f_code.co_argcount:
            return False
        me = frame.f_locals.get(frame.f_code.co_varnames[0])
        method = getattr(type(me), frame.f_code.co_name, None)
        return isinstance(me, self._torch.nn.Module) and getattr(method, "__code__", None) is frame.f_code

    def _summed(self, made: Any, name: str, event: int, site: int) -> None:
        """What the probabilities of one sample sum to, where they are shared out among the samples."""
        with self._torch.no_grad():
            values = made.detach().double()
            sums = (values.exp() if "log" in name.lower() else values).sum(1)
            for claim, value in ((claims.SMALLEST_SUM, sums.min()), (claims.LARGEST_SUM, sums.max())):
                self._recorder.measured(claim, float(value), site=site, about=[event])

    def _place(self) -> tuple[int | None, Any]:
        """The user's call; the construction of the module where a container of torch's called it."""
        sites = self._recorder.sites
        frame: FrameType | None = sys._getframe(4)
        module, containers = None, 0
        while frame is not None and not sites.is_users(frame.f_code.co_filename):
            if frame.f_code.co_name == "forward" and frame.f_code.co_filename.startswith(self._modules_of_torch()):
                if module is None:
                    module = frame.f_locals.get("self")
                else:
                    containers += 1
            frame = frame.f_back
        if module is not None and containers:
            birthplace = self._watch.modules.birthplace(module)
            if birthplace is not None:
                return birthplace, module
        return (sites.of_frame(frame) if frame is not None else None), module

    def _modules_of_torch(self) -> str:
        return str(self._torch.nn.modules.__path__[0])
