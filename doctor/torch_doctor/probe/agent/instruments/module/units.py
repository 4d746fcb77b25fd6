"""Units that never fire, and outputs that are the same for all inputs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ..copies import copied, elements, evaluating
from ..instrument import Instrument as Base
from .layers_behind import layer_behind
from .rectifiers import OPERATORS, is_rectified, places, written

if TYPE_CHECKING:
    from types import FrameType

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 8  # updates after which no more is looked at
IMAGE = 3  # dimensions from which on the second is the channels, where the layer is unknown
SAME = 1e-6  # relative difference between outputs below which they are the same
ROUNDED = 1e-3  # below which a norm of single numbers, say, may have made it of rounding: double precision decides
LARGEST = 20_000_000  # parameters of a model that is copied for that
TWICE = 3  # outputs of a module that are computed in double precision


class Units:
    """The units of one activation: which were not zero yet, and in how many samples and batches they were counted."""

    __slots__ = ("alive", "batches", "name", "operation", "rows", "site")

    def __init__(self, alive: Any, name: str, operation: str, site: int | None) -> None:
        self.alive = alive
        self.name, self.operation, self.site = name, operation, site
        self.rows = self.batches = 0


class Outputs:
    """The outputs of a module in one mode: whether all samples of all batches had the same, though their inputs differ."""

    __slots__ = ("batches", "constant", "given", "last", "rows", "same_input", "site", "updates")

    def __init__(self) -> None:
        self.batches = self.rows = self.updates = self.site = 0
        self.constant, self.same_input = True, False
        self.last: Any = None
        self.given: Any = None

    def is_given(self, sample: Any, torch: Any) -> bool:
        """Note the input that all samples of a batch have; whether it is that of the batches before."""
        before, self.given, self.same_input = self.given, sample.detach().clone(), True
        return before is None or (before.dtype == sample.dtype and torch.equal(before, sample))


class Instrument(Base):
    """Counts the units of ReLUs in training, and compares the outputs of modules that are called as a whole."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        torch = watch.torch
        self._units: IdentityMap[Units] = IdentityMap()
        self._functional: IdentityMap[dict[int, Units]] = IdentityMap()
        self._outputs: IdentityMap[dict[bool, Outputs]] = IdentityMap()  # by `training`
        self._doubled: IdentityMap[int] = IdentityMap()
        self._copied: IdentityMap[int] = IdentityMap()
        self._updates, self._flat = 0, False
        self._kinds = (torch.nn.ReLU, torch.nn.ReLU6, torch.nn.Threshold, torch.nn.Hardtanh)
        self._hook = watch.patches.hook(torch.nn.modules.module.register_module_forward_hook, self._activated)
        self._library = torch.nn.functional.__file__
        for owner, name in places(torch):
            watch.patches.replace(owner, name, self._rectifying)

    def _activated(self, module: Any, given: Any, output: Any) -> None:
        if isinstance(module, self._kinds) and not self.watch.recorder.quiet and self.watch.torch.is_grad_enabled():
            if not isinstance(module, self._kinds[:2]) and not is_rectified(self.watch.torch, "", given, output):
                return
            kind, layer = type(module).__name__, layer_behind(_before(output))
            alive = self._alive(output, None if layer is None else layer.convolution)
            if alive is not None:
                known = self._units.get(module)
                if known is None or known.alive.shape != alive.shape:
                    site = self.watch.modules.birthplace(module)
                    known = self._units[module] = Units(alive, kind, f"torch.nn.{kind}", site)
                _add(known, alive, output)

    def _rectifying(self, original: Any) -> Any:
        recorder, counted, name = self.watch.recorder, self._rectified, original.__name__

        def relu(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            if recorder.inside == 1 and self._updates <= MOST and not recorder.quiet and not recorder.rests():
                recorder.safely(counted, name, (*arguments, *keywords.values()), result)
            return result

        return relu

    def _rectified(self, name: str, given: tuple[Any, ...], output: Any) -> None:
        """A functional activation ran within a model: it is counted where it follows a layer, as no penalty does."""
        frame: FrameType | None = sys._getframe(3)
        if frame is not None and frame.f_code.co_filename == self._library:
            frame = frame.f_back
        if frame is None or not self.watch.recorder.sites.is_users(frame.f_code.co_filename):
            return
        layer = layer_behind(_before(output)) if isinstance(output, self.watch.torch.Tensor) else None
        if layer is None or (alive := self._alive(output, layer.convolution)) is None:
            return
        with self.watch.unwatched():
            if not is_rectified(self.watch.torch, name, given, output):
                return
        site = self.watch.recorder.sites.of_frame(frame)
        counts = self._functional.setdefault(layer.weight, {})
        if site not in counts or counts[site].alive.shape != alive.shape:
            called = self.watch.recorder.caller(site)
            said = written(self.watch.recorder, site) if name in OPERATORS else called if "(" not in called else name
            counts[site] = Units(alive, said or name, "torch.nn.functional.relu", site)
        _add(counts[site], alive, output)

    def _alive(self, output: Any, convolution: bool | None) -> Any:  # noqa: FBT001 - as `Layer` has it
        """Which units are not zero in any sample; None for a single number a sample."""
        with self.watch.unwatched(), self.watch.torch.no_grad():
            values = output.detach()
            if values.dim() < 2:  # noqa: PLR2004 - samples and units
                return None
            if convolution or (convolution is None and values.dim() > IMAGE):
                values = values.transpose(1, -1)
            return values.reshape(-1, values.shape[-1]).ne(0).any(dim=0)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch: whether one of its tensors is the same for all samples, and another one is not."""
        if self._updates > MOST:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            alike = [
                self._is_one(each) for each in self.watch.marks.tensors(batch) if each.dim() and not each.is_nested
            ]
        self._flat = True in alike and False in alike

    def _is_one(self, tensor: Any) -> bool | None:
        """Whether all samples of a tensor are the same; None if there are none to compare."""
        if tensor.layout is not self.watch.torch.strided or len(tensor) < 2:  # noqa: PLR2004
            return None
        return self.watch.torch.equal(tensor[0], tensor[1]) and bool((tensor == tensor[:1]).all())

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A module answered: its rows are compared with each other and with those of the batch before."""
        if self._updates > MOST:
            return
        answer = next(iter(self.watch.marks.tensors(output)), None)
        given = next(iter(self.watch.marks.tensors([*arguments, *keywords.values()])), None)
        if answer is None or given is None or not answer.is_floating_point() or not answer.dim() or not given.dim():
            return
        plain = all(each.layout is self.watch.torch.strided for each in (answer, given))  # no rows of a graph's edges
        if not plain or not self.watch.modules.family(module).parameters:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            rows = answer.detach().reshape(answer.shape[0], -1)
            if len(rows) < 2 or len(given) != len(rows) or self._updates < 2:  # noqa: PLR2004 - heads may begin at zero
                return
            alike = self._alike(given.detach().reshape(len(given), -1).double())
            if alike and not self._is_flat([*arguments, *keywords.values()], len(rows)):
                return
            seen = self._outputs.setdefault(module, {}).setdefault(module.training, Outputs())
            first = rows[0].double()
            seen.batches += 1
            seen.rows += len(rows)
            seen.constant &= self._alike(rows.double()) or self._is_rounding(module, rows, arguments, keywords)
            seen.constant &= not alike or seen.is_given(given[0], self.watch.torch)
            same = seen.updates == self._updates and not module.training and seen.last is not None
            if seen.constant and same and seen.last.shape == first.shape:
                seen.constant = self._alike(self.watch.torch.stack([seen.last, first]), ROUNDED)
            seen.last, seen.site, seen.updates = first, here.site, self._updates
            if not seen.constant and module.training:
                self._without_dropout(module, arguments, keywords, here)

    def _is_flat(self, given: list[Any], rows: int) -> bool:
        """Whether a model gets the same for all samples, of a batch in which something else differs."""
        tensors = [each for each in self.watch.marks.tensors(given) if each.dim() and len(each) == rows]
        return self._flat and all(self._alike(each.detach().reshape(rows, -1).double()) for each in tensors)

    def _without_dropout(self, module: Any, given: tuple[Any, ...], named: dict[str, Any], here: Here) -> None:
        """What a copy in evaluation mode answers, where dropout makes outputs of training differ by itself.

        It counts as an evaluation, the first of which that differs is enough.
        """
        modes = self._outputs[module]
        seen, tries = modes.get(False), self._copied.get(module, 0)
        known = seen is not None and (not seen.constant or tries == 0)
        if known or tries == TWICE or not self._drops(module) or elements(self.watch, module.parameters()) > LARGEST:
            return
        self._copied[module] = tries + 1
        torch = self.watch.torch
        try:
            with torch.random.fork_rng(devices=[]):
                copy, given, named = copied(self.watch, (module, given, named))
                with evaluating(copy):
                    answer = next(iter(self.watch.marks.tensors(copy(*given, **named))))
                    rows = answer.detach().reshape(answer.shape[0], -1)
                    same = self._alike(rows.double()) or self._is_rounding(copy, rows, given, named)
        except Exception:  # noqa: BLE001 - what cannot be copied, or takes no evaluation, stays undecided
            return
        seen = modes.setdefault(False, Outputs())
        seen.batches += 1
        seen.rows += len(rows)
        seen.constant &= same
        seen.site, seen.updates = here.site, self._updates

    def _drops(self, module: Any) -> bool:
        """Whether a module has dropout, and no batch norm, whose statistics of training are others than those of evaluation."""
        nn, parts = self.watch.torch.nn, list(module.modules())
        normed = any(getattr(part, "running_mean", None) is not None for part in parts)
        dropouts = (nn.modules.dropout._DropoutNd, nn.RNNBase, nn.MultiheadAttention)
        rates = (getattr(part, "p", getattr(part, "dropout", 0.0)) for part in parts if isinstance(part, dropouts))
        return not normed and any(rates)

    def _alike(self, rows: Any, relative: float = SAME) -> bool:
        """Whether all samples are the same, each number by itself: one may be huge, as that of an action which is masked."""
        spread = rows.max(dim=0).values - rows.min(dim=0).values
        return bool((spread <= relative * rows.abs().max(dim=0).values.clamp(min=1e-12)).all())

    def _is_rounding(self, module: Any, rows: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Whether small differences between the samples are gone where a copy computes in double precision."""
        torch, tries = self.watch.torch, self._doubled.get(module, 0)
        if not self._alike(rows.double(), ROUNDED) or elements(self.watch, module.parameters()) > LARGEST:
            return False
        if tries == TWICE:
            return True  # if one of those had differed, the output would not count as constant any more
        self._doubled[module] = tries + 1

        def double(value: Any) -> Any:
            return value.detach().double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

        try:
            with torch.random.fork_rng(devices=[]):
                given, named = torch.utils._pytree.tree_map(double, (arguments, keywords))
                again = next(iter(self.watch.marks.tensors(copied(self.watch, module).double()(*given, **named))))
            return self._alike(again.reshape(len(again), -1))
        except Exception:  # noqa: BLE001 - what cannot be copied, or computes in a dtype of its own, stays as it is
            return False

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """An update was made."""
        self._updates += 1
        if self._updates > MOST:
            self._hook.remove()

    def at_end(self, error: BaseException | None) -> None:
        """Writes what was counted."""
        recorder, here = self.watch.recorder, self.watch.recorder.here()
        functional = [units for places in self._functional.values() for units in places.values()]
        for units in [*self._units.values(), *functional]:
            recorder.event(
                "UnitsSeen",
                here,
                site=here.site if units.site is None else units.site,
                name=units.name,
                operation=units.operation,
                units=units.alive.numel(),
                dead=int((~units.alive).sum()),
                rows=units.rows,
                batches=units.batches,
            )
        for module, modes in self._outputs.items():
            found = self._constant(module, modes)
            if found:
                recorder.event(
                    "OutputConstant",
                    here,
                    site=found[0].site,
                    module=recorder.references.number(module),
                    name=recorder.caller(found[0].site),
                    rows=sum(each.rows for each in found),
                    batches=sum(each.batches for each in found),
                    updates=max(each.updates for each in found),
                    same_input=any(each.same_input for each in found),
                )

    def _constant(self, module: Any, modes: dict[bool, Outputs]) -> list[Outputs]:
        """The modes in which the output is constant; none where another mode shows that the input matters.

        Dropout makes the outputs of training differ by itself: without batch norm, evaluation decides.
        """
        constant = [modes[mode] for mode in sorted(modes, reverse=True) if modes[mode].constant]
        normed = any(getattr(part, "running_mean", None) is not None for part in module.modules())
        decided = len(constant) == len(modes) or (not normed and constant == [modes.get(False)])
        return constant if decided else []


def _before(output: Any) -> Any:
    """The node of the graph that an activation's input comes from."""
    node = output.grad_fn
    return None if node is None else next((each for each, _ in node.next_functions if each is not None), None)


def _add(units: Units, alive: Any, output: Any) -> None:
    units.alive = units.alive | alive
    units.rows += output.shape[0]
    units.batches += 1
