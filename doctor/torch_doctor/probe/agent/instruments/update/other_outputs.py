"""Has a copy of the process go on with other outputs of its models, until a loss goes backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rehearsal import POSSIBLE, end_with_changes, rehearsals

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...watching.watch import Watch

SECONDS = 4.0
SEED = 47_115
FARTHER = 10.0  # times as large as an output was are the numbers that take its place, and more


def with_other_outputs(watch: Watch, output: Any, read: Callable[[Any], list[Any]]) -> list[Any] | None:
    """Return what `read` gets from the next loss that goes backward, had the models answered otherwise; None if unknown.

    `output` is what a model has just answered. In the copy itself, nothing is returned that anybody uses.
    """
    tensors = _answers(watch, output)
    if not POSSIBLE or rehearsals.under_way or not tensors or any(each.device.type != "cpu" for each in tensors):
        return None
    answer = rehearsals.begin(lambda: _Copy(watch, read).begin(output), SECONDS)
    return answer.get("values") if isinstance(answer, dict) else None


class _Copy:
    """The process that rehearses."""

    def __init__(self, watch: Watch, read: Callable[[Any], list[Any]]) -> None:
        self._watch = watch
        self._read = read
        self._depth = 0
        self._generator: Any = None

    def begin(self, output: Any) -> None:
        """Overwrite the output that is there, and those that come."""
        torch = self._watch.torch
        # The threads of the process that was copied are not there: https://github.com/pytorch/pytorch/issues/58962.
        torch.set_num_threads(1)
        self._generator = torch.Generator().manual_seed(SEED)
        rehearsals.learnt = lambda: None  # a script that fails, or ends before, has shown nothing
        original = torch.nn.Module.__call__

        def call(module: Any, *arguments: Any, **keywords: Any) -> Any:
            self._depth += 1
            try:
                given = original(module, *arguments, **keywords)
            finally:
                self._depth -= 1
            if not self._depth and torch.is_grad_enabled() and self._watch.modules.family(module).parameters:
                self._overwrite(given)
            return given

        torch.nn.Module.__call__ = call
        torch.Tensor.backward = lambda loss, *_, **__: self._end([loss])
        torch.autograd.backward = lambda losses, *_, **__: self._end(list(self._watch.marks.tensors(losses)))
        end_with_changes(lambda: rehearsals.end(None))
        self._overwrite(output)

    def _overwrite(self, output: Any) -> None:
        torch = self._watch.torch
        for tensor in _answers(self._watch, output):
            drawn = torch.randn(tensor.shape, generator=self._generator, dtype=torch.float64)
            largest = tensor.detach().abs().max() if tensor.numel() else 0.0
            tensor.data.copy_(drawn * (1 + FARTHER * largest))

    def _end(self, losses: list[Any]) -> None:
        rehearsals.end({"values": [each for loss in losses if loss.grad_fn is not None for each in self._read(loss)]})


def _answers(watch: Watch, output: Any) -> list[Any]:
    """The tensors of numbers in an output that have a graph."""
    return [each for each in watch.marks.tensors(output) if each.is_floating_point() and each.grad_fn is not None]
