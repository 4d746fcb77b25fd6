"""Writes events: where the user's code is, what the objects are numbered, and what was measured."""

from __future__ import annotations

import os
import sys
import threading
import traceback
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from .channel import is_ours
from .scopes import Here, Scopes

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Mapping
    from types import FrameType

    from .caps import Caps
    from .channel import Channel
    from .loop import Loop
    from .nodes import Index
    from .sites import Sites, Span

T = TypeVar("T")


class References:
    """Numbers that stand for objects, each for one object during the run."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._last = 0

    def number(self, thing: Any) -> int:
        """The number of an object; 0 for None."""
        if thing is None:
            return 0
        known = self._numbers.get(id(thing))
        if known is not None and known[0]() is thing:
            return known[1]
        self._last += 1
        key = id(thing)
        self._numbers[key] = (weakref.ref(thing), self._last)
        return self._last

    def same(self, thing: Any, other: Any) -> None:
        """Has an object stand for another one: it gets the number of that."""
        if thing is not other:
            self._numbers[id(thing)] = (weakref.ref(thing), self.number(other))

    def known(self, thing: Any) -> bool:
        """Whether the object has a number."""
        known = self._numbers.get(id(thing))
        return known is not None and known[0]() is thing


class Recorder:
    """What every watcher writes through.

    `inside` counts the calls of modules that are under way: what happens in them belongs to the outermost, and lies in its
    scope. `quiet` counts what the agent does itself, which is not recorded. `over`: the last line is written. `resting` is
    a loop that has updated often enough to show all that it has to show: its further steps are not recorded, until it is
    over or something else happens. `failures` counts what failed of the agent's own.
    """

    def __init__(self, channel: Channel, sites: Sites, index: Index, caps: Caps, plan: Mapping[str, Any]) -> None:
        self.channel = channel
        self.sites = sites
        self.index = index
        self.caps = caps
        self.plan = plan
        self.needs = frozenset(plan.get("needs") or ())
        self.scopes = Scopes(channel, sites, index)
        self.references = References()
        self.inside = 0
        self.around: Here | None = None
        self.quiet = 0
        self.resting: Loop | None = None
        self.woken: list[Callable[[], None]] = []
        self.over = False
        self.failures = 0
        self._failed: set[str] = set()
        self.main = threading.main_thread().ident
        self.at_end: list[Callable[[BaseException | None], None]] = []

    # --- how much ---

    def rests(self) -> bool:
        """Whether what happens now is one more step of a loop that has shown all."""
        loop = self.resting
        if loop is None:
            return False
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code is loop.code and (loop.next or loop.node.first[0] <= frame.f_lineno <= loop.node.last[0]):
                return True
            frame = frame.f_back
        self.wake()
        return False

    def wake(self) -> None:
        """Everything is recorded again."""
        if self.resting is not None:
            self.resting = None
            for tell in self.woken:
                self.safely(tell)

    def fall_silent(self) -> None:
        """Nothing is recorded any more: this process only rehearses."""
        self.quiet += 1
        self.at_end.clear()

    # --- where ---

    def here(self) -> Here:
        """Where the user's code is; within a module that was called as a whole, in the scope of that call."""
        around = self.around
        if self.inside and around is not None:
            frame = self.sites.frame(2)
            return around if frame is None else Here(frame, self.sites.of_frame(frame), around.scope, around.loops)
        return self.scopes.here()

    def span(self, site: int) -> Span:
        """The stretch of source that a site's number stands for."""
        return self.sites.spans[site]

    def call(self, site: int, *names: str) -> ast.Call | None:
        """The call at a site."""
        span = self.sites.spans[site]
        file = self.index.file(span.path)
        return file.call_at(span, *names) if file is not None else None

    def spelled(self, site: int, node: ast.AST | None) -> str:
        """The user's text of a part of the call at a site."""
        file = self.index.file(self.sites.spans[site].path)
        return file.spelled(node) if file is not None and node is not None else ""

    def used(self, here: Here) -> bool:
        """Whether somebody takes the result of the call that the script is in: a library that runs a loop there takes it itself."""
        if here.loops and here.loops[-1].owned and here.loops[-1].node.span == self.span(here.site):
            return True
        file, call = self.index.file(self.span(here.site).path), self.call(here.site)
        return file is None or call is None or (call.end_lineno, call.end_col_offset) not in file.dropped

    def assigned(self, site: int, *names: str) -> str:
        """The text of what the result of the call at a site is assigned to; empty where that is nothing or several."""
        file, call = self.index.file(self.sites.spans[site].path), self.call(site, *names)
        if file is None or call is None:
            return ""
        return file.targets.get((call.end_lineno or 0, call.end_col_offset or 0), "")

    def caller(self, site: int, *names: str) -> str:
        """The text of what is called at a site (`model` of `model(x)`, `loss.backward` of `loss.backward()`)."""
        call = self.call(site, *names)
        return self.spelled(site, call.func) if call is not None else ""

    def owner(self, site: int, *names: str) -> str:
        """The text of whose method is called at a site (`loss` of `loss.backward()`)."""
        call = self.call(site, *names)
        function = getattr(call, "func", None)
        return self.spelled(site, getattr(function, "value", None))

    def argument(self, site: int, place: int, name: str = "", *names: str) -> str:
        """The text of an argument of the call at a site."""
        call = self.call(site, *names)
        if call is None:
            return ""
        named = next((each.value for each in call.keywords if name and each.arg == name), None)
        return self.spelled(site, call.args[place] if named is None and place < len(call.args) else named)

    # --- what ---

    def safely(self, function: Callable[..., T], *arguments: Any) -> T | None:
        """The result of what a watcher does; None where it fails: the script goes on as if unwatched.

        It is told, as something is missing in the trace from there on.
        """
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001 - a fault of the agent must not become one of the script
            self.failed(error)
            return None

    def failed(self, error: BaseException) -> None:
        """Tells that something of the agent's failed: nobody knows what is missing in the trace from there on."""
        self.failures += 1
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        self.doubt(f"an instrument failed: {type(error).__name__}: {error} (in {where})", where)

    def doubt(self, text: str, about: str = "") -> None:
        """Report, once for each `about`, that the trace is incomplete or out of order from here on, which leaves all undecided."""
        if (about or text) not in self._failed:
            self._failed.add(about or text)
            self.channel.write(t="doubt", text=text)

    def event(self, kind: str, here: Here, /, *, site: int | None = None, **fields: Any) -> int:
        """Writes an event; returns its number, or 0 where somebody else than the agent asks for it."""
        if not is_ours():
            return 0
        if self.resting is not None:
            self.wake()
        return self.scopes.event(kind, here.site if site is None else site, here.scope, **fields)

    def happened(self, here: Here, *, trained: bool = False, step: bool = False) -> None:
        """Tells the loops around that something of training happened in them."""
        self.caps.happened(here.loops, trained=trained, step=step)

    def measured(
        self, claim: str, value: float | str, unit: str = "", *, site: int | None = None, about: Any = ()
    ) -> None:
        """Writes a number that speaks for or against something."""
        if is_ours():
            self.channel.write(t="measured", claim=claim, value=value, unit=unit, at=site, about=list(about))

    def note(self, text: str) -> None:
        """Writes a remark."""
        self.channel.write(t="note", text=text)

    def tell(self, kind: str, **fields: Any) -> None:
        """Writes a line of another kind, with the place that the user's code is at."""
        if kind == "ended" and self.over:
            return
        if kind == "folder":
            self.missing_folder(**fields)
            return
        if "for_" in fields:
            fields["for"] = fields.pop("for_")
        frame = self.sites.frame(2)
        self.channel.write(t=kind, **fields, at=None if frame is None else self.sites.of_frame(frame))
        if kind == "ended":
            self.channel.flush()

    def missing_folder(self, folder: str, what: str, place: int) -> None:
        """Write that the user's code needs a folder that is not there; `place` is the position of the path (-1: unknown)."""
        here = self.here()
        if here.frame is not None and not self.quiet:
            file = self.argument(here.site, place, "f" if place else "file") if place >= 0 else ""
            self.event("FolderMissing", here, folder=folder, what=what, file=file)

    def frame(self) -> FrameType | None:
        """The user's innermost frame."""
        return self.sites.frame(2)


def innermost(loops: list[Loop]) -> Loop | None:
    """The innermost of the loops around."""
    return loops[-1] if loops else None
