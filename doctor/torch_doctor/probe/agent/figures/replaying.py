"""Records what a fix is meant to change in the first run, and puts it back in the second one."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from ..identities import IdentitySet
from ..instruments.instrument import Instrument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..scopes import Here
    from ..watching.watch import Watch

MOST = 24 << 20  # bytes of what is recorded
LOSS, OUTPUTS, GRADIENTS = "loss", "outputs", "gradients"


class Replaying(Instrument):
    """Losses, outputs of models and gradients, each in the order in which they are computed.

    `keeps` names those that are recorded, `replays` holds what was recorded of each in the first run.
    """

    def __init__(self, watch: Watch, how: Mapping[str, Any]) -> None:
        super().__init__(watch)
        self._keeps = frozenset(how.get("keeps") or ())
        self._left = {what: list(values) for what, values in (how.get("replays") or {}).items()}
        self._size = 0
        self._counted: IdentitySet = IdentitySet()

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model returned its output."""
        if module not in self._counted:
            self._counted.add(module)
            sizes = [each.numel() for each in module.parameters()]
            self.watch.recorder.channel.write(t="weights", sizes=[sum(sizes), len(sizes)])
        given = {each.data_ptr() for each in self.watch.marks.tensors([*arguments, *keywords.values()])}
        found = [each for each in self.watch.marks.tensors(output) if each.data_ptr() not in given]
        self._pass(OUTPUTS, found)

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss of torch's was computed."""
        self._pass(LOSS, [value])

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """A backward pass ended: a loss that was computed by hand is known only now."""
        self._pass(LOSS, losses)
        self._pass(GRADIENTS, [each.grad for each in got if each.grad is not None])

    def at_end(self, error: BaseException | None) -> None:
        """Tell of what the second run computed less often than the first."""
        for what in self._left:
            if self._left[what]:
                self._odd(what)

    def _pass(self, what: str, tensors: list[Any]) -> None:
        torch, channel = self.watch.torch, self.watch.recorder.channel
        tensors = [each for each in tensors if isinstance(each, torch.Tensor) and not each.is_sparse]
        with self.watch.unwatched(), torch.no_grad():
            if what in self._keeps and self._size <= MOST:
                file = io.BytesIO()
                torch.save([each.detach().cpu().clone() for each in tensors], file)
                data = base64.b64encode(file.getvalue()).decode()
                self._size += len(data)
                channel.write(t="replay", what=what, data=data if self._size <= MOST else "")
            if what in self._left:
                self._put_back(what, tensors)

    def _put_back(self, what: str, tensors: list[Any]) -> None:
        torch, left = self.watch.torch, self._left[what]
        if not left or not left[0]:
            self._odd(what)
            return
        before = torch.load(io.BytesIO(base64.b64decode(left.pop(0))), weights_only=True)
        if [each.shape for each in before] != [each.shape for each in tensors]:
            self._odd(what)
            return
        for tensor, value in zip(tensors, before, strict=True):
            tensor.data.copy_(value)

    def _odd(self, what: str) -> None:
        """What was recorded does not fit what is computed now, so that nothing computed from it can be compared."""
        del self._left[what][:]
        self.watch.recorder.channel.write(t="unlike", what=what)
