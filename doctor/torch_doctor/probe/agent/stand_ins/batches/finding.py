"""Finds the tensors that a loop wants: they are tried, under fake tensors, until the model and the loss take them."""

from __future__ import annotations

import ast
import functools
import inspect
from time import monotonic
from typing import TYPE_CHECKING, Any

from . import detecting
from .apart import taken_of
from .at_hand import classes, models
from .candidates import Candidates
from .parts import Part, Spec
from .probabilities import OF_PROBABILITIES, PROBABILITIES, bound
from .sizes import flattened, is_torchs, sizes
from .takers import takers
from .trying import NotFoundError, Trials, leaves, unknown
from .wanted import Applied, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..source import Sources

PAIR = 2  # parts of a batch of which nothing else is known
LOWER = ("numpy", "tolist", "item", "dim", "ndimension", "numel")
PICTURE = (3, 32, 32)
ARITHMETIC = frozenset("add radd sub rsub mul rmul truediv rtruediv neg mean sum getitem".split())
"""Operations between numbers, after which a loss is a single number still."""


class BatchFinder:
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
        self._results: dict[str, tuple[Part, list[list[int]]]] = {}
        self._scoring: list[Part] = []
        self._trials = Trials(torch)
        self.call_module = torch.nn.Module.__call__

    # --- what is asked of a wanted value ---

    def value(self, wanted: Wanted) -> Any:
        """Its tensor, where that is known by now; None where not."""
        known = None if any(True for _ in unknown(wanted)) else self._trials.evaluated(wanted)
        return None if type(known) is Wanted else known

    def forced(self, wanted: Wanted) -> Any:
        """Its tensor, which has to be known now: the models at hand tell."""
        known = self.value(wanted)
        if known is not None:
            return known
        missing = list(unknown(wanted))
        if all(part.is_result for part in missing):
            for part in missing:
                self._trials.settle(part, self._likely(part))
            return self.value(wanted)
        for module in dict.fromkeys(
            [*takers(self._sources, wanted, self.torch.nn.Module), *models(self.torch, self._sources)]
        ):
            if self._fit(list(unknown(wanted)), [module], functools.partial(self.call_module, module), wanted):
                return self.value(wanted)
        raise NotFoundError

    def attribute(self, wanted: Wanted, name: str) -> Any:
        """An attribute of the tensor."""
        return getattr(self.forced(wanted), name)

    def called(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What a function gives that is called with wanted values: beside tensors they have to fit to these."""
        if getattr(function, "__name__", "") in OF_PROBABILITIES:
            bound(arguments[:1])
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
                    (self.number if name == "item" else self.forced)(each)
        plain, named = self._trials.evaluated((arguments, keywords))
        return function(*plain, **named)

    def number(self, wanted: Wanted) -> Any:
        """Its tensor, of which a single number is taken."""
        for part in [part for part in unknown(wanted) if part.is_result]:
            self._trials.settle(part, Spec(()))
        return self.forced(wanted)

    def backward(self, wanted: Wanted) -> None:
        """It is a loss, whose parts are known now if they have to be."""
        self._resolve(wanted, ())
        self.torch.Tensor.backward(self.value(wanted))

    def _resolve(self, wanted: Wanted, shape: tuple[int, ...], high: int = 0) -> None:
        """Has a value that stand-ins returned be of this shape and kind, or what was computed of such values be known."""
        node = wanted._node
        if self.value(wanted) is not None:
            return
        if isinstance(node, Part):
            if not node.is_result or node.parts:
                raise NotFoundError
            self._trials.settle(node, Spec(shape, "float32", high))
            return
        name = getattr(node.function, "__name__", "")
        same = name.strip("_") in ARITHMETIC
        parts = [each for each in leaves((node.arguments, node.keywords)) if type(each) is Wanted]
        parts.sort(key=lambda each: not all(part.is_result for part in unknown(each)))
        for each in parts if same else parts[:1]:
            high = PROBABILITIES if name in OF_PROBABILITIES else 0
            self._resolve(each, shape if same else (self.rows, classes(self.torch, self._sources)), high)
        value = self.called(node.function, node.arguments, node.keywords)
        if type(value) is Wanted:
            raise NotFoundError
        node.value = value

    def _likely(self, part: Part) -> Spec:
        """What a stand-in returns, where that is asked for its shape: in a model what goes in, else scores of classes."""
        shapes = next((shapes for each, shapes in self._results.values() if each is part and shapes), [])
        frame = self._sources.innermost()
        if shapes and frame is not None and frame.f_code.co_name == "forward":
            return Spec(tuple(shapes[0]))
        return Spec((self.rows, classes(self.torch, self._sources)))

    # --- what stand-ins return ---

    @property
    def is_trying(self) -> bool:
        """Whether a model is being tried with what it may take."""
        return self._trials.under_way

    @property
    def has_results(self) -> bool:
        """Whether stand-ins were asked for something."""
        return bool(self._results)

    def result(self, key: str, given: Sequence[Any], *, trained: bool) -> Part:
        """What the stand-in of this key returns, which gets tensors of the shapes of these; one that is trained has scores."""
        if key not in self._results:
            self._results[key] = Part(is_result=True), [list(each.shape) for each in given]
            if trained:
                self._scoring.append(self._results[key][0])
            kinds = [Spec(tuple(each.shape), str(each.dtype).removeprefix("torch.")) for each in given]
            self._trials.found += [kind for kind in kinds if kind.dtype == "float32"]
        return self._results[key][0]

    def results(self) -> list[Any]:
        """What was found out about them: the key, the form and the shapes that went in, of each."""
        for part in self._scoring:
            if part.wants() and not part.parts:
                self._trials.settle(part, Spec((self.rows, classes(self.torch, self._sources))))
        return [[key, part.learnt(), shapes] for key, (part, shapes) in self._results.items()]

    def given(self, values: Any) -> Any:
        """What a stand-in gets, which takes anything: pictures, where all that is known is that it comes first."""
        missing = list(unknown(values))
        there = [each for each in leaves(values) if isinstance(each, self.torch.Tensor) and type(each) is not Wanted]
        for part in missing if len(missing) > 1 else ():  # as what translates takes them
            self._trials.settle(
                part, self._likely(part) if part.is_result else Spec((self.rows, self.rows), "int64", 2)
            )
        if len(missing) == 1 and not there and not missing[0].is_result:
            self._trials.settle(missing[0], Spec((self.rows, *PICTURE)))
        return self._trials.evaluated(values)

    def module(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What a module gives that is called with wanted values."""
        if hasattr(module, "takes_anything"):
            return module.forward(*arguments, **keywords)
        missing = list(unknown((arguments, keywords)))
        found = detecting.detector(module) if missing else None
        if found is module:
            arguments, keywords = detecting.known(self._trials, module, self.rows, (arguments, keywords))
        elif missing and found is None and any(True for _ in module.parameters()):
            call = functools.partial(self.call_module, module)
            self._fit(missing, [module], lambda given: call(*given[0], **given[1]), (arguments, keywords))
        if any(True for _ in unknown((arguments, keywords))):
            return self.call_module(module, *arguments, **keywords)
        plain, named = self._trials.evaluated((arguments, keywords))
        began, spent = monotonic(), self._trials.spent
        try:
            return self.call_module(module, *plain, **named)
        finally:
            self.computed = max(self.computed, monotonic() - began - self._trials.spent + spent)

    def is_whole(self, part: Part) -> bool:
        """Whether it is a batch, and no part of one."""
        return part is self.batch or any(part is each for each in self._others)

    def another(self) -> Part:
        """A batch of another loader that goes into the same pass."""
        self._others.append(Part())
        return self._others[-1]

    def names(self, part: Part) -> list[str]:
        """What the models at hand take by name; of a part of a batch, what a model that finds objects is to find."""
        for module in models(self.torch, self._sources):
            if not self.is_whole(part) and (detector := detecting.detector(module)) is not None:
                return list(detecting.targets(detector))
            taken = inspect.signature(module.forward).parameters.values()
            return [
                each.name for each in taken if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty
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
                    return taken_of(target.id, tree) or PAIR
        return PAIR

    # --- trying ---

    def _beside(self, function: Any, name: str, missing: list[Part], given: list[Any], whole: Any) -> None:
        if all(part.is_result for part in missing):
            candidates = self._candidates().results(name, given, classes(self.torch, self._sources))
        else:
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
