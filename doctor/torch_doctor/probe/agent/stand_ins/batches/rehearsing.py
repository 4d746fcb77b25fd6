"""The rehearsal of a pass over a loader: it ends where the pass has shown what it wants of the batch."""

from __future__ import annotations

import importlib
from time import thread_time
from typing import TYPE_CHECKING, Any, ClassVar

from ...rehearsal import rehearsals
from ..cuda.types import TYPES
from .wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from .finding import BatchFinder


def _converting(kind: Any, finder: BatchFinder) -> Any:
    """`torch.FloatTensor` and its like, which converts what is wanted."""

    class Converting(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            return isinstance(thing, kind)

        def __call__(cls, *given: Any) -> Any:
            if given and type(given[0]) is Wanted:
                return finder.called(finder.torch.Tensor.to, (given[0], kind.dtype), {})
            return kind(*given)

    return Converting(kind.__name__, (), {"__module__": "torch", "dtype": kind.dtype})


class RehearsedPass:
    """A pass over `iterator` that is rehearsed, with a batch that is to be found by `finder`, or that is there.

    `current` is the one that this process rehearses; `heard` are called with what a rehearsal has told. A pass in which
    stand-ins are looked at goes on behind its backward, where the script measures.
    """

    current: ClassVar[RehearsedPass | None] = None
    heard: ClassVar[list[Callable[[Any], None]]] = []

    def __init__(self, torch: Any, iterator: Any, finder: BatchFinder | None) -> None:
        self.iterator = iterator
        self.finder = finder
        self._torch = torch
        self._began = 0.0
        self.came_through = False
        self._is_inside = False  # one function that goes backward calls another
        self.is_there = finder is None

    def found_by(self, finder: BatchFinder) -> BatchFinder:
        """What finds out what is wanted: the finder of the pass, or else this one, now that there is something to find."""
        if self.finder is None:
            self.finder = finder
            self._hand_over(finder)
        return self.finder

    def begin(self) -> None:
        """Has this process, which rehearses, tell what it learnt when the pass comes to its backward."""
        torch = self._torch
        RehearsedPass.current = self
        self._began = thread_time()
        # The threads of the process that was copied are not there: https://github.com/pytorch/pytorch/issues/58962.
        torch.set_num_threads(1)
        rehearsals.learnt = lambda: self._learnt() if self.came_through else None
        for owner, name in ((torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad")):
            setattr(owner, name, self._ending(getattr(owner, name)))
        for kind in (torch.optim.Optimizer, *vars(torch.optim).values()):
            if isinstance(kind, type) and "step" in vars(kind):
                kind.step = self._going_on(vars(kind)["step"])  # type: ignore[attr-defined]
        if self.finder is not None:
            self._hand_over(self.finder)

    @classmethod
    def rehearse(cls, passing: RehearsedPass) -> Any:
        """What a rehearsal of the pass has learnt; in it, `rehearsals`."""
        importlib.import_module("torch._subclasses.fake_tensor")  # once, and not in each rehearsal
        answer = rehearsals.find(passing.begin)
        if isinstance(answer, dict):
            for hear in cls.heard:
                hear(answer)
        return answer

    def _hand_over(self, finder: BatchFinder) -> None:
        """Has models and variables take what is wanted."""
        Wanted.finder = finder
        module: Any = self._torch.nn.Module
        finder.call_module = module.__call__

        def call(model: Any, /, *arguments: Any, **keywords: Any) -> Any:
            return finder.module(model, arguments, keywords)

        module.__call__ = call
        variables: Any = type(self._torch.autograd.Variable)
        build = variables.__call__

        def built(cls: Any, *given: Any, **named: Any) -> Any:
            return given[0] if given and type(given[0]) is Wanted else build(cls, *given, **named)

        variables.__call__ = built
        for name in TYPES:
            setattr(self._torch, name, _converting(getattr(self._torch, name), finder))

    def _ending(self, original: Any) -> Any:
        """A backward, which ends the rehearsal unless parts of the batch are still to be found."""

        def called(*arguments: Any, **keywords: Any) -> Any:
            if self._is_inside:
                return original(*arguments, **keywords)
            again, self.came_through = self.came_through, True
            finder = self.finder
            if again or finder is None or not (finder.has_results or (finder.batch.wants() and not self.is_there)):
                self.end()
            self._is_inside = True
            try:
                return original(*arguments, **keywords)
            finally:
                self._is_inside = False

        return called

    def _going_on(self, original: Any) -> Any:
        """A step, after which the rehearsal has something to tell."""

        def called(*arguments: Any, **keywords: Any) -> Any:
            given = original(*arguments, **keywords)
            self.came_through = True
            return given

        return called

    def end(self) -> None:
        """Ends the rehearsal, which was a success."""
        rehearsals.end(self._learnt())

    def _learnt(self) -> dict[str, Any]:
        results = self.finder.results() if self.finder is not None else []
        if self.finder is None or self.is_there:
            return {"form": "", "seconds": thread_time() - self._began, "results": results}
        return {**self.finder.batch.learnt(), "seconds": self.finder.computed, "results": results}
