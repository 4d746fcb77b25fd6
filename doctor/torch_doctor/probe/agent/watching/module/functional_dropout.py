"""Dropout as a function that nobody tells the mode of the module: whether it runs in evaluation."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from ... import claims
from ...identities import IdentitySet
from ..naming import class_name
from .modules import first_argument

if TYPE_CHECKING:
    from types import FrameType

    from ..watch import Watch

NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d")
TRAINING = 2  # the place of the argument
# https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
RATE = 0.5  # what `p` is by default
ATTENTION = "scaled_dot_product_attention"
RATE_OF_ATTENTION = 4  # the place of `dropout_p`


class Watcher:
    """Wraps these functions; tells of each place once that ran while its module was in evaluation mode."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._told: set[int] = set()
        self._training: dict[int, int] = {}
        self._without: dict[int, int] = {}
        self._owners: dict[int, weakref.ref[Any]] = {}
        self._ran: set[int] = set()
        self._built: IdentitySet = IdentitySet()  # modules that were made while another one was called

    def born(self, module: Any) -> None:
        """A module was built while another one was called."""
        if isinstance(module, self._torch.nn.modules.dropout._DropoutNd):
            self._built.add(module)

    def install(self) -> None:
        """Wraps the functions, and has what they did counted when the script ends."""
        for name in NAMES:
            self._watch.patches.replace(self._torch.nn.functional, name, self._dropout)
        self._watch.patches.replace(self._torch.nn.functional, ATTENTION, self._attention)
        self._recorder.at_end.append(self._count)

    def _dropout(self, original: Any) -> Any:
        recorder, note, built = self._recorder, self._note, self._built

        def dropout(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            told = len(arguments) > TRAINING or "training" in keywords
            rate = keywords.get("p", arguments[1] if len(arguments) > 1 else RATE)
            if recorder.inside == 1 and rate and not told and not recorder.quiet:
                recorder.safely(note, original.__name__, arguments[0] if arguments else keywords["input"], result)
            elif told and rate and len(built) and recorder.inside == 1 and not recorder.quiet:
                recorder.safely(self._module, sys._getframe(1), arguments[0] if arguments else None, result)
            return result

        return dropout

    def _module(self, frame: FrameType, given: Any, result: Any) -> None:
        """A module called the function: one that was built in the forward around has a mode of its own."""
        dropout: Any = first_argument(frame) if frame.f_code.co_argcount else None
        users = self._recorder.sites.frame()
        if dropout in self._built and dropout.training and users is not None:
            self._tell(users, f"torch.nn.{type(dropout).__name__}", given, result)

    def _attention(self, original: Any) -> Any:
        """It is never told the mode: who passes a rate that is not 0 has it drop."""
        recorder, note = self._recorder, self._note

        def attention(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            rate = keywords.get("dropout_p", arguments[RATE_OF_ATTENTION] if len(arguments) > RATE_OF_ATTENTION else 0)
            if recorder.inside == 1 and rate and not recorder.quiet:
                recorder.safely(note, ATTENTION, None, result, float(rate))
            return result

        return attention

    def _note(self, name: str, given: Any, result: Any, rate: float = 0.0) -> None:
        frame: FrameType | None = sys._getframe(3)
        while frame is not None and self._recorder.sites.is_agents(frame.f_code.co_filename):  # it is watched twice
            frame = frame.f_back
        if frame is not None and self._recorder.sites.is_users(frame.f_code.co_filename):
            self._tell(frame, f"torch.nn.functional.{name}", given, result, rate)

    def _tell(self, frame: FrameType, name: str, given: Any, result: Any, rate: float = 0.0) -> None:
        site = self._recorder.sites.of_frame(frame)
        self._ran.add(site)
        owner = self._owner(frame)
        if owner is None or site in self._told:
            return
        self._owners[site] = weakref.ref(owner)
        if owner.training:
            self._training[site] = self._training.get(site, 0) + 1
            return
        self._told.add(site)
        self._recorder.event(
            "FunctionalDropout",
            self._recorder.here(),
            site=site,
            function=name,
            owner=self._recorder.references.number(owner),
            owner_class=class_name(type(owner), self._recorder),
            training=False,
            dropped=0 if given is None else int(((result == 0) & (given != 0)).sum()),
            elements=0 if given is None else result.numel(),
            rate=rate,
        )

    def _owner(self, frame: FrameType | None) -> Any:
        """The module whose method runs."""
        while frame is not None:
            first = first_argument(frame) if frame.f_code.co_argcount else None
            if isinstance(first, self._torch.nn.Module):
                return first
            frame = frame.f_back
        return None

    def after(self, root: Any) -> None:
        """A whole module was called; places that run in its training forwards only are safe."""
        ran, self._ran = self._ran, set()
        for site, known in self._owners.items():
            owner = known()
            if site not in ran and owner is not None and not owner.training and not root.training:
                self._without[site] = self._without.get(site, 0) + 1

    def _count(self, _: BaseException | None) -> None:
        for site, times in self._training.items():
            if site not in self._told:
                self._recorder.measured(claims.DROPOUTS_IN_TRAINING, times, "calls", site=site)
        for site, times in self._without.items():
            if site not in self._told:
                self._recorder.measured(claims.EVALUATIONS_WITHOUT_DROPOUT, times, "forwards", site=site)
