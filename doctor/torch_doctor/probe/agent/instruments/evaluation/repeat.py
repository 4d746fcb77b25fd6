"""Evaluates a batch a second time, on a copy of the model: does it answer the same?"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..copies import copied, elements
from ..instrument import Instrument as Base
from .noise import listener
from .spectral import estimated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 2  # forwards of one place that are repeated
LARGEST = 50_000_000  # parameters of a model that is copied
ATTENTION = "scaled_dot_product_attention"
# https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
RATE_OF_ATTENTION = 4  # the place of `dropout_p`
DROPPING = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class Instrument(Base):
    """Repeats forwards that evaluate: those without autograd, and those in evaluation mode."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._done: dict[int, int] = {}
        self._before: tuple[Any, Any] | None = None

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A forward that evaluates is about to run: its model and its inputs are copied as they are now."""
        self._before = None
        if self.watch.torch.is_grad_enabled() and module.training:
            return
        parameters = self.watch.modules.family(module).parameters
        if not parameters or self._done.get(here.site, 0) >= MOST or elements(self.watch, parameters) > LARGEST:
            return
        self._done[here.site] = self._done.get(here.site, 0) + 1
        with self.watch.unwatched(), self._undisturbed():
            self._before = copied(self.watch, module), copied(self.watch, (arguments, keywords))

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """It ran: the copy runs twice, with other random numbers and with the same ones."""
        before, self._before = self._before, None
        first = self._first(output)
        if before is None or first is None:
            return
        again, given = before
        with self.watch.unwatched(), self.watch.torch.no_grad(), self._undisturbed():
            state = copied(self.watch, again)
            self.watch.torch.manual_seed(1)
            with listener(self.watch) as listening:
                dropped, second = self._run(again, given)
            if second is None or second.shape != first.shape:
                return
            one, other = self._furthest(first, second)
            because = ""
            if not self._same(first, second):
                self.watch.torch.manual_seed(1)
                _, third = self._run(state, copied(self.watch, given))
                fixed = third is not None and third.shape == second.shape and self._same(second, third)
                training = any(part.training for part in self.watch.forwards.caring(module))
                drawn = "dropout" if dropped else "disturbance" if listening.only_adds else "noise"
                because = "mode" if training else drawn if fixed else "state"
            elif estimated(self.watch.torch, state):
                _, third = self._run(state, copied(self.watch, given))
                if third is not None and third.shape == first.shape and not self._same(first, third):
                    because = "estimate"
                    one, other = self._furthest(first, third)
        self.watch.recorder.event(
            "Reevaluated",
            here,
            forward=event,
            module=self.watch.recorder.references.number(module),
            name=self.watch.recorder.caller(here.site),
            first=one,
            second=other if because else one,
            difference=abs(other - one) if because else 0.0,
            because=because,
        )

    def _run(self, module: Any, given: tuple[Any, Any]) -> tuple[bool, Any]:
        """What the module answers, and whether a functional dropout that was not told the mode dropped on the way."""
        functional = self.watch.torch.nn.functional
        dropped: list[bool] = []
        originals = {name: getattr(functional, name) for name in (*DROPPING, ATTENTION) if hasattr(functional, name)}

        def watched(original: Any) -> Any:
            def drop(*arguments: Any, **keywords: Any) -> Any:
                told = len(arguments) > 2 or "training" in keywords  # noqa: PLR2004 - who says True means it
                rate = arguments[1] if len(arguments) > 1 else keywords.get("p", 0.5)
                if not told and rate and self.watch.recorder.sites.is_users(sys._getframe(1).f_code.co_filename):
                    dropped.append(True)
                return original(*arguments, **keywords)

            return drop

        def attending(original: Any) -> Any:
            def attend(*arguments: Any, **keywords: Any) -> Any:
                given = arguments[RATE_OF_ATTENTION] if len(arguments) > RATE_OF_ATTENTION else 0.0
                if keywords.get("dropout_p", given) and self.watch.recorder.sites.is_users(
                    sys._getframe(1).f_code.co_filename
                ):
                    dropped.append(True)
                return original(*arguments, **keywords)

            return attend

        for name, original in originals.items():
            setattr(functional, name, (attending if name == ATTENTION else watched)(original))
        try:
            answer = self._first(module(*given[0], **given[1]))
        finally:
            for name, original in originals.items():
                setattr(functional, name, original)
        return bool(dropped), answer

    def _first(self, output: Any) -> Any:
        """The first tensor of numbers in an output."""
        for tensor in self.watch.marks.tensors(output):
            if tensor.is_floating_point() and not tensor.is_sparse:
                return tensor.detach()
        return None

    def _furthest(self, first: Any, second: Any) -> tuple[float, float]:
        """The two answers where they are furthest apart: means of probabilities, say, are always the same."""
        if not first.numel():
            return 0.0, 0.0
        at = int((second.double() - first.double()).abs().nan_to_num(nan=0.0).argmax())
        return float(first.flatten()[at]), float(second.flatten()[at])

    def _same(self, one: Any, other: Any) -> bool:
        return bool(self.watch.torch.allclose(one.double(), other.double(), rtol=1e-4, atol=1e-6, equal_nan=True))

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Random numbers are drawn on the side."""
        torch = self.watch.torch
        with torch.random.fork_rng(devices=[]):
            yield
