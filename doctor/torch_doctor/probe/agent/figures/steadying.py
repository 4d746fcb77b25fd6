"""Keeps weights, rates and random numbers as they are, so that they do not depend on what a fix changes."""

from __future__ import annotations

import importlib
import random
import sys
import zlib
from typing import TYPE_CHECKING, Any

from ..loops import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..loop import Loop
    from ..watching.watch import Watch

SEED = 1234
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Buffers of a norm that follow the batches it is trained on."""


class Steadying:
    """Undoes the steps of optimizers, schedulers and running statistics, and seeds each pass of each loop."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._before: list[list[tuple[Any, Any]]] = []

    def install(self) -> None:
        """Put the hooks in place, and seed the random numbers of the run."""
        hooks = importlib.import_module("torch.optim.optimizer")
        patches = self._watch.patches
        patches.hook(hooks.register_optimizer_step_pre_hook, self._about_to_step)
        patches.hook(hooks.register_optimizer_step_post_hook, self._stepped)
        schedulers = importlib.import_module("torch.optim.lr_scheduler")
        for kind in list(vars(schedulers).values()):
            if isinstance(kind, type) and "step" in vars(kind):
                patches.replace(kind, "step", self._waiting)
        norms = importlib.import_module("torch.nn.modules.batchnorm")
        for kind in (norms._BatchNorm, importlib.import_module("torch.nn.modules.instancenorm")._InstanceNorm):
            patches.replace(kind, "forward", self._without_statistics)
        self._watch.recorder.caps.climb = self
        self._seed("")

    # --- random numbers ---

    def given(self, loop: Loop, following: Callable[[], Any] | None) -> Any:  # noqa: ARG002 - as a checkup is asked
        """Seed the next pass of a loop: whatever earlier passes drew, it draws the same numbers in both runs."""
        if loop.node.kind != "comprehension":
            self._watch.recorder.safely(self._seed, f"{loop.node.text}:{loop.begun}:{loop.number}")
        return NOTHING

    def took(self, loop: Loop, item: Any) -> None:
        """A loop took its next item."""

    def _seed(self, what: str) -> None:
        seed = SEED + zlib.crc32(what.encode())
        self._torch.default_generator.manual_seed(seed)
        random.seed(seed)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(seed)

    # --- weights and rates ---

    def _about_to_step(self, optimizer: Any, arguments: Any, keywords: Any) -> None:  # noqa: ARG002 - torch's
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        self._before.append([(each, each.detach().clone()) for each in parameters])

    def _stepped(self, optimizer: Any, arguments: Any, keywords: Any) -> None:  # noqa: ARG002 - as above
        with self._watch.unwatched(), self._torch.no_grad():
            for parameter, value in self._before.pop() if self._before else ():
                parameter.data.copy_(value)

    @staticmethod
    def _waiting(original: Any) -> Any:
        def step(scheduler: Any, *arguments: Any, **keywords: Any) -> Any:
            if getattr(scheduler, "_step_count", 1) < 1:  # the first rate is set while it is built
                return original(scheduler, *arguments, **keywords)
            return None

        return step

    @staticmethod
    def _without_statistics(original: Any) -> Any:
        def forward(norm: Any, *arguments: Any, **keywords: Any) -> Any:
            held = [getattr(norm, name, None) for name in STATISTICS] if norm.training else []
            before = [(each, each.clone()) for each in held if each is not None]
            try:
                return original(norm, *arguments, **keywords)
            finally:
                for each, value in before:
                    each.data.copy_(value)  # the graph need not know

        return forward
