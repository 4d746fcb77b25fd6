"""What all watchers share: torch, the recorder, marks on tensors, and what is known of modules."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from .facts import Facts
from .instrument_hooks import InstrumentHooks
from .marks import Marks
from .patches import Patches
from .questions import Questions, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from ..loops import Loops
    from ..recorder import Recorder
    from .protocols import (
        Autocasting,
        BuiltInForward,
        Containers,
        Datasets,
        Differences,
        FirstLayers,
        Flags,
        Forwards,
        FunctionalDropout,
        GivenWeights,
        Gradients,
        Loaders,
        Memory,
        ModeMethods,
        Modules,
        Moves,
        NamedForwards,
        Optimizers,
        PlainTensors,
        Scaling,
        Schedules,
        Sharing,
        States,
        Sums,
    )

Told = ParamSpec("Told")
LEFT_OUT = "checks of copies did not fit in a quarter of the time, and were left out"


class Watch:
    """Everything that watches one run of one script; each watcher is an attribute under its module's name.

    Those that others ask something have a type.
    """

    autocasting: Autocasting
    built_in_forward: BuiltInForward
    containers: Containers
    datasets: Datasets
    differences: Differences
    first_layers: FirstLayers
    flags: Flags
    forwards: Forwards
    functional_dropout: FunctionalDropout
    given_weights: GivenWeights
    gradients: Gradients
    loaders: Loaders
    memory: Memory
    mode_methods: ModeMethods
    modules: Modules
    moves: Moves
    named_forwards: NamedForwards
    optimizers: Optimizers
    plain_tensors: PlainTensors
    scaling: Scaling
    schedules: Schedules
    sharing: Sharing
    states: States
    sums: Sums

    def __init__(self, torch: ModuleType, recorder: Recorder, loops: Loops) -> None:
        self.torch: Any = torch
        self.recorder = recorder
        self.loops = loops
        self.patches = Patches(recorder.failed)
        self.marks = Marks(torch)
        self.facts = Facts(torch, self.marks)
        self.instruments: list[InstrumentHooks] = []
        self.class_axes: Any = None  # the instrument that knows them, where a rule needs it
        self.term_gradients: Any = None  # the instrument that measures them, where they are wanted
        self.questions = Questions()
        self.fetching: tuple[str, int, int] | None = None  # whose rows a loader is getting: class, workers, its site

    def install(self, watchers: Mapping[str, Any]) -> None:
        """Installs watchers, by the names under which others know them."""
        for name, kind in watchers.items():
            watcher = kind(self)
            setattr(self, name, watcher)
            watcher.install()
        self.recorder.at_end.append(lambda error: self.tell(InstrumentHooks.at_end, error))

    def tell(
        self, hook: Callable[Concatenate[InstrumentHooks, Told], None], *arguments: Told.args, **keywords: Told.kwargs
    ) -> None:
        """Calls a hook of all expensive instruments; one that fails, or whose questions take too long, is switched off."""
        for instrument in list(self.instruments):
            failures, begun = self.recorder.failures, time.process_time()
            self.recorder.safely(getattr(instrument, hook.__name__), *arguments, **keywords)
            self.questions.took(instrument, time.process_time() - begun)
            if self.recorder.failures != failures:
                self.instruments.remove(instrument)
        slow = self.questions.left_out(self.instruments)
        if slow is not None:
            self.instruments.remove(slow)
            self.recorder.note(f"{LEFT_OUT}: {name_of(slow)}")

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """What happens within is the agent's own, and is not recorded."""
        self.recorder.quiet += 1
        try:
            yield
        finally:
            self.recorder.quiet -= 1
