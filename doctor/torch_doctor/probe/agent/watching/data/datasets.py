"""Datasets: where they are made, which rows they read, and what puts rows in random order."""

from __future__ import annotations

import dis
import inspect
import itertools
import random
import sys
import weakref
from typing import TYPE_CHECKING, Any

from ...hooks import PREFIX
from ..instrument_hooks import InstrumentHooks
from ..naming import class_name
from .shared_rows import SharedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..watch import Watch

REORDERING = ("shuffle", "sample", "permutation", "choice", "default_rng", "RandomState", "randperm")
"""Functions of `random`, `numpy.random` and `torch` that put something in random order, or make what does."""
ELSEWHERE = ("sklearn.model_selection", "sklearn.utils", "pandas")
"""Modules that put rows in random order without being seen."""
STORED = ("torchvision.", "torchaudio.", "torch_geometric.", "dgl.")
TABLES = ("datasets.",)
"""Modules whose datasets decide only whether they are asked for a row or for a column."""
CALLS = ("CALL", "CALL_KW", "CALL_METHOD", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_FUNCTION_EX")
VERBS = ("LOAD", "STORE", "DELETE")
MOSTLY = 0.5  # of the rows: a window reaches back over the bound between two parts by fewer
MOST_CLASSES = 1000
MOST = 1 << 20  # indices that are looked through


class Watcher:
    """Remembers where datasets are constructed, and tells of each when a loader is built over it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._born: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._told: set[int] = set()
        self._shared = SharedRows(watch.torch)

    def install(self) -> None:
        """Puts the wrappers in place."""
        dataset = self._watch.torch.utils.data.Dataset
        recorder, born, sites = self._recorder, self._born, self._recorder.sites

        def __new__(cls: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: N807
            make = super(dataset, cls).__new__
            made = make(cls) if make is object.__new__ else make(cls, *arguments, **keywords)
            frame = None if recorder.quiet else sites.frame(2)
            if frame is not None and is_referable(made):
                born[id(made)] = (weakref.ref(made), sites.of_frame(frame))
            return made

        self._watch.patches.replace(dataset, "__new__", lambda _: __new__)
        for module in (random, sys.modules.get("numpy.random"), self._watch.torch):
            for name in REORDERING:
                if module is not None and not (module is random and name == "choice"):
                    self._watch.patches.replace(module, name, self._reordering)

    def _reordering(self, original: Any) -> Any:
        if isinstance(original, type):
            return self._class(original)

        def call(*arguments: Any, **keywords: Any) -> Any:
            self._seen(sys._getframe(1).f_code.co_filename)
            return original(*arguments, **keywords)

        return call

    def _class(self, original: Any) -> Any:
        """A class that makes what the original makes, and passes for it where classes are compared or joined by `|`."""
        seen = self._seen

        class Made(type(original)):  # type: ignore[misc]
            def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
                if cls is not replaced:
                    return super().__call__(*arguments, **keywords)
                seen(sys._getframe(1).f_code.co_filename)
                return original(*arguments, **keywords)

            def __instancecheck__(cls, thing: Any) -> bool:
                return isinstance(thing, original) if cls is replaced else super().__instancecheck__(thing)

            def __subclasscheck__(cls, other: Any) -> bool:
                return issubclass(other, original) if cls is replaced else super().__subclasscheck__(other)

        names = {"__module__": original.__module__, "__doc__": original.__doc__}
        replaced: Any = Made(original.__name__, (original,), names)
        return replaced

    def _seen(self, path: str) -> None:
        """Something is put in random order, by code of the file `path`."""
        recorder = self._recorder
        if not recorder.quiet and not recorder.rests() and recorder.sites.is_users(path):
            recorder.safely(lambda: recorder.event("Reordered", recorder.here()))

    def tell(self, dataset: Any) -> int:
        """Writes which rows a dataset reads, once; returns its number."""
        if dataset is None or not is_referable(dataset):
            return 0
        recorder = self._recorder
        number = recorder.references.number(dataset)
        if number in self._told:
            return number
        self._told.add(number)
        data = self._watch.torch.utils.data
        indices = getattr(dataset, "indices", None) if isinstance(dataset, data.Subset) else None
        inner = [dataset.dataset] if indices is not None else getattr(dataset, "datasets", ())
        parts = [self.tell(each) for each in inner] if isinstance(inner, (list, tuple)) else []
        born = self._born.get(id(dataset))
        here = recorder.here()
        shares = recorder.safely(self._shared.of, number, dataset) or {}
        event = recorder.event(
            "DatasetBuilt",
            here,
            site=born[1] if born is not None and born[0]() is dataset else None,
            dataset=number,
            class_name=class_name(type(dataset), recorder),
            iterable=isinstance(dataset, data.IterableDataset),
            shuffled=self._shuffled(dataset, indices),
            parts=[part for part in parts if part],
            computes=_computes(dataset),
            changes=self._changes(dataset),
            drawn=is_drawn(dataset),
            decides=_decides(dataset),
            numbers=_numbers(dataset),
            shares=list(shares),
            copies=recorder.safely(self._shared.copied, number, dataset) or [],
            mostly=[other for other, share in shares.items() if MOSTLY <= share < 1],
        )
        self._watch.tell(InstrumentHooks.on_dataset, dataset, event)
        return number

    def _shuffled(self, dataset: Any, indices: Any) -> bool | None:
        """Whether the rows are in random order: in a subset, where an index is followed by a lower one."""
        if is_drawn(dataset):
            return True
        if indices is not None:
            listed = list(indices[:MOST])
            if any(after < before for before, after in itertools.pairwise(listed)):
                return True
            inner = dataset.dataset  # perhaps a list, or a placeholder, which has any attribute
            return self._shuffled(inner, getattr(inner, "indices", None)) if is_referable(inner) else None
        if type(dataset).__module__.startswith(STORED):
            return False
        marks = self._watch.marks
        held = [*vars(dataset).values(), *getattr(dataset, "tensors", ())]
        if any(marks.of(each).source == "noise" for each in marks.tensors(held)):
            return True  # rows that were drawn one by one lie in an order as random as any
        return True if any(name in sys.modules for name in ELSEWHERE) else None

    def _changes(self, dataset: Any) -> bool:
        """Whether what others may call of it, of the user's classes, sets its attributes."""
        methods = [
            each for cls in type(dataset).__mro__ for name, each in vars(cls).items() if not name.startswith("_")
        ]
        codes = [getattr(inspect.unwrap(each), "__code__", None) for each in methods if hasattr(each, "__code__")]
        return any(
            step.opname == "STORE_ATTR"
            for code in codes
            if code is not None and self._recorder.sites.is_users(code.co_filename)  # what wraps a builtin ends at none
            for step in dis.get_instructions(code)
        )


def is_referable(thing: Any) -> bool:
    """Whether there can be a weak reference to it: not to lists, dicts and the like."""
    # Below 0 from Python 3.12 on: https://github.com/python/cpython/pull/95996.
    return getattr(type(thing), "__weakrefoffset__", 0) != 0


def is_drawn(dataset: Any) -> bool:
    """Whether a row does not depend on the index that it is asked by: `__getitem__` does not read it, or sets it first."""
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    if code is None or code.co_argcount != len(("self", "index")) or code.co_flags & inspect.CO_VARARGS:
        return False
    index = code.co_varnames[1]
    uses = (verb for each in dis.get_instructions(code) for verb, name in _uses(each) if name == index)
    return next(uses, "STORE") == "STORE"


def _decides(dataset: Any) -> bool:
    """Whether reading a row asks whether something is a member, or decides by an item: other rows are others then."""
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    if code is None or type(dataset).__module__.startswith(TABLES):
        return False
    names = [each.opname for each in dis.get_instructions(code) if each.opname not in ("CACHE", "TO_BOOL")]
    branches = any(
        each.startswith(("BINARY_SUBSCR", "BINARY_OP"))
        and any("POP_JUMP" in later or later == "COMPARE_OP" for later in names[place + 1 : place + 3])
        for place, each in enumerate(names)
    )
    return "CONTAINS_OP" in names or branches


def _numbers(dataset: Any) -> list[tuple[str, int]]:
    """The names and numbers of classes in an attribute that maps each of several names to a number of its own."""
    maps = [each for each in vars(dataset).values() if type(each) is dict and 1 < len(each) <= MOST_CLASSES]
    for each in maps:
        named = all(type(name) is str and type(number) is int for name, number in each.items())
        if named and sorted(each.values()) == list(range(len(each))):
            return list(each.items())
    return []


def _uses(step: dis.Instruction) -> Iterator[tuple[str, Any]]:
    """What an instruction does with names: from Python 3.13 on `STORE_FAST_LOAD_FAST` stores one and loads another.

    https://github.com/python/cpython/pull/105230
    """
    verbs = [word for word in step.opname.split("_") if word in VERBS]
    return zip(verbs, step.argval if isinstance(step.argval, tuple) else (step.argval,), strict=False)


def _computes(dataset: Any) -> bool | None:
    """Whether reading a row calls anything; None where that is not Python's to tell."""
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    if code is None:
        return None
    steps = list(dis.get_instructions(code))
    added = sum(str(each.argval).startswith(PREFIX) for each in steps if each.opname.startswith("LOAD"))
    return sum(each.opname in CALLS for each in steps) > added
