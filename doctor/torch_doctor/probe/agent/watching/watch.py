"""What all watchers share: torch, the recorder, marks on tensors, and what is known of modules."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .facts import Facts
from .marks import Marks
from .patches import Patches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from ..loops import Loops
    from ..recorder import Recorder


class Watch:
    """Everything that watches one run of one script; each watcher is an attribute under its module's name."""

    def __init__(self, torch: ModuleType, recorder: Recorder, loops: Loops) -> None:
        self.torch: Any = torch
        self.recorder = recorder
        self.loops = loops
        self.patches = Patches(recorder.failed)
        self.marks = Marks(torch)
        self.facts = Facts(torch, self.marks)
        self.watchers: dict[str, Any] = {}
        self.instruments: list[Any] = []
        self.fetching: tuple[str, int, int] | None = None  # whose rows a loader is getting: class, workers, its site

    def install(self, watchers: Mapping[str, Any]) -> None:
        """Installs watchers, by the names under which others know them."""
        for name, kind in watchers.items():
            self.watchers[name] = kind(self)
            self.watchers[name].install()
        self.recorder.at_end.append(lambda error: self.tell("at_end", error))

    def tell(self, what: str, *arguments: Any) -> None:
        """Tells all expensive instruments of something; one that fails is switched off."""
        for instrument in list(self.instruments):
            failures = self.recorder.failures
            self.recorder.safely(getattr(instrument, what), *arguments)
            if self.recorder.failures != failures:
                self.instruments.remove(instrument)

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
