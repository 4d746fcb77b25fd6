"""Gives a copy of a model other rows in one input, for each: do its results change?"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from ..nodes import span_of
from ..watching.naming import class_name
from .copies import copied, elements
from .instrument import Instrument as Base
from .last_batch import LastBatch

if TYPE_CHECKING:
    from ..scopes import Here
    from ..watching.watch import Watch

LOOKS = (1, 3)  # calls of one place that are looked at: what counts for nothing at first may do so later
LARGEST = 20_000_000  # parameters of a model that is copied
FEWEST = 2  # rows of a batch, and inputs
NOISE = 0.05  # by the mean of a parameter: weights of zero would hide what they are multiplied with


class Instrument(Base):
    """Looks at models that get several tensors with the rows of a batch."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._calls: dict[int, int] = {}
        self._batch = LastBatch(watch)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch."""
        self._batch.take(batch)

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is about to be called."""
        number = self._calls[here.site] = self._calls.get(here.site, 0) + 1
        if number not in LOOKS:
            return
        function = getattr(type(module), "forward", None)
        code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
        if code is None or not self.watch.recorder.sites.is_users(code.co_filename):
            return
        try:
            bound = inspect.signature(function).bind(module, *arguments, **keywords).arguments  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return
        inputs = self._inputs(bound)
        places = self._places(code) if len(inputs) >= FEWEST else {}
        if not places or elements(self.watch, self.watch.modules.family(module).parameters) > LARGEST:
            return
        torch = self.watch.torch
        with self.watch.unwatched(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            try:
                changed = self._tried(module, bound, inputs)
            except Exception:  # noqa: BLE001 - the copy refuses what nobody gives it
                return
        if not any(changed.values()):
            return
        recorder = self.watch.recorder
        for name, does in changed.items():
            if name in places:
                others = sum(changed.values()) - does
                recorder.event(
                    "InputTried",
                    here,
                    site=recorder.sites.number(places[name]),
                    module=class_name(type(module), recorder),
                    name=name,
                    used_at=here.site,
                    changed=does,
                    others=others,
                )

    def _inputs(self, bound: dict[str, Any]) -> list[str]:
        """The parameters that have the rows of one batch in dimension 0, at least one of them as a loader gave it."""
        tensors = {name: each for name, each in bound.items() if isinstance(each, self.watch.torch.Tensor)}
        ours = [each for each in tensors.values() if self._batch.has(each)]
        rows = len(ours[0]) if ours else 0
        if rows < FEWEST:
            return []
        same = [name for name, each in tensors.items() if each.dim() and len(each) == rows]
        return [name for name in same if tensors[name].layout is self.watch.torch.strided]

    def _tried(self, module: Any, bound: dict[str, Any], inputs: list[str]) -> dict[str, bool]:
        """By which inputs the results change, of those whose rows differ; nothing where they change by themselves."""
        torch = self.watch.torch
        torch.manual_seed(0)
        base = copied(self.watch, module)
        for parameter in base.parameters():
            if parameter.is_floating_point() and parameter.numel():
                parameter.add_(torch.randn_like(parameter) * (NOISE * (1.0 + float(parameter.abs().mean()))))
        given = {name: each for name, each in bound.items() if each is not module}
        first = self._results(base, given)
        if not first or not self._same(first, self._results(base, given)):
            return {}
        if any(not bool(torch.isfinite(each).all()) for each in first):
            return {}
        changed: dict[str, bool] = {}
        for name in inputs:
            rows = given[name]
            others = (rows.roll(1, 0), rows[:1].expand_as(rows).clone(), rows[-1:].expand_as(rows).clone())
            if not torch.equal(others[0], rows):  # a sum or a maximum does not care for the order
                changed[name] = any(
                    not self._same(first, self._results(base, {**given, name: each})) for each in others
                )
        return changed

    def _results(self, base: Any, given: dict[str, Any]) -> list[Any]:
        """What a copy returns, and what it keeps."""
        twin = copied(self.watch, base)
        self.watch.torch.manual_seed(1)
        result = twin.forward(**copied(self.watch, given))
        kept = [vars(part) for part in twin.modules()]
        return [each.detach().clone() for each in self.watch.marks.tensors([result, kept, list(twin.buffers())])]

    def _same(self, first: list[Any], second: list[Any]) -> bool:
        return len(first) == len(second) and all(map(self.watch.torch.equal, first, second))

    def _places(self, code: Any) -> dict[str, Any]:
        """Where the parameters of a function stand, but for those that need not be given or say that nobody reads them."""
        tree = self.watch.recorder.index.trees().get(code.co_filename)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first == code.co_firstlineno:
                    plain = [*node.args.posonlyargs, *node.args.args]
                    needed = plain[1 : len(plain) - len(node.args.defaults)]
                    return {
                        each.arg: span_of(code.co_filename, each) for each in needed if not each.arg.startswith("_")
                    }
        return {}
