"""Statements that fail on data that is not there, or was made up: they are left out, and the script goes on."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import io
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any

from ... import hooks
from ...failure import described
from ...guard import RefusedError
from ...interfaces import mismatch
from ...rehearsal import rehearsals
from .. import told
from ..demands import gives_up
from ..silent import Silent
from ..source import AGENT, targets
from ..stand_in import StandIn
from .acting import Acting, is_module
from .content import UnknownFormError, Unread
from .directly import Directly
from .drawing import draws
from .failures import Failures, imports_torch
from .interposing import Interposing
from .last_resort import CAUGHT, LastResort
from .looking import Looking
from .meeting import UnreadValues
from .models import built
from .words import ChosenWords

if TYPE_CHECKING:
    from types import FrameType

    from ..stand_in import Setting

OWN = (
    NameError,
    ImportError,
    SyntaxError,
    NotImplementedError,
    MemoryError,
    RecursionError,
    StopIteration,
    UnknownFormError,
)
"""Errors that no data is to blame for, or that are no errors."""
OF_NO_BATCH = (NameError, ImportError, OSError)
"""Errors that no batch is to blame for."""
SUBSTITUTE = re.compile(rf"{__name__.partition('.')[0]}\b|'(?:Unread|Unknown|Silent)'")
"""What is in the words of an error that was raised for what something made up is, whether or not it would have been read."""
MODEL = (told.VALUES, told.SHAPES, told.ARGUMENTS, told.INSIDE, told.WEIGHTS)
"""What is unknown of a model whose arguments were made up."""
OF_SAMPLES = frozenset(("__getitem__", "__len__", "__iter__", "__next__", "collate_fn"))
"""Methods in which a test is of one sample."""
UNREAD = "the data cannot be read"
MOST = 200  # times that one statement is left out


class SkippedStatements(StandIn):
    """Goes on where reading data failed, with placeholder values inferred from their use."""

    replaces = UNREAD
    voids = (told.VALUES, told.FILES, told.SHAPES, told.BATCHES)
    installed_after = ("WantedBatches", "Files", "PictureFolders")

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._torch: Any = None
        self._times: dict[tuple[str, int], int] = {}
        self._training = False
        self._drawn = ""
        self._meeting: UnreadValues | None = None
        self._acting: Acting | None = None
        self._interposing = Interposing(self.sources)
        self._last = LastResort(self.sources, self.teller, self._interposing) if self.plan.get("alone") else None
        self._failures = Failures(self.sources, but_built=self._last is not None)

    def prepare(self) -> None:
        """Answers what guarded statements ask."""
        hooks.put("failure", CAUGHT)
        if self._last is None:
            Unread.chooses = self._tested
        hooks.put("goes_on", self._goes_on)
        hooks.put("instead", self._instead)
        self._looking = Looking(self.sources)
        opened = builtins.open

        @functools.wraps(opened)
        def opening(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            try:
                return opened(file, mode, *arguments, **keywords)
            except FileNotFoundError as error:
                frame = self.sources.innermost()
                if "r" not in mode or frame is None or not self.sources.called_by_user(by_path=True):
                    raise
                if not self._goes_on_after(error, frame):
                    raise
                return self._instead(0)

        builtins.open = io.open = opening

    def with_torch(self, torch: Any) -> None:
        """Learns of the first forward, after which nothing more is left out; as a last resort, of the first update."""
        self._torch = torch
        handles: list[Any] = []

        def began(thing: Any, *_: Any) -> None:
            module = torch.nn.Module  # what prepares data may be one, too
            if isinstance(thing, module) and not list(module.parameters(thing)):
                return
            self._training = True
            for each in handles:
                each.remove()
            handles.clear()

        if self._last is not None:  # its hook stays: torch goes through them while it is called
            optimizers: Any = importlib.import_module("torch.optim.optimizer")
            optimizers.register_optimizer_step_pre_hook(began)
        else:
            handles.append(torch.nn.modules.module.register_module_forward_pre_hook(began))

    def _instead(self, count: int) -> Any:
        """The value of what failed: `count` of them where it was to be taken apart."""
        if self._drawn:
            return [Silent(self._drawn) for _ in range(count)] if count else Silent(self._drawn)
        meeting = self._meet()
        frame = sys._getframe(1)
        while frame.f_code.co_filename.startswith(AGENT) and frame.f_back is not None:
            frame = frame.f_back
        model = built(self._torch, self.sources, frame) if self._last is not None and not count else None
        if model is not None:
            self.tell(f"{type(model).__name__}(…)", "the same with placeholder arguments", voids=MODEL)
            return model
        names = targets(next(iter(self.sources.statements(frame)), ast.Pass()))
        if self._acting is not None and len(names) == 1 and is_module(self.sources, frame, names[0]):
            return self._acting.module(names[0])
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        made = [Unread(meeting.root(f"{place}:{number}")) for number in range(count or 1)]
        return made if count else made[0]

    def _meet(self) -> UnreadValues:
        """What knows the placeholders, made when there is a first one."""
        if self._meeting is None:
            self._meeting = UnreadValues(self._torch, self.sources, fills=self._last is not None)
            Unread.word = ChosenWords(self.sources, likely=self._last is not None).chosen
            self._acting = Acting(self._torch, self.sources, self.tell) if self._last is not None else None
        return self._meeting

    def at_end(self, error: BaseException | None) -> bool:
        """As a last resort, calls what trains, where the script has ended without; whether that did."""
        if self._last is None or self._training or rehearsals.under_way or self._torch is None:
            return False
        if error is not None and self._failures.in_training(self._torch, error.__traceback__, None):
            return False  # it has come to its training, and fails there
        meeting = self._meet()
        if self._acting is None:
            return False
        if error is not None:
            self._tell_left_out(error, self._failures.frames(error))
        self._acting.is_direct = True
        found = Directly(self.sources, self._acting, meeting.root, lambda: self._training).call()
        if found is None:
            return False
        self._last.is_called(self._torch, found)
        return True

    def _goes_on(self) -> bool:
        """Whether the statement that failed, in the frame that asks, is left out."""
        error = sys.exc_info()[1]
        return isinstance(error, CAUGHT) and self._goes_on_after(error, sys._getframe(1))

    def _goes_on_after(self, error: BaseException, frame: FrameType) -> bool:
        place = (frame.f_code.co_filename, frame.f_lineno)
        times = self._times.get(place, 0)
        self._drawn = draws(error) if isinstance(error, Exception) else ""
        if not self._drawn and (not self._is_excused(error, frame) or times >= MOST or not self._has_torch()):
            return False
        apart = self._last is not None and isinstance(error, OF_NO_BATCH)
        if (rehearsals.under_way and not apart) or (self._training and (not times or self._last is not None)):
            return False
        own = not self._drawn and self._failures.in_training(self._torch, error.__traceback__, frame)
        if own or self._failures.is_handled(frame, error):
            return False
        self._times[place] = times + 1
        if self._last is not None:
            self._last.breaks(self._torch, error, frame)
            self._bind(error, frame)
        if not times:
            self._say(frame, error)
        return True

    def _bind(self, error: BaseException, frame: FrameType) -> None:
        """Has a global name that has no value, because the script has not come there, get one."""
        name = getattr(error, "name", None) if type(error) is NameError else None
        if not name or name in frame.f_globals:
            return
        meeting = self._meet()
        if self._acting is not None and is_module(self.sources, frame, name):
            frame.f_globals[name] = self._acting.module(name)
        else:
            frame.f_globals[name] = Unread(meeting.root(f"global {name}"))

    def _is_excused(self, error: BaseException, frame: FrameType) -> bool:
        """Whether a failure is none of the script's own, or counts as none."""
        if self._last is not None:
            return self._last.leaves_out(error, frame)
        if type(error) is SystemExit:
            return self._gives_up(frame, error)
        return (
            isinstance(error, Exception)
            and not isinstance(error, OWN)
            and self._is_of_data(frame, error)
            and not mismatch(error, self.sources.tree, self.sources.is_users)
        )

    def _tested(self) -> None:
        """The script tests what could not be read; where it reads a sample, that is its data, which is random in any case."""
        frame = self.sources.innermost()
        if frame is None or frame.f_code.co_name in OF_SAMPLES or rehearsals.under_way:
            return
        self.tell(
            f"what line {frame.f_lineno} tests", "a placeholder value", why=UNREAD, voids=(told.VALUES, told.TESTS)
        )

    def _has_torch(self) -> bool:
        """Whether there is torch; a script that reads data first imports it later."""
        if self._torch is None and any(imports_torch(node) for tree in self.sources.trees() for node in ast.walk(tree)):
            with contextlib.suppress(Exception):
                importlib.import_module("torch")
        return self._torch is not None

    def _is_of_data(self, frame: FrameType, error: Exception) -> bool:
        if isinstance(error, AttributeError) and type(getattr(error, "obj", None)).__name__ in ("module", "type"):
            return False
        if isinstance(error, OSError) or told.FILES in self.teller.voided or self._failures.lacks_data(error):
            return True
        if SUBSTITUTE.search(f"{error} {type(getattr(error, 'obj', None))}"):
            return True
        return self._looking.in_vain and isinstance(self.sources.statements(frame)[0], (ast.Raise, ast.Assert))

    def _gives_up(self, frame: FrameType, error: SystemExit) -> bool:
        """Whether the statement itself ends the script, with a failure, for want of data."""
        itself = gives_up(self.sources.statements(frame)[:1], returning=False)
        return itself and error.code not in (None, 0) and (self._looking.in_vain or told.FILES in self.teller.voided)

    def _say(self, frame: FrameType, error: BaseException) -> None:
        alone = self._last is not None
        if not alone and isinstance(error, RefusedError) and isinstance(self.sources.statements(frame)[0], ast.Expr):
            return  # it was told, and nobody wants its value
        name = frame.f_code.co_name
        words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        where = f"line {frame.f_lineno}" + (f" in {name}" if name != "<module>" else "")
        if self._drawn:
            self.tell(where, "nothing", why=f"it fails in {self._drawn} ({words})", voids=(told.LOG,))
            return
        why = f"it fails: {words}" if alone else f"the data cannot be read ({words})"
        how = "placeholder values inferred from their use" if self._last is None else self._last.instead(frame)
        changed = not alone and self._interposing.fails_elsewhere(self._torch, error.__traceback__, frame)
        self.tell(where, how, why=why[:200], voids=(*self.voids, told.ACTIONS) if changed else None)
        self._tell_left_out(error, list(self.sources.frames())[::-1])

    def _tell_left_out(self, error: BaseException, frames: list[FrameType]) -> None:
        with contextlib.suppress(Exception):  # whatever the script's objects do when they are looked at
            values = described(error, error.__traceback__, self.sources)
            words = "".join(traceback.format_exception_only(type(error), error)).strip()
            self.teller.left_out(words, frames, values)
