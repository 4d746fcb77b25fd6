"""Finds the tensors that a loop wants: they are tried, under fake tensors, until the model and the loss take them."""

from __future__ import annotations

import ast
import functools
import inspect
from time import monotonic
from typing import TYPE_CHECKING, Any

from .candidates import Candidates
from .parts import Part
from .sizes import flattened, is_torchs, sizes
from .trying import NotFoundError, Trials, leaves, unknown
from .wanted import Applied, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..source import Sources

PAIR = 2  # parts of a batch of which nothing else is known
LOWER = ("numpy", "tolist", "item")


class Finder:
    """What is found out about one batch.

    Attributes:
        torch: the module.
        batch: the batch as a whole.
        rows: its size.
        computed: the seconds that models took to compute with real tensors.
        call_module: how a module is called, but for what is wanted.
    """

    def __init__(self, torch: Any, sources: Sources, rows: int) -> None:
        self.torch = torch
        self.batch = Part()
        self.rows = rows
        self._sources = sources
        self.computed = 0.0
        self._others: list[Part] = []
        self._trials = Trials(torch)
        self.call_module = torch.nn.Module.__call__

    # --- what is asked of a wanted value ---

    def value(self, wanted: Wanted) -> Any:
        """Its tensor, where that is known by now; None where not."""
        return None if any(True for _ in unknown(wanted)) else self._trials.evaluated(wanted)

    def forced(self, wanted: Wanted) -> Any:
        """Its tensor, which has to be known now: the models at hand tell."""
        known = self.value(wanted)
        if known is not None:
            return known
        for module in self.modules():
            if self._fit(list(unknown(wanted)), [module], functools.partial(self.call_module, module), wanted):
                return self.value(wanted)
        raise NotFoundError

    def attribute(self, wanted: Wanted, name: str) -> Any:
        """An attribute of the tensor."""
        return getattr(self.forced(wanted), name)

    def called(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What a function gives that is called with wanted values: beside tensors they have to fit to these."""
        missing = list(unknown((arguments, keywords)))
        given = [each for each in leaves((arguments, keywords)) if isinstance(each, self.torch.Tensor)]
        given = [each for each in given if type(each) is not Wanted] + [
            value
            for each in leaves((arguments, keywords))
            if type(each) is Wanted and (value := self.value(each)) is not None
        ]
        name = getattr(function, "__name__", "")
        if missing and not given and name not in LOWER:
            return Wanted(Applied(function, arguments, keywords))
        if missing and given:
            self._beside(function, name, missing, given, (arguments, keywords))
        elif missing:
            for each in leaves((arguments, keywords)):
                if type(each) is Wanted:
                    self.forced(each)
        plain, named = self._trials.evaluated((arguments, keywords))
        return function(*plain, **named)

    def module(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What a module gives that is called with wanted values."""
        missing = list(unknown((arguments, keywords)))
        if missing and any(True for _ in module.parameters()):
            self._fit(
                missing, [module], lambda given: self.call_module(module, *given[0], **given[1]), (arguments, keywords)
            )
        if any(True for _ in unknown((arguments, keywords))):
            return self.call_module(module, *arguments, **keywords)
        plain, named = self._trials.evaluated((arguments, keywords))
        began = monotonic()
        try:
            return self.call_module(module, *plain, **named)
        finally:
            self.computed = max(self.computed, monotonic() - began)

    def is_whole(self, part: Part) -> bool:
        """Whether it is a batch, and no part of one."""
        return part is self.batch or any(part is each for each in self._others)

    def another(self) -> Part:
        """A batch of another loader that goes into the same pass."""
        self._others.append(Part())
        return self._others[-1]

    def names(self) -> list[str]:
        """What the models at hand take by name."""
        for module in self.modules():
            parameters = list(inspect.signature(module.forward).parameters.values())
            return [
                each.name
                for each in parameters
                if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty
            ]
        raise NotFoundError

    def unpacked(self) -> int:
        """Into how many parts the code takes something apart: by the statement that runs, or by what it makes of it."""
        frame = self._sources.innermost()
        if frame is None:
            return PAIR
        for statement in self._sources.statements(frame)[:1]:
            given = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            for target in given:
                if isinstance(target, (ast.Tuple, ast.List)):
                    return len(target.elts)
                tree = self._sources.tree(frame.f_code.co_filename)
                if isinstance(target, ast.Name) and tree is not None:
                    return _taken_of(target.id, tree) or PAIR
        return PAIR

    # --- trying ---

    def _beside(self, function: Any, name: str, missing: list[Part], given: list[Any], whole: Any) -> None:
        candidates = self._candidates().beside(name, given, [each.shape for each in self._trials.found])
        wanted = [each for each in leaves(whole) if type(each) is Wanted]
        shapes = {candidates[0].shape} | {tuple(each.shape) for each in given}

        def strictly(tried: Any) -> Any:
            for each in wanted:
                if tuple(self._trials.evaluated(each).shape) not in shapes:
                    raise NotFoundError
            return function(*tried[0], **tried[1])

        def anyhow(tried: Any) -> Any:
            return function(*tried[0], **tried[1])

        if not self._trials.fit([candidates] * len(missing), missing, strictly, whole) and not self._trials.fit(
            [candidates] * len(missing), missing, anyhow, whole
        ):
            raise NotFoundError(name)

    def _fit(self, missing: list[Part], modules: Sequence[Any], call: Callable[[Any], Any], whole: Any) -> bool:
        candidates = self._candidates(modules).of(modules)
        several = [[each for each in self._trials.found if each not in candidates] + candidates] * len(missing)
        return self._trials.fit(several, missing, call, whole)

    def _candidates(self, modules: Sequence[Any] = ()) -> Candidates:
        namespaces = [space for frame in self._sources.frames() for space in (frame.f_locals, frame.f_globals)]
        own = [vars(layer) for module in modules for layer in module.modules() if not is_torchs(layer)]
        return Candidates(self.torch, self.rows, sizes([*own, *namespaces], flattened(modules)))

    def modules(self) -> Iterator[Any]:
        """The models at hand: of the user's frames, the innermost first, and of their objects."""
        kind, seen = self.torch.nn.Module, set()
        for frame in self._sources.frames():
            for space in (frame.f_locals, frame.f_globals):
                for value in list(space.values()):
                    inside = (
                        ()
                        if isinstance(value, (kind, type))
                        else vars(value).values()
                        if hasattr(value, "__dict__")
                        else ()
                    )
                    for each in (value, *inside):
                        if isinstance(each, kind) and id(each) not in seen and any(True for _ in each.parameters()):
                            seen.add(id(each))
                            yield each


def _taken_of(name: str, tree: ast.Module) -> int:
    """How many parts the code takes of what is called so, by their places or into names."""
    most = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            place = node.slice
            if isinstance(place, ast.Constant) and type(place.value) is int and place.value >= 0:
                most = max(most, place.value + 1)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            most = max([most, *(len(each.elts) for each in node.targets if isinstance(each, (ast.Tuple, ast.List)))])
    return most
