"""Writes the values that the script compares, rounds, reports, saves or returns to a library."""

from __future__ import annotations

import collections
import re
import sys
from typing import TYPE_CHECKING, Any

from .. import hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..watching.watch import Watch

MOST = 48  # values of one place
LARGEST = 64  # entries of a container
SAMPLED = 16  # numbers of a tensor
DEEPEST = 4
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(?![\w.]*\w)")
CONTAINERS = (list, dict, set, collections.deque)


class Recording:
    """What instrumented code calls with its values."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._counts: dict[int, int] = {}

    def install(self) -> None:
        """Put the hooks in place."""
        hooks.put("figure", self._figure)
        hooks.put("reports", self._reports)

    def _figure(self, key: int, value: Any) -> Any:
        """A value that the script reads at a place."""
        recorder = self._recorder
        within = recorder.index.nodes[key].how == "returned" and not self._leaves(sys._getframe(1))
        if not within and not recorder.quiet and not recorder.inside:
            recorder.safely(self._note, key, value)
        return value

    def _leaves(self, frame: Any) -> bool:
        """Whether what this frame returns goes to a library."""
        caller = frame.f_back
        return caller is not None and not self._recorder.sites.is_users(caller.f_code.co_filename)

    def _reports(self, key: int, function: Any) -> Any:
        """A function whose result the script drops, such as `print`: what it is given leaves the script."""
        if self._is_own(function) or self._recorder.quiet or self._recorder.inside:
            return function

        def reporting(*arguments: Any, **keywords: Any) -> Any:
            self._recorder.safely(self._note, key, [*arguments, *keywords.values()])
            return function(*arguments, **keywords)

        return reporting

    def _is_own(self, function: Any) -> bool:
        """Whether a call keeps what it is given within the script: in a container, a module, or a function of the user's."""
        torch, of = self._watch.torch, getattr(function, "__self__", None)
        if isinstance(of, (*CONTAINERS, torch.Tensor, torch.nn.Module, torch.optim.Optimizer)):
            return True
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is None:
            return isinstance(function, type) or getattr(function, "__name__", "") in {"setattr", "next", "exec"}
        return self._recorder.sites.is_users(code.co_filename)

    def _note(self, key: int, value: Any) -> None:
        recorder = self._recorder
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count > MOST:
            return
        node = recorder.index.nodes[key]
        with self._watch.unwatched(), self._watch.torch.no_grad():
            parts = dict(self._parts(value, "", DEEPEST))
        if parts:
            recorder.channel.write(t="figure", at=recorder.index.site(key), how=node.how, text=node.text, parts=parts)

    def _parts(self, value: Any, name: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
        """The numbers in a value: of each entry of a container under its name."""
        torch, numpy = self._watch.torch, sys.modules.get("numpy")
        if isinstance(value, (bool, int, float)):
            yield name, [_number(value)]
        elif isinstance(value, str):
            if found := NUMBER.findall(value)[:LARGEST]:
                yield name, found
        elif isinstance(value, torch.Tensor):
            yield name, self._sampled(value.detach())
        elif numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            if value.dtype.kind in "biuf":
                yield name, self._sampled(torch.as_tensor(numpy.ascontiguousarray(value)))
        elif depth and isinstance(value, (dict, list, tuple)):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            for entry, each in list(entries)[:LARGEST]:
                yield from self._parts(each, f"{name}.{entry}", depth - 1)

    @staticmethod
    def _sampled(tensor: Any) -> list[Any]:
        """The shape of a tensor, its mean, and some of its numbers; of one number that alone."""
        if tensor.is_sparse or tensor.is_complex() or tensor.is_quantized or tensor.device.type == "meta":
            return list(tensor.shape)
        flat = tensor.reshape(-1).double().cpu()
        if len(flat) == 1:
            return [_number(flat[0])]
        some = flat[:: max(1, len(flat) // SAMPLED)][:SAMPLED]
        numbers = [float(flat.abs().mean()), *map(float, some)] if len(flat) else []
        return [*tensor.shape, *map(_number, numbers)]


def _number(value: Any) -> Any:
    """A number that JSON has."""
    number = float(value)
    return number if number - number == 0.0 else str(number)
