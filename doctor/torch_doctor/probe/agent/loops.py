"""The loops under way, and what the instrumented code calls for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .loop import Loop
from .sites import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    from .caps import Caps
    from .nodes import Index, Node
    from .sites import Span


NOTHING = object()


class Watched:
    """The iterator of a `for` that counts its passes, and ends when the loop's cap is reached."""

    __slots__ = ("_caps", "_loop", "_next")

    def __init__(self, loop: Loop, following: Callable[[], Any], caps: Caps) -> None:
        self._loop = loop
        self._next = following
        self._caps = caps

    def __iter__(self) -> Watched:
        return self

    def __next__(self) -> Any:
        loop, climb = self._loop, self._caps.climb
        if climb is not None and (given := climb.given(loop, self._next)) is not NOTHING:
            return given
        if (loop.watched or self._caps.urgent) and self._caps.over(loop):
            raise StopIteration
        loop.number += 1
        loop.next = True
        try:
            item = self._next()
        except StopIteration:
            self._caps.left()
            raise
        finally:
            loop.next = False
        if climb is not None:
            climb.took(loop, item)
        return item

    def __length_hint__(self) -> int:
        return 0


class WatchedAsync:
    """As `Watched`, for an `async for`."""

    __slots__ = ("_caps", "_loop", "_next")

    def __init__(self, loop: Loop, following: Callable[[], Any], caps: Caps) -> None:
        self._loop = loop
        self._next = following
        self._caps = caps

    def __aiter__(self) -> WatchedAsync:
        return self

    async def __anext__(self) -> Any:
        loop = self._loop
        if (loop.watched or self._caps.urgent) and self._caps.over(loop):
            raise StopAsyncIteration
        loop.number += 1
        loop.next = True
        try:
            return await self._next()
        except StopAsyncIteration:
            self._caps.left()
            raise
        finally:
            loop.next = False


class Loops:
    """All loops that began, by the frame that runs them.

    A loop is not told when it ends: it is under way when its frame is running and is at a place in its body. A frame that
    gets the number of an earlier one begins its own loops before it is in their bodies.
    """

    def __init__(self, index: Index, caps: Caps) -> None:
        self._index = index
        self._caps = caps
        self.begun: Callable[[], None] = lambda: None
        self.runs = 0  # of loops that are no comprehensions
        self._by_frame: dict[int, dict[int, Loop]] = {}
        self._comprehensions: dict[CodeType | str, dict[int, Loop]] = {}
        self._owned: dict[int, list[Loop]] = {}
        self._counts: dict[int, int] = {}

    # --- what the instrumented code calls ---

    def watch_for(self, key: int, iterable: Any) -> Any:
        """The iterator that goes through `iterable` for the loop `key`."""
        following = iter(iterable).__next__
        loop = self._begin(key, sys._getframe(1))
        loop.length = _length(iterable)
        return Watched(loop, following, self._caps)

    def watch_async(self, key: int, iterable: Any) -> Any:
        """As `watch_for`."""
        following = aiter(iterable).__anext__
        return WatchedAsync(self._begin(key, sys._getframe(1)), following, self._caps)

    def begin(self, key: int) -> None:
        """A `while` begins."""
        self._begin(key, sys._getframe(1))

    def more(self, key: int) -> bool:
        """Whether a `while` may make another pass."""
        loop, climb = self._by_frame[id(sys._getframe(1))][key], self._caps.climb
        if climb is not None and climb.given(loop, None) is not NOTHING:
            return True
        if (loop.watched or self._caps.urgent) and self._caps.over(loop):
            return False
        loop.number += 1
        if climb is not None:
            climb.took(loop, None)
        return True

    def _begin(self, key: int, frame: FrameType) -> Loop:
        node = self._index.nodes[key]
        self.begun()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        loop = Loop(node, frame.f_code, count)
        if node.kind == "comprehension":
            self._comprehensions.setdefault(node.span.path, {})[key] = loop
            return loop
        self.runs += 1
        loops = self._by_frame.get(id(frame))
        if loops is None:
            loops = self._by_frame[id(frame)] = {}
        loops[key] = loop
        return loop

    # --- loops that a library runs ---

    def own(self, frame: FrameType, site: Span, text: str, *, batches: bool) -> Loop:
        """A loop that a library runs at a call of the script's: it is under way while its `next` is true, until `disown`."""
        end = (site.end_row, site.end_column)
        key = self._index.add("for", site, first=(site.row, site.column), last=end, over=site, text=text)
        loop = Loop(self._index.nodes[key], frame.f_code)
        loop.batches, loop.owned = batches, True
        self._owned.setdefault(id(frame), []).append(loop)
        return loop

    def disown(self, frame: FrameType, loop: Loop) -> None:
        """A loop that a library ran is over."""
        left = [each for each in self._owned.get(id(frame), ()) if each is not loop]
        self._owned[id(frame)] = left
        if not left:
            del self._owned[id(frame)]

    # --- which are under way ---

    def of_frame(self, frame: FrameType, position: tuple[int, int, int, int]) -> Iterator[Loop]:
        """The loops under way in a frame that is at `position`, outermost first."""
        found: list[Loop] = []
        loops = self._by_frame.get(id(frame))
        if loops is not None:
            code = frame.f_code
            found = [
                loop for loop in loops.values() if loop.code is code and (loop.next or _within(loop.node, position))
            ]
        comprehensions = self._comprehensions.get(frame.f_code.co_filename)
        if comprehensions is not None:
            found += [loop for loop in comprehensions.values() if loop.batches and _within(loop.node, position)]
        if len(found) > 1:
            found.sort(key=lambda loop: loop.node.first)
        if self._owned and (owned := self._owned.get(id(frame))):
            found += [loop for loop in owned if loop.next]
        return iter(found)

    def in_header(self, frame: FrameType) -> Loop | None:
        """The loop that is taking its next item in this frame."""
        loops = self._by_frame.get(id(frame), {})
        for loop in loops.values():
            if loop.next and loop.code is frame.f_code:
                return loop
        comprehensions = self._comprehensions.get(frame.f_code.co_filename, {})
        return next((loop for loop in comprehensions.values() if loop.next), None)


def _length(iterable: Any) -> int | None:
    """The length of what Python itself counts; that of a progress bar is its `total`."""
    if type(iterable) in {range, list, tuple}:
        return len(iterable)
    total = vars(iterable).get("total") if hasattr(iterable, "__dict__") else None
    return total if type(total) is int else None


def _within(node: Node, position: tuple[int, int, int, int]) -> bool:
    row, column = position[0], position[1]
    if not EXACT or column < 0:
        return node.first[0] <= row <= node.last[0]
    return node.first <= (row, column) and (row, column) < node.last
