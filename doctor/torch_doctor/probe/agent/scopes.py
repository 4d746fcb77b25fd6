"""The calls and passes of loops in which something happens, written when it does."""

from __future__ import annotations

import sys
import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from .sites import Span

if TYPE_CHECKING:
    from types import FrameType

    from .channel import Channel
    from .loop import Loop
    from .loops import Loops
    from .nodes import Index
    from .sites import Sites

ROOT = 0
TRANSPARENT = frozenset({"<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
NEW_LOCALS = 0x2  # inspect.CO_NEWLOCALS: set for functions, not for the bodies of classes


class Here(NamedTuple):
    """Where something happens: the user's frame, its place, its scope and the loops around it, outermost first."""

    frame: FrameType | None
    site: int
    scope: int
    loops: list[Loop]


class _Open:
    """A call or a pass that was written and is not known to be over."""

    __slots__ = ("key", "loop", "name", "number", "scope", "site")

    def __init__(self, key: Any, scope: int, site: int, name: str = "", loop: Loop | None = None) -> None:
        self.key = key
        self.scope = scope
        self.site = site
        self.name = name
        self.loop = loop
        self.number = loop.number if loop is not None else 0


class Scopes:
    """Writes `scope` lines and the events of entering and leaving them."""

    def __init__(self, channel: Channel, sites: Sites, index: Index) -> None:
        self._channel = channel
        self._sites = sites
        self._index = index
        self._open: list[_Open] = []
        self._next = 1
        self._runs = 0
        self._main = threading.main_thread().ident
        self.loops: Loops
        self.events = 0

    def begin(self, script: str) -> None:
        """Writes the root."""
        site = self._sites.whole_line(script, 1)
        self._channel.write(
            t="scope", id=ROOT, parent=None, kind="root", name="", site=site, loop=0, number=0, loop_kind="plain"
        )

    def here(self) -> Here:
        """Where the user's code is now, with everything around it written."""
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe(2)
        own, is_users = self._sites._own, self._sites.is_users
        while frame is not None:
            path = frame.f_code.co_filename
            if own[path] if path in own else is_users(path):
                frames.append(frame)
            frame = frame.f_back
        if not frames:
            return Here(None, self._sites.whole_line(self._sites.script, 1), self._innermost(), [])
        innermost = frames[0]
        site = self._sites.of_frame(innermost)
        if get_ident() != self._main:
            return Here(innermost, site, ROOT, [])
        frames.reverse()
        scope, loops = self._enter(frames)
        return Here(innermost, site, scope, loops)

    def _innermost(self) -> int:
        return self._open[-1].scope if self._open else ROOT

    # --- entering ---

    def _enter(self, frames: list[FrameType]) -> tuple[int, list[Loop]]:
        """The scope of what runs in the innermost of these frames, outermost first, and the loops around it."""
        still, depth = True, 0
        loops: list[Loop] = []
        at = 0  # the place in the frame around, which tells apart two calls
        outside: FrameType | None = None
        for frame in frames:
            code = frame.f_code
            if code.co_name not in TRANSPARENT and code.co_flags & NEW_LOCALS:
                key = (id(frame), id(code), at)
                if still and depth < len(self._open) and self._open[depth].key == key:
                    depth += 1
                else:
                    still = self._leave(depth)
                    depth += 1
                    self._enter_call(frame, outside, key)
            for loop in self.loops.of_frame(frame, self._sites.position(frame)):
                loops.append(loop)
                if (
                    still
                    and depth < len(self._open)
                    and self._open[depth].loop is loop
                    and self._open[depth].number == loop.number
                ):
                    depth += 1
                else:
                    same = still and depth < len(self._open) and self._open[depth].loop is loop
                    still = self._leave(depth, loop if same else None)
                    depth += 1
                    self._enter_pass(loop)
            at, outside = frame.f_lasti, frame
        if depth < len(self._open):
            self._leave(depth)
        return self._innermost(), loops

    def _enter_call(self, frame: FrameType, outside: FrameType | None, key: Any) -> None:
        code, parent = frame.f_code, self._innermost()
        site = self._sites.of_frame(outside) if outside is not None else self._sites.of_frame(frame)
        function = self.function_site(frame)
        self.event("CallEntered", site, parent, function=code.co_name, function_site=function)
        scope = self._write_scope(parent, "call", code.co_name, function, called=site)
        self._open.append(_Open(key, scope, site, code.co_name))

    def _enter_pass(self, loop: Loop) -> None:
        parent = self._innermost()
        site = self._index.site(loop.node.key)
        kind = "batches" if loop.batches else "plain"
        if not loop.run:
            self._runs += 1
            loop.run = self._runs
            fields = {"loop_kind": kind, "over": loop.node.text, "length": loop.length, "validates": loop.validates}
            fields["counts_updates"] = loop.counts_updates
            self.event("LoopEntered", site, parent, loop=loop.run, **fields)
        scope = self._write_scope(parent, "iteration", "", site, loop.run, loop.number, kind)
        self.event("LoopIterated", site, scope, loop=loop.run, number=loop.number)
        self._open.append(_Open(None, scope, site, loop=loop))

    def _leave(self, depth: int, staying: Loop | None = None) -> bool:
        """Writes that all from `depth` on is over, but for the loop that only goes on to its next pass."""
        while len(self._open) > depth:
            left = self._open.pop()
            if left.loop is None:
                self.event("CallExited", left.site, self._innermost(), function=left.name)
            elif left.loop is not staying:
                self.event("LoopExited", left.site, self._innermost(), loop=left.loop.run)
        return False

    def end(self) -> None:
        """Writes that everything is over."""
        self._leave(0)

    def function_site(self, frame: FrameType) -> int:
        """The place of a function's `def`; its first line where it has none (a lambda)."""
        code = frame.f_code
        file = self._index.file(code.co_filename)
        span = file.functions.get((code.co_firstlineno, code.co_name)) if file is not None else None
        return self._sites.number(span or Span(code.co_filename, code.co_firstlineno, -1, code.co_firstlineno, -1))

    def _write_scope(
        self,
        parent: int,
        kind: str,
        name: str,
        site: int,
        loop: int = 0,
        number: int = 0,
        over: str = "plain",
        called: int | None = None,
    ) -> int:
        scope = self._next
        self._next += 1
        self._channel.write(
            t="scope",
            id=scope,
            parent=parent,
            kind=kind,
            name=name,
            site=site,
            loop=loop,
            number=number,
            loop_kind=over,
            called=called,
        )
        return scope

    # --- events ---

    def event(self, kind: str, site: int, scope: int, /, **fields: Any) -> int:
        """Writes an event; returns its number."""
        number = self.events
        self.events += 1
        self._channel.write(t="event", e=kind, at=site, **{"in": scope}, **fields)
        return number
