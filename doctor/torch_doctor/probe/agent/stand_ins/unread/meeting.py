"""Where what was never read meets a model or a loss: a rehearsal finds the tensors that they want."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rehearsal import rehearsals
from ..batches.finding import BatchFinder
from ..batches.parts import LEAF, MAPPING, Part, Spec
from ..batches.rehearsing import RehearsedPass
from ..batches.wanted import Wanted
from ..cuda.places import places
from .content import UnknownFormError, Unread
from .settings import fill_settings

if TYPE_CHECKING:
    from ..source import Sources

FACTORIES = frozenset(
    "empty zeros ones rand randn full eye arange randint linspace normal new_zeros new_ones new_full".split()
)
"""Functions that take sizes."""
INDEXING = frozenset({"__getitem__", "__setitem__"})
BATCH = 8  # rows of a batch of unknown size
TRIES = 4  # rehearsals of one run


class Roots(Part):
    """All that was never read; which of it is wanted shows where the pass comes to its backward."""

    __slots__ = ()

    def wants(self) -> bool:
        """Nothing more: what the pass did not use it does not want."""
        return False


class UnreadValues:
    """The values that were never read, and what is known of them; if it `fills` them in, layers take usual numbers for them."""

    def __init__(self, torch: Any, sources: Sources, *, fills: bool = False) -> None:
        self._torch = torch
        self._sources = sources
        self._roots = Roots()
        self._roots.form = MAPPING
        self._generator = torch.Generator().manual_seed(0)
        self._tries = 0
        Unread.found, Unread.meet = self._found, self._meet
        module: Any = torch.nn.Module
        self._call = module.__call__

        def call(model: Any, /, *arguments: Any, **keywords: Any) -> Any:
            if not _has_one((arguments, keywords)):
                return self._call(model, *arguments, **keywords)
            plain, named = self._settled((arguments, keywords))
            return (module.__call__ if rehearsals.under_way else self._call)(model, *plain, **named)

        module.__call__ = call
        move = module.to

        def to(model: Any, *arguments: Any, **keywords: Any) -> Any:
            return model if _has_one((arguments, keywords)) else move(model, *arguments, **keywords)

        module.to = to
        if fills:
            fill_settings(torch, _has_one)

    def root(self, place: str) -> Part:
        """What was never read at a place."""
        return self._roots.part(place, MAPPING)

    def _found(self, unread: Unread) -> Any:
        """Its tensor, where it is known what the loop wants."""
        spec = unread._node.spec
        if spec is None or rehearsals.under_way:
            return None
        if unread._tensor is None and unread._moved is not None:
            whole, move = unread._moved
            unread._tensor = move(self._found(whole))
        elif unread._tensor is None:
            with places.sleeping():  # where what it stands for would be nobody knows
                unread._tensor = spec.made(self._torch, self._generator)
        return unread._tensor

    def _meet(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What a function of torch gives: one of these again, where nothing else is known to it."""
        if getattr(function, "__name__", "") == "to" and not isinstance(arguments[0], Unread):
            return function(*_replaced(arguments, lambda _: "cpu"), **_replaced(keywords, lambda _: "cpu"))
        tensors = [each for each in _leaves((arguments, keywords)) if isinstance(each, self._torch.Tensor)]
        name = getattr(function, "__name__", "")
        if name in INDEXING or (name in FACTORIES and not tensors):
            plain, named = _replaced((arguments, keywords), self._index if name in INDEXING else int)
            return function(*plain, **named)
        given = list(_unread((arguments, keywords)))
        if not tensors and not rehearsals.under_way and all(self._found(each) is None for each in given):
            device = keywords.get("device")
            return given[0] if device is None else given[0].to(device)
        plain, named = self._settled((arguments, keywords))
        return function(*plain, **named)

    def _index(self, unread: Unread) -> Any:
        """What it is as an index: the first, where nothing is known."""
        tensor = self._found(unread)
        if rehearsals.under_way:
            return Wanted(unread._node)
        return 0 if tensor is None else tensor

    def _settled(self, given: Any) -> Any:
        """The same with tensors; in a rehearsal, with what is wanted."""
        if rehearsals.under_way:
            return _replaced(given, lambda each: Wanted(each._node))
        if any(self._found(each) is None for each in _unread(given)) and self._tries < TRIES:
            self._tries += 1
            finder = BatchFinder(self._torch, self._sources, BATCH)
            finder.batch = self._roots
            answer = RehearsedPass.rehearse(RehearsedPass(self._torch, None, finder))
            if answer is rehearsals:
                return _replaced(given, lambda each: Wanted(each._node))
            if answer and "failed" not in answer:
                _learn(self._roots, answer)
        return _replaced(given, self._tensor_of)

    def _tensor_of(self, unread: Unread) -> Any:
        tensor = self._found(unread)
        if tensor is None:
            message = "data that could not be read does not fit: its shape is unknown"
            raise UnknownFormError(message)
        return tensor


def _learn(part: Part, learnt: dict[str, Any]) -> None:
    """Takes over what a rehearsal has found out."""
    if learnt["form"] == LEAF and learnt.get("spec"):
        shape, *rest = learnt["spec"]
        part.spec = Spec(tuple(shape), *rest)
    for key, inner in learnt.get("parts", ()):
        _learn(part.parts.setdefault(key, Part()), inner)


def _leaves(thing: Any) -> Any:
    if isinstance(thing, (tuple, list)):
        for each in thing:
            yield from _leaves(each)
    elif type(thing) is dict:
        for each in thing.values():
            yield from _leaves(each)
    else:
        yield thing


def _unread(thing: Any) -> Any:
    return (each for each in _leaves(thing) if type(each) is Unread)


def _has_one(thing: Any) -> bool:
    return any(True for _ in _unread(thing))


def _replaced(thing: Any, change: Any) -> Any:
    if type(thing) is Unread:
        return change(thing)
    if type(thing) in (tuple, list):
        return type(thing)(_replaced(each, change) for each in thing)
    if type(thing) is dict:
        return {key: _replaced(each, change) for key, each in thing.items()}
    return thing
