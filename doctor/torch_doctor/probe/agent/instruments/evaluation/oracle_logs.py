"""What a module of Lightning logs in an evaluation, and at which lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

LOGGED = "logged"
"""How such a figure shows."""
MODULES = ("lightning.pytorch.core.module", "pytorch_lightning.core.module")
PARTS = ("_epoch", "_step")
"""What is added to a name that is logged for both."""


class LoggedFigures:
    """Notes the lines, in the process that rehearses; of the trainer it gets the figures, when the evaluation is over."""

    def __init__(self, is_users: Callable[[str], bool]) -> None:
        self._is_users = is_users
        self._places: dict[str, tuple[str, int]] = {}
        self.found: list[tuple[str, int, str, str, float]] = []

    def begin(self) -> None:
        """Wrap what logs; `log_dict` calls it as well."""
        for name in MODULES:
            cls: Any = getattr(sys.modules.get(name), "LightningModule", None)
            if cls is not None:
                cls.log = self._logging(cls.log)

    def _logging(self, original: Any) -> Any:
        def log(module: Any, name: str, *arguments: Any, **keywords: Any) -> Any:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and not self._is_users(frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                self._places[name] = frame.f_code.co_filename, frame.f_lineno
            return original(module, name, *arguments, **keywords)

        return log

    def take(self, figures: Mapping[str, Any]) -> None:
        """Note the figures of what was logged since."""
        self.found = list(self._of(figures))

    def _of(self, figures: Mapping[str, Any]) -> Iterator[tuple[str, int, str, str, float]]:
        for name, figure in figures.items():
            stem = name.partition("/dataloader_idx_")[0]
            shorter = next((stem.removesuffix(part) for part in PARTS if stem.endswith(part)), stem)
            place = self._places.get(stem) or self._places.get(shorter)
            if place is not None and figure.numel() == 1:
                yield *place, LOGGED, name, float(figure)
