"""Gives a copy of a model other rows in one input, or in a slice of one: do its results change?"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from ...watching.naming import class_name
from .. import chance
from ..copies import copied, elements
from ..instrument import Instrument as Base
from .last_batch import LastBatch
from .written_inputs import Input, inputs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

LOOKS = (1, 3)  # calls of one place that are looked at: what counts for nothing at first may do so later
LARGEST = 20_000_000  # parameters of a model that is copied
FEWEST = 2  # rows of a batch, and what is tried
NOISE = 0.05  # by the mean of a parameter: weights of zero would hide what they are multiplied with


class Given(NamedTuple):
    """A call of a module: what its parameters get, and which of its inputs, as they are written, are tried."""

    module: Any
    values: dict[str, Any]
    inputs: list[Input]


class Instrument(Base):
    """Looks at models that get tensors with the rows of a batch."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._calls: dict[int, int] = {}
        self._batch = LastBatch(watch)
        self._written: dict[Any, list[Input]] = {}

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch."""
        self._batch.take(batch)

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is about to be called."""
        number = self._calls[here.site] = self._calls.get(here.site, 0) + 1
        if number not in LOOKS:
            return
        given = self._bound(module, arguments, keywords)
        rows = self._rows(given.values) if given is not None else 0
        parts = [part for part in module.modules() if any(each.slices for each in self._inputs(part))] if rows else []
        if given is None or rows < FEWEST or not (parts or any(each.may_be_told for each in given.inputs)):
            return
        if elements(self.watch, self.watch.modules.family(module).parameters) > LARGEST:
            return
        torch = self.watch.torch
        with self.watch.unwatched(), torch.no_grad(), chance.undisturbed(torch):
            try:
                tried = [(each, self._tried(each, rows)) for each in (given, *self._in_parts(given, parts))]
            except Exception:  # noqa: BLE001 - the copy refuses what nobody gives it
                return
        for each, changed in tried:
            self._tell(each, changed, here)

    def _tell(self, given: Given, changed: list[tuple[Input, bool]], here: Here) -> None:
        recorder = self.watch.recorder
        used = {id(given.values[each.parameter]) for each, does in changed if does and not each.slices}
        for each, does in changed:
            if not does and not each.slices and id(given.values[each.parameter]) in used:
                continue  # the model has it by another name
            others = sum(also for other, also in changed if not other.slices and other.name != each.name)
            if each.may_be_told and (others or does):
                recorder.event(
                    "InputTried",
                    here,
                    site=recorder.sites.number(each.place),
                    module=class_name(type(given.module), recorder),
                    name=each.name,
                    used_at=here.site,
                    changed=does,
                    others=others,
                    optional=each.optional,
                )

    def _inputs(self, module: Any) -> list[Input]:
        """What the source of a user's `forward` says of its inputs."""
        function = getattr(type(module), "forward", None)
        function = inspect.unwrap(function) if callable(function) else None
        code = getattr(function, "__code__", None)
        if function is None or code is None or not self.watch.recorder.sites.is_users(code.co_filename):
            return []
        if code not in self._written:
            tree = self.watch.recorder.index.trees().get(code.co_filename)
            self._written[code] = inputs_of(tree, function, module)
        return self._written[code]

    def _bound(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Given | None:
        inputs = self._inputs(module)
        function = getattr(type(module), "forward", None)  # a scripted module's class refuses to give it
        try:
            bound = inspect.signature(function).bind(module, *arguments, **keywords).arguments  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
        return Given(module, {name: each for name, each in bound.items() if each is not module}, inputs)

    def _rows(self, values: dict[str, Any]) -> int:
        """The number of rows, of which at least one input is as a loader gave it."""
        tensors = [each for each in values.values() if isinstance(each, self.watch.torch.Tensor)]
        ours = [each for each in tensors if self._batch.has(each)]
        return len(ours[0]) if ours else 0

    def _in_parts(self, given: Given, parts: list[Any]) -> Iterator[Given]:
        """The first calls of parts of a model that take slices of what they get."""
        names = {name for name, part in given.module.named_modules() if part is not given.module and part in parts}
        base, found, hooks = copied(self.watch, given.module), dict[str, Given](), []
        for name, part in base.named_modules() if names else ():
            if name in names:

                def keep(part: Any, arguments: Any, keywords: Any, name: str = name) -> None:
                    call = self._bound(part, arguments, keywords)
                    if call is not None and name not in found:
                        found[name] = call._replace(values=copied(self.watch, call.values))

                hooks.append(part.register_forward_pre_hook(keep, with_kwargs=True))
        if hooks:
            base.forward(**copied(self.watch, given.values))
        for hook in hooks:
            hook.remove()
        for name, part in given.module.named_modules():
            if name in found:
                slices = [each if each.slices else each._replace(may_be_told=False) for each in found[name].inputs]
                yield Given(part, found[name].values, slices)

    def _tried(self, given: Given, rows: int) -> list[tuple[Input, bool]]:
        """By which inputs the results change, of those whose rows differ; nothing where they change by themselves."""
        torch, values = self.watch.torch, given.values
        tensors = {name: each for name, each in values.items() if isinstance(each, torch.Tensor)}
        usual = {name for name, each in tensors.items() if each.layout is torch.strided and each.dim()}
        inputs = [each for each in given.inputs if each.parameter in usual and len(values[each.parameter]) == rows]
        if len(inputs) < FEWEST or not any(each.may_be_told for each in inputs):
            return []
        chance.seed(torch, 0)
        base = copied(self.watch, given.module)
        for parameter in base.parameters():
            if parameter.is_floating_point() and parameter.numel():
                parameter.add_(torch.randn_like(parameter) * (NOISE * (1.0 + float(parameter.abs().mean()))))
        first = self._results(base, values)
        if not first or not self._same(first, self._results(base, values)):
            return []
        if any(not bool(torch.isfinite(each).all()) for each in first):
            return []
        changed: list[tuple[Input, bool]] = []
        for each in inputs:
            whole = values[each.parameter]
            key = each.key(given.module, whole.dim())
            part = None if key is None else whole[key]
            if part is None or len(part) != len(whole) or torch.equal(part.roll(1, 0), part):
                continue
            # a sum or a maximum does not care for the order
            others = (part.roll(1, 0), part[:1].expand_as(part), part[-1:].expand_as(part))
            new = ({**values, each.parameter: put(whole, key, other)} for other in others)
            changed.append((each, any(not self._same(first, self._results(base, other)) for other in new)))
        return changed

    def _results(self, base: Any, given: dict[str, Any]) -> list[Any]:
        """What a copy returns, and what it keeps."""
        twin = copied(self.watch, base)
        chance.seed(self.watch.torch, 1)
        result = twin.forward(**copied(self.watch, given))
        kept = [vars(part) for part in twin.modules()]
        return [each.detach().clone() for each in self.watch.marks.tensors([result, kept, list(twin.buffers())])]

    def _same(self, first: list[Any], second: list[Any]) -> bool:
        return len(first) == len(second) and all(map(self.watch.torch.equal, first, second))


def put(whole: Any, key: Any, part: Any) -> Any:
    """A copy of a tensor in which a part of it is another."""
    whole = whole.clone()
    whole[key] = part
    return whole
