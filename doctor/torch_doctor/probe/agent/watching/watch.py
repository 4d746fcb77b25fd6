"""What all watchers share: torch, the recorder, marks on tensors, and what is known of modules."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .facts import Facts
from .marks import Marks
from .patches import Patches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from ..loops import Loops
    from ..recorder import Recorder

WATCHERS = (
    "loading",
    "modules",
    "modes",
    "moves",
    "exchanges",
    "mode_methods",
    "forwards",
    "first_layers",
    "functional_dropout",
    "built_in_forward",
    "named_forwards",
    "kinds",
    "logarithms",
    "losses",
    "differences",
    "loss_building",
    "gradients",
    "optimizers",
    "backward",
    "scaling",
    "schedules",
    "grad_modes",
    "autocasting",
    "datasets",
    "loaders",
    "memory",
    "checkpoints",
    "containers",
    "sharing",
    "plain_tensors",
    "keeping",
    "logged",
    "compilers",
    "settings",
    "uncalled",
    "flags",
    "unfinished",
    "overwriting",
    "reading",
)
"""The modules of this package that watch something, in the order in which they are installed."""


class Watch:
    """Everything that watches one run of one script; each watcher is an attribute under its module's name."""

    def __init__(self, torch: ModuleType, recorder: Recorder, loops: Loops) -> None:
        self.torch: Any = torch
        self.recorder = recorder
        self.loops = loops
        self.patches = Patches()
        self.marks = Marks(torch)
        self.facts = Facts(torch, self.marks)
        self.watchers: dict[str, Any] = {}
        self.instruments: list[Any] = []
        self.fetching: tuple[str, int, int] | None = None  # whose rows a loader is getting: class, workers, its site

    def install(self) -> None:
        """Installs every watcher."""
        for name in WATCHERS:
            watcher = importlib.import_module(f".{name}", __package__).Watcher(self)
            self.watchers[name] = watcher
            watcher.install()
        self.recorder.at_end.append(lambda error: self.tell("at_end", error))

    def tell(self, what: str, *arguments: Any) -> None:
        """Tells all expensive instruments of something."""
        for instrument in self.instruments:
            self.recorder.safely(getattr(instrument, what), *arguments)

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """What happens within is the agent's own, and is not recorded."""
        self.recorder.quiet += 1
        try:
            yield
        finally:
            self.recorder.quiet -= 1

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["watchers"][name]
        except KeyError:
            raise AttributeError(name) from None
