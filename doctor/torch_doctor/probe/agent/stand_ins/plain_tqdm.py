"""A `tqdm` without a bar: it iterates over what it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..imports import after
from .silent import SilentModule
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


class NotebookBars(StandIn):
    """Shows no bars of a notebook where what draws them is not installed."""

    replaces = "progress bar"

    def prepare(self) -> None:
        """Patches `tqdm.notebook` when it is imported."""
        after("tqdm.notebook", self._patch)

    def _patch(self, module: ModuleType) -> None:
        library: Any = module
        if getattr(library, "IProgress", None) is None:
            library.tqdm_notebook = library.tqdm = library.std_tqdm
            library.tnrange = library.trange = lambda *counts, **keywords: library.std_tqdm(range(*counts), **keywords)


class tqdm:  # noqa: N801
    """`tqdm.tqdm`: the iterable, its length, and calls that do nothing."""

    def __init__(self, iterable: Any = None, *_: Any, total: int | None = None, **__: Any) -> None:
        self.iterable = iterable
        self.total = total if total is not None or not hasattr(iterable, "__len__") else len(iterable)
        self.n = 0
        self.format_dict = {"elapsed": 0.0, "n": 0, "total": self.total, "rate": None}

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable) if self.iterable is not None else self.total or 0

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *_: object) -> None: ...

    def update(self, n: int = 1) -> None:
        """Counts."""
        self.n += n

    def nothing(self, *_: Any, **__: Any) -> None:
        """What concerns the bar alone."""

    set_description = set_description_str = set_postfix = set_postfix_str = close = clear = refresh = reset = (
        unpause
    ) = nothing

    @classmethod
    def write(cls, text: str, *_: Any, **__: Any) -> None:
        """Prints `text`."""
        print(text)  # noqa: T201

    @classmethod
    def pandas(cls, *_: Any, **__: Any) -> None:
        """Nothing."""


def trange(*arguments: int, **keywords: Any) -> tqdm:
    """As `tqdm.trange`."""
    return tqdm(range(*arguments), **keywords)


class Tqdm(SilentModule):
    """The module `tqdm` and all of its parts (`tqdm.auto`, `tqdm.notebook`)."""

    def __getattr__(self, name: str) -> Any:
        known = {"tqdm": tqdm, "trange": trange, "tqdm_notebook": tqdm, "tnrange": trange}
        return known[name] if name in known else super().__getattr__(name)


def make_tqdm(name: str) -> Tqdm:
    """The module `name`."""
    return Tqdm(name)
