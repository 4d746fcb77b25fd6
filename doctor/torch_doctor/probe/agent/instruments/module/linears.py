"""Linear layers whose input is the output of another one, as it is."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

KEPT = 8  # outputs that an input is compared with
LARGEST = 4_000_000  # elements of an output that is kept
MOST = 200  # pairs of layers


class Pair:
    """Two layers, and how often the second got the output of the first; `site` is the call of the second."""

    __slots__ = ("first", "passed", "second", "site")

    def __init__(self, first: Any, second: Any, site: int | None) -> None:
        self.first, self.second = weakref.ref(first), weakref.ref(second)
        self.passed, self.site = 0, site


class Instrument(Base):
    """Compares what linear layers get with what the last of them gave, by the memory that it lies in."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._linear = watch.torch.nn.Linear
        self._last: list[tuple[Any, Any, int]] = []  # layers, with their outputs and the versions of those
        self._calls: IdentityMap[int] = IdentityMap()
        self._pairs: dict[tuple[int, int], Pair] = {}
        watch.patches.hook(watch.torch.nn.modules.module.register_module_forward_hook, self._ran)

    def _ran(self, module: Any, given: Any, output: Any) -> None:
        recorder = self.watch.recorder
        tensor = type(module) is self._linear and not recorder.quiet and isinstance(output, self.watch.torch.Tensor)
        if tensor and output.requires_grad:
            recorder.safely(self._look, module, given[0] if given else None, output)

    def _look(self, module: Any, given: Any, output: Any) -> None:
        self._calls[module] = (self._calls.get(module) or 0) + 1
        if not all(type(each) is self.watch.torch.Tensor and _is_plain(each) for each in (given, output)):
            return
        with self.watch.unwatched():
            for first, last, version in reversed(self._last):
                if first is not module and _is_same(last, version, given):
                    self._passed(first, module)
                    break
            if output.numel() <= LARGEST:
                self._last = [*self._last[1 - KEPT :], (module, output.detach(), _version(output))]

    def _passed(self, first: Any, second: Any) -> None:
        key = id(first), id(second)
        pair = self._pairs.get(key)
        if pair is None or pair.first() is not first or pair.second() is not second:
            if len(self._pairs) >= MOST or not (_trains(first) and _trains(second)):
                return
            frame = self.watch.recorder.sites.frame()
            site = None if frame is None else self.watch.recorder.sites.of_frame(frame)
            pair = self._pairs[key] = Pair(first, second, site)
        pair.passed += 1

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """A pass is over: what its layers gave is not needed any more."""
        self._last = []

    def at_end(self, error: BaseException | None) -> None:
        """Writes the pairs."""
        recorder, modules = self.watch.recorder, self.watch.modules
        here = recorder.here()
        for pair in self._pairs.values():
            first, second = pair.first(), pair.second()
            if first is None or second is None:
                continue
            site = modules.birthplace(second) if pair.site is None else pair.site
            if site is None:
                continue
            recorder.event(
                "LinearsChained",
                here,
                site=site,
                name=recorder.caller(site),
                first=recorder.references.number(first),
                second=recorder.references.number(second),
                first_at=modules.birthplace(first),
                second_at=modules.birthplace(second),
                outputs=self._calls.get(first) or 0,
                passed=pair.passed,
                others=(self._calls.get(second) or 0) - pair.passed,
                widths=[first.in_features, first.out_features, second.out_features],
            )


def _is_plain(tensor: Any) -> bool:
    return not tensor.is_nested and "strided" in str(tensor.layout) and tensor.numel() > 0


def _is_same(last: Any, version: int, given: Any) -> bool:
    """Whether a tensor has the elements of an output, in their order and unchanged."""
    return bool(
        last.data_ptr() == given.data_ptr()
        and last.numel() == given.numel()
        and last.shape[-1] == given.shape[-1]
        and _version(given) == version
        and last.is_contiguous() == given.is_contiguous()
    )


def _version(tensor: Any) -> int:
    """How often a tensor was changed in place; those of `inference_mode` do not count it."""
    return 0 if tensor.is_inference() else tensor._version


def _trains(layer: Any) -> bool:
    """Whether all that a layer has are weights of its own that require gradients."""
    plain = not getattr(layer, "parametrizations", None)
    return plain and "weight" in layer._parameters and all(each.requires_grad for each in layer.parameters())
