"""Arrays of NumPy that tell where a softmax is computed of them, and where the largest of them are chosen."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...sites import Sites

NEAR = 1e-3
MOST = 8  # of what is found


class FollowedScores:
    """Makes such an array of the scores, and keeps what is found: what, where (`at`), along which axis, and of which sums a row is.

    An array has `rows` where each of its elements was computed of the score at its place, and of sums and the like;
    it is a `power` where the score went through `exp`. `chosen` has what is known of the choice that gave it.
    """

    def __init__(self, numpy: Any, sites: Sites, scores: Any, labels: Any) -> None:
        self.found: list[dict[str, Any]] = []
        self._numpy = numpy
        self._sites = sites
        self._given = scores
        self._labels = labels
        self._kind = self._class()

    def scores(self) -> Any:
        """The array; those who compute softmax out of sight of NumPy tell of it, too."""
        softmax = getattr(sys.modules.get("scipy.special"), "softmax", None)
        for module in [*sys.modules.values()] if softmax is not None else ():
            for name, value in [*getattr(module, "__dict__", {}).items()]:
                if value is softmax:
                    setattr(module, name, self._normalizing(value))
        made = self._given.view(self._kind)
        made.rows = True
        return made

    def _class(self) -> Any:
        computed, chosen, plain = self._computed, self._chosen, self._numpy.asarray
        argmax = self._numpy.ndarray.argmax

        class Array(self._numpy.ndarray):  # type: ignore[name-defined, misc]
            rows = power = False
            chosen: dict[str, Any] | None = None

            def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
                given = [plain(each) if isinstance(each, Array) else each for each in inputs]
                if out is not None:
                    keywords["out"] = tuple(plain(each) if isinstance(each, Array) else each for each in out)
                call: Callable[..., Any] = getattr(ufunc, method)
                return computed(ufunc, method, inputs, functools.partial(call, *given, **keywords))

            def argmax(self, *arguments: Any, **keywords: Any) -> Any:
                axis = arguments[0] if arguments else keywords.get("axis")
                return chosen(self, axis, argmax(plain(self), *arguments, **keywords))

        return Array

    def _computed(self, ufunc: Any, method: str, inputs: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The result of a function of NumPy, followed on."""
        numpy, shape = self._numpy, self._given.shape
        if ufunc in (numpy.equal, numpy.not_equal):
            self._compared(inputs)
        made = compute()
        if not isinstance(made, numpy.ndarray):
            return made
        arrays = [each for each in inputs if isinstance(each, self._kind) and each.shape == shape and each.rows]
        made = made.view(self._kind)
        if arrays and method == "__call__" and made.shape == shape:
            made.rows = True
            powers = [each for each in arrays if each.power]
            made.power = bool(powers) or ufunc in (numpy.exp, numpy.exp2)
            if powers and ufunc is numpy.true_divide and inputs[0] is powers[0]:
                self._normalized(made)
        return made

    def _normalizing(self, original: Any) -> Any:
        kind, normalized = self._kind, self._normalized

        @functools.wraps(original)
        def softmax(*arguments: Any, **keywords: Any) -> Any:
            made = original(*arguments, **keywords)
            given = keywords.get("x", arguments[0] if arguments else None)
            if not isinstance(given, kind) or not given.rows:
                return made
            made = made.view(kind)
            made.rows = made.power = True
            normalized(made)
            return made

        return softmax

    def _normalized(self, made: Any) -> None:
        """Tells of what sums to 1 along one axis, and not along the other."""
        values = self._numpy.asarray(made)
        sums = [values.sum(axis=axis) for axis in (0, 1)]
        axes = [axis for axis in (0, 1) if (abs(sums[axis] - 1) < NEAR).all()]
        if len(axes) == 1 and (values >= 0).all():
            self._tell("softmax", axes[0], sums=[float(sums[1].min()), float(sums[1].max())])

    def _chosen(self, given: Any, axis: Any, made: Any) -> Any:
        """Remembers along which axis the largest were chosen; told of where they are compared with the labels."""
        if not isinstance(made, self._numpy.ndarray) or type(axis) is not int or not given.rows:
            return made
        made = made.view(self._kind)
        made.chosen = {"axis": axis % given.ndim, "at": self._place()}
        return made

    def _compared(self, inputs: tuple[Any, ...]) -> None:
        numpy = self._numpy
        for value, other in (inputs, inputs[::-1]):
            labels = isinstance(other, numpy.ndarray) and other.shape == self._labels.shape
            if (
                isinstance(value, self._kind)
                and value.chosen
                and labels
                and (numpy.asarray(other) == self._labels).all()
            ):
                self._tell("argmax", **value.chosen, used=self._place())

    def _tell(self, what: str, axis: int, at: Any = None, **more: Any) -> None:
        place = at or self._place()
        if place is not None and len(self.found) < MOST:
            self.found.append({"what": what, "axis": axis, "at": place, **more})

    def _place(self) -> list[Any] | None:
        """The stretch of the user's source that runs."""
        frame = self._sites.frame()
        return None if frame is None else [frame.f_code.co_filename, *self._sites.position(frame)]
