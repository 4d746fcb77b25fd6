"""Experiment trackers are silent: nothing is logged, nothing is sent, and what they hand back is what they were given."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, ClassVar

from .. import imports
from ..handed import hand
from . import told
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .silent import Silent, SilentModule
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.machinery import ModuleSpec
    from types import ModuleType


TRACKERS = (
    "wandb tensorboardX torch.utils.tensorboard tensorboard tensorboard_logger mlflow comet_ml neptune visdom clearml trains aim "
    "swanlab crayon dvclive polyaxon guild trackio neptune_pytorch tensorwatch hyperdash"
).split()


class Trackers(StandIn):
    """Stands in for every tracker that the user's own code imports, installed or not."""

    replaces = "experiment tracker"
    voids = (told.LOG,)

    def prepare(self) -> None:
        """Stands in for every tracker that the user's own code imports, installed or not."""
        for name in TRACKERS:
            imports.instead(name, functools.partial(_find, self))


def _find(stand_in: StandIn, name: str) -> ModuleSpec | None:
    frame = importing_frame()
    if frame is None or not stand_in.sources.is_users(frame.f_code.co_filename) or is_only_asking():
        return None
    if has_fallback(stand_in.sources, frame) and not _is_installed(name):
        return None
    stand_in.tell(name, "calls that log nothing")
    return imports.spec_of(name, MADE.get(name, SilentModule))


def _is_installed(name: str) -> bool:
    return (
        imports.Finder._found_by_others(name, getattr(sys.modules.get(name.rpartition(".")[0]), "__path__", None), None)
        is not None
    )


class Config(dict[str, Any]):
    """The configuration of a run: what was put in, as items and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, *arguments: Any, allow_val_change: bool = False, **keywords: Any) -> None:
        """As `dict.update`; a namespace will do."""
        del allow_val_change
        super().update(*(_items(argument) for argument in arguments), **keywords)

    def setdefaults(self, values: Mapping[str, Any]) -> None:
        """Puts in what is not there yet."""
        for name, value in values.items():
            self.setdefault(name, value)

    def as_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return dict(self)


class Wandb(SilentModule):
    """`wandb`: a configuration that is kept, one run, and sweeps that try their first values."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.config = Config()
        self.summary = Config()
        self.run: Any = None
        self._sweep: Mapping[str, Any] = {}

    def init(self, *_: Any, config: Any = None, **keywords: Any) -> Any:
        """Begins the run."""
        hand(keywords.values())
        if config is not None:
            self.config.update(config)
        self.run = Silent("wandb.run")
        self.run.config, self.run.summary = self.config, self.summary
        self.run.name = self.run.id = self.run.project = "probe"
        self.run.dir = "."
        return self.run

    def login(self, *_: Any, **__: Any) -> bool:
        """True."""
        return True

    def watch(self, models: Any = None, *_: Any, **__: Any) -> None:
        """Nothing."""

    log = define_metric = save = finish = watch

    def sweep(self, sweep: Any = None, *_: Any, **__: Any) -> str:
        """Keeps the configuration of a sweep."""
        self._sweep = sweep if isinstance(sweep, dict) else {}
        return "probe"

    def agent(self, sweep_id: Any = None, function: Callable[[], Any] | None = None, *_: Any, **__: Any) -> None:  # noqa: ARG002 - as wandb has it
        """Calls the function once, with the first value of every parameter of the sweep."""
        for name, choice in self._sweep.get("parameters", {}).items():
            values = choice.get("values") or [choice.get("value", choice.get("min"))]
            self.config[name] = values[0]
        if function is not None:
            function()


class Writer(Silent):
    """A `SummaryWriter`; where it would write, and that it is used, is told to those that wait for it."""

    built: ClassVar[list[Callable[[Any, Any], None]]] = []
    used: ClassVar[list[Callable[[Any, str], None]]] = []

    def __init__(self, log_dir: Any = None, *_: Any, logdir: Any = None, **__: Any) -> None:
        super().__init__("SummaryWriter")
        hand([log_dir, logdir])
        for tell in self.built:
            tell(self, log_dir or logdir)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            for tell in self.used:
                tell(self, name)
        return super().__getattr__(name)


class Board(SilentModule):
    """A module that has a `SummaryWriter`."""

    SummaryWriter = Writer


MADE: dict[str, Callable[[str], ModuleType]] = {"wandb": Wandb, "torch.utils.tensorboard": Board, "tensorboardX": Board}


def _items(argument: Any) -> Any:
    return argument if hasattr(argument, "keys") else vars(argument) if hasattr(argument, "__dict__") else argument
