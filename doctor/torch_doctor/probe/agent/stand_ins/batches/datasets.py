"""Datasets of the user's that cannot read their data: they go on as far as they come."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any

from ...interfaces import mismatch
from .. import told

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..source import Sources
    from ..told import Teller

ROWS = 256  # of a dataset that cannot tell how many it has
UNREADABLE = (OSError, ImportError)
VOIDS = (told.VALUES, told.FILES, told.SHAPES, told.BATCHES)


class FailedDatasets:
    """Knows which datasets of the user's failed, and why."""

    def __init__(self, sources: Sources, teller: Teller) -> None:
        self._sources = sources
        self._teller = teller
        self._failed: dict[int, tuple[Any, BaseException]] = {}

    def install(self, torch: Any) -> None:
        """Looks at every dataset that is defined from now on."""
        base: Any = torch.utils.data.Dataset
        before = base.__init_subclass__

        def defined(cls: Any, /, **keywords: Any) -> None:
            before(**keywords)
            self._watch(cls)

        base.__init_subclass__ = classmethod(defined)

    def is_no_data(self, error: BaseException) -> bool:
        """Whether an error comes of data that is not there, or that was made up."""
        if mismatch(error, self._sources.tree, self._sources.is_users):
            return False
        return isinstance(error, UNREADABLE) or told.FILES in self._teller.voided or self._sources.found_no_data

    def failure(self, dataset: Any) -> BaseException | None:
        """Why a dataset, or what it is a part of, cannot read its data; None where it can."""
        seen = set()
        while dataset is not None and id(dataset) not in seen:
            if id(dataset) in self._failed:
                return self._failed[id(dataset)][1]
            seen.add(id(dataset))
            # Only what is there: what is made up has every attribute, and each of these has one more.
            dataset = getattr(dataset, "__dict__", {}).get("dataset")
        return None

    def _watch(self, cls: Any) -> None:
        own = vars(cls)
        codes = [each.__code__ for each in own.values() if hasattr(each, "__code__")]
        if not any(self._sources.is_users(code.co_filename) for code in codes):
            return
        if "__init__" in own:
            cls.__init__ = self._building(cls, own["__init__"])
        if "__len__" in own:
            cls.__len__ = self._counting(own["__len__"])

    def _building(self, cls: Any, build: Callable[..., None]) -> Any:
        @functools.wraps(build)
        def built(dataset: Any, /, *arguments: Any, **keywords: Any) -> None:
            try:
                build(dataset, *arguments, **keywords)
            except Exception as error:
                if type(dataset) is not cls or not self.is_no_data(error) or self._is_handled():
                    raise
                self._fail(dataset, error)

        return built

    def _counting(self, count: Callable[[Any], int]) -> Any:
        @functools.wraps(count)
        def counted(dataset: Any) -> int:
            try:
                rows = count(dataset)
            except Exception as error:
                if self.failure(dataset) is None and not self.is_no_data(error):
                    raise
                self._fail(dataset, error)
                return ROWS
            if rows:
                return rows
            self._fail(dataset, ValueError("the dataset is empty"))
            return ROWS

        return counted

    def _is_handled(self) -> bool:
        """Whether the user's code that makes a dataset goes on by another way where that fails."""
        frame = self._sources.innermost()
        around = self._sources.statements(frame) if frame is not None else []
        return any(isinstance(statement, ast.Try) and statement.handlers for statement in around)

    def _fail(self, dataset: Any, error: BaseException) -> None:
        if id(dataset) in self._failed:
            return
        self._failed[id(dataset)] = (dataset, error)
        how = "synthetic batches, created in the loop"
        self._teller.stand_in(f"{type(dataset).__name__}", unreadable(error), how, VOIDS)


def unreadable(error: BaseException) -> str:
    """What is not there, by the error of who tried to read it."""
    return f"the data cannot be read ({type(error).__name__}: {error})".replace("\n", " ")
