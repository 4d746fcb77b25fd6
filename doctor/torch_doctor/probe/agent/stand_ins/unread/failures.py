"""Where something failed: in a model or its training, in a library that lacks data, or where a handler waits for it."""

from __future__ import annotations

import ast
import os
import traceback
from typing import TYPE_CHECKING, Any

from ..demands import caught
from ..source import AGENT

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from ..source import Sources

COMPUTING = ("nn", "optim", "autograd", "_tensor.py", "amp", "distributed")
"""Parts of torch in which what is made up is not at fault, or is told."""
BUILDING = frozenset({"__init__", "__new__", "__setattr__", "add_param_group", "add_module", "register_buffer"})
"""Functions in which a model or an optimizer is built."""
TRAINING = frozenset({"backward", "zero_grad"})
"""Names of which one is in whatever trains."""
FETCHING = "_utils/fetch.py"
LOOKING_ON = os.path.join(AGENT, "instruments") + os.sep


class Failures:
    """Looks at where errors were raised; `but_built`: what builds models and optimizers does not count for training."""

    def __init__(self, sources: Sources, *, but_built: bool) -> None:
        self._sources = sources
        self._but_built = but_built

    def frames(self, error: BaseException) -> list[FrameType]:
        """The user's frames in which something failed, the outermost first."""
        walked = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        return [frame for frame in walked if self._sources.is_users(frame.f_code.co_filename)]

    def in_training(self, torch: Any, trace: TracebackType | None, asking: FrameType | None) -> bool:
        """Whether it failed in a model or in what trains one, on the way from the frame that asks."""
        while trace is not None:
            frame = trace.tb_frame
            path = frame.f_code.co_filename.replace("\\", "/")
            if frame is not asking and self._sources.is_users(path) and TRAINING & {*frame.f_code.co_names}:
                return True
            _, found, inside = path.rpartition("/torch/")
            computes = (found and inside.startswith(COMPUTING)) or self._is_models(torch, frame)
            if computes and not (self._but_built and frame.f_code.co_name in BUILDING):
                return True
            trace = trace.tb_next
        return False

    def _is_models(self, torch: Any, frame: FrameType) -> bool:
        own = torch.nn.Module
        return self._sources.is_users(frame.f_code.co_filename) and isinstance(frame.f_locals.get("self"), own)

    def lacks_data(self, error: Exception) -> bool:
        """Whether a library says that it lacks data of its own, as nltk does: a failed look-up that is no key and no index."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return (
            type(error) is LookupError
            and trace is not None
            and not self._sources.is_users(trace.tb_frame.f_code.co_filename)
        )

    def is_handled(self, frame: FrameType | None, error: BaseException) -> bool:
        """Whether a handler of the user's, or a loader, waits for such an error."""
        names = {kind.__name__ for kind in type(error).__mro__}
        while frame is not None:
            path = frame.f_code.co_filename
            if path.replace("\\", "/").endswith(FETCHING) or path.startswith(LOOKING_ON):
                return True
            if self._sources.is_users(path) and any(names & each for each in caught(self._sources, frame)):
                return True
            frame = frame.f_back
        return False


def imports_torch(node: ast.AST) -> bool:
    """Whether a statement imports torch, or a part of it."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
    return any(name.partition(".")[0] == "torch" for name in names)
