"""The trace: events in order, and the questions that rules ask of them."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor.trace.events.names import Names
from torch_doctor.trace.scope import Branch, BranchKind, Scope
from torch_doctor.trace.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.trace.broken import Broken
    from torch_doctor.trace.events import Event
    from torch_doctor.trace.run import Run
    from torch_doctor.trace.scope import Guards, Needs
    from torch_doctor.trace.site import Site

E = TypeVar("E", bound="Event")
V = TypeVar("V")
_INDEX = attrgetter("index")


class Dependencies(Struct, frozen=True):
    """What a trace depends on in addition to the text of the script."""

    read: frozenset[str]
    """The files of the project that the script, or a file that it imports, imports, including itself."""
    absent: frozenset[str]
    """The paths, some without `.py`, where imported files were looked for and not found."""
    asked: frozenset[str]
    """The identifiers for which the other files of the project were searched."""
    installed: frozenset[tuple[str, str]] = frozenset()
    """The installed packages whose source was read, with their versions; "" for an editable one, "absent" if not installed."""
    pins: frozenset[str] = frozenset()
    """The folders whose scripts were searched for the versions of torch that they allow."""
    questions: frozenset[tuple[str, ...]] = frozenset()
    """The queries to the rest of the project about the identifiers in `asked`."""


class Trace(Struct, eq=False):
    """What one run did, as far as its witness knows."""

    path: str
    """The script."""
    events: list[Event] = field(default_factory=list)
    """The events, in order."""
    branches: list[Branch] = field(default_factory=list)
    """The decisions that the static witness could not make."""
    begins_outside: bool = False
    """Whether the run starts with a function whose callers are unknown, so that only the file's top level precedes it."""
    first: int = 0
    """The number of the first event. Numbers continue from run to run, so that events of different runs differ."""
    run: Run | None = None
    """The run of the probe; None for the static witness. With a run, no event between the first and the last is missing."""
    ended: Trace | None = None
    """If only the training loop was run, the trace of the script itself, if that came to its end without an update."""
    ranks: tuple[Trace, ...] = ()
    """The traces of all processes, if there are several."""
    torch: Callable[[], Versions] = Versions
    """Returns the versions of torch that the project allows."""
    saved: Callable[[], frozenset[str]] = frozenset
    """Returns patterns for the names of the files that scripts of the project save."""
    read_whole: Callable[[], frozenset[str]] = frozenset
    """Returns patterns for the paths from which scripts of the project read complete objects, such as models."""
    depends: Dependencies | None = None
    """What the trace depends on, so that its findings can be cached; None for the probe."""
    meant: frozenset[Broken] = frozenset()
    """The broken parts that were executed as they are meant to be."""
    invented: set[Site] = field(default_factory=set)
    """The places of events that only these parts cause."""
    broken: set[Broken] = field(default_factory=set)
    """The broken parts that rules find in this trace, with which the program is executed again."""
    setting: str | None = None
    """The setting of options for which the program was executed: "with `--amp`", "" for the defaults, None for any."""
    arguments: tuple[str, ...] | None = None
    """The arguments of the command line for that setting; None if they are not known."""
    naming: bool = False
    """Whether that execution only tells which findings of the one with any settings need this setting."""
    complete: bool = False
    """Whether a program that was executed for a setting came to its end."""
    conditional: bool = False
    """Whether a finding in this trace needs another setting, so that the program is executed with the defaults."""
    _kept: int = 0
    _by_type: dict[type, list[Event]] = field(default_factory=dict)
    _repeated: dict[int, int] = field(default_factory=dict)
    _views: dict[Callable[[Trace], object], Any] = field(default_factory=dict)

    def __reduce__(self) -> Any:  # noqa: ANN401 - what pickle takes
        """What the project says is read before it is stored: the project that knows it stays behind."""
        torch = functools.partial(Versions, *self.torch())
        saved = functools.partial(frozenset[str], self.saved())
        whole = functools.partial(frozenset[str], self.read_whole())
        return Struct.__reduce__(replace(self, torch=torch, saved=saved, read_whole=whole, _views={}))

    @property
    def observed(self) -> bool:
        """Whether the probe saw all this, and not the static witness."""
        return self.run is not None

    @property
    def next(self) -> int:
        """The number that the next event gets."""
        return self.first + len(self.events) - self._kept

    def begin_as(self, other: Trace) -> None:
        """Begin with the events of another trace of the same witness; they keep their numbers, and ours come after a gap."""
        self.events, self.branches = list(other.events), list(other.branches)
        self.invented = set(other.invented)
        self._kept = len(self.events)
        self._by_type = {kind: list(events) for kind, events in other._by_type.items()}
        self._repeated = dict(other._repeated)

    def _place(self, number: int) -> int | None:
        """Where the event of a number stands; None for those of earlier runs."""
        place = number - self.first + self._kept
        if number < self.first:
            place = number - self.events[0].index if self._kept else -1
            return place if 0 <= place < self._kept else None
        return place if place < len(self.events) else None

    def add(self, event: E) -> E:
        """Append an event, with its number: a copy of one that was made without it, or that another trace has numbered."""
        if event.index != self.next:
            event = replace(event, index=self.next)
        self.events.append(event)
        self._by_type.setdefault(type(event), []).append(event)
        if self._views:
            self._views.clear()
        return event

    def repeat(self, event: E, *, guards: Guards, scope: Scope) -> E:
        """Append an event of another trace; from here on its number there means the one that is added here."""
        added = self.add(replace(event, guards=guards, scope=scope, index=self.next))
        self._repeated[event.index] = added.index
        return added

    def latest(self, event: E) -> E:
        """The event as it is by now; one of an earlier run stays as it is."""
        return next(self.at(event.index), event)  # type: ignore[return-value]  # what replaces an event is of its class

    def replace(self, event: E, **fields: Any) -> E:  # noqa: ANN401 - the fields of any event
        """Say more of an event: a copy with these fields takes its place, and is returned; see `latest`."""
        new = replace(self.latest(event), **fields)
        place = self._place(new.index)
        if place is not None:
            same = self._by_type[type(new)]
            same[bisect_left(same, new.index, key=_INDEX)] = new
            self.events[place] = new
            self._views.clear()
        return new

    def clear(self) -> None:
        """Forget all events, and keep the branches: values made before still refer to them."""
        self.first = self.next
        self._kept = 0
        self.events.clear()
        self._repeated.clear()
        self._by_type.clear()
        self._views.clear()

    def at(self, *numbers: int) -> Iterator[Event]:
        """The events of these numbers; those of earlier runs are left out."""
        for asked in numbers:
            place = self._place(self._repeated.get(asked, asked))
            if place is not None:
                yield self.events[place]

    def before(self, event: Event) -> list[Event]:
        """What happened before the event."""
        return self.events[: bisect_left(self.events, event.index, key=_INDEX)]

    def after(self, event: Event) -> list[Event]:
        """What happened after the event."""
        return self.events[bisect_right(self.events, event.index, key=_INDEX) :]

    def of(self, kind: type[E]) -> list[E]:
        """All events of one class, in order."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]  # the key is the class of the list's members

    def between(self, first: Event, last: Event, *kinds: type[E]) -> Iterator[E]:
        """The events of these classes strictly between two others, in order."""
        if any(kind.__subclasses__() for kind in kinds):
            begin = bisect_right(self.events, first.index, key=_INDEX)
            within = self.events[begin : bisect_left(self.events, last.index, key=_INDEX)]
            return (event for event in within if isinstance(event, kinds))
        found: list[E] = []
        for kind in kinds:
            events = self.of(kind)
            begin = bisect_right(events, first.index, key=_INDEX)
            found += events[begin : bisect_left(events, last.index, key=_INDEX)]
        return iter(found if len(kinds) == 1 else sorted(found, key=_INDEX))

    def view(self, kind: Callable[[Trace], V]) -> V:
        """What a class works out of this trace: made once for all rules that ask, and again once an event has changed."""
        found: V | None = self._views.get(kind)
        if found is None:
            found = self._views[kind] = kind(self)
        return found

    def names(self) -> Names:
        """What the objects of the events are called."""
        names = Names()
        for event in self.events:
            event.introduce(names)
        return names

    def together(self, first: Event, second: Event) -> bool:
        """Whether one path can contain both: no branch sends them into different arms."""
        guards = second.guards
        return not (guards and any((branch, not arm) in guards for branch, arm in first.guards))

    def implies(self, cause: Event, effect: Event) -> bool:
        """Whether `effect` happens on every path on which `cause` does."""
        return effect.guards <= cause.guards

    def periodic(self, event: Event) -> bool:
        """Whether the event happens only every k-th iteration."""
        return any(self.branches[branch].kind is BranchKind.PERIODIC for branch, _ in event.guards)

    def by_version(self, event: Event) -> bool:
        """Whether a test of a library's version decides about the event."""
        return any(self.branches[branch].kind is BranchKind.VERSION for branch, _ in event.guards)

    def by_mode(self, event: Event) -> bool:
        """Whether the mode of a module decides about the event, where nobody knows which it is."""
        return any(self.branches[branch].kind is BranchKind.MODE for branch, _ in event.guards)

    def condition(self, *sites: Site) -> str:
        """Return the setting without which nothing happens at one of these places, in words; "" if the defaults lead there."""
        words = dict.fromkeys(each.words for site in sites for each in self._needed(site))
        return self.setting or (f"with {' and '.join(words)}" if words else "")

    def arguments_for(self, *sites: Site) -> tuple[str, ...] | None:
        """Return the arguments of the command line that lead to all these places; None if they are not known."""
        if self.setting:
            return self.arguments
        given = dict.fromkeys(each.arguments for site in sites for each in self._needed(site))
        known = [each for each in given if each is not None]
        return tuple(word for each in known for word in each) if len(known) == len(given) else None

    def _needed(self, site: Site) -> list[Needs]:
        """The settings that lead to a place, one for each option, if it has one that says which value the option has."""
        if not any(branch.needs for branch in self.branches):
            return []
        guards = [event.guards for event in self.events if event.site == site]
        shared = frozenset[tuple[int, bool]].intersection(*guards) if guards else frozenset()
        needs = [
            each
            for number, arm in sorted(shared)
            if (each := self.branches[number].needs) is not None and each.arm is arm
        ]
        exact = {each.about for each in needs if each.exact}
        return [each for each in needs if each.exact or each.about not in exact]

    def asked(self, event: Event) -> bool:
        """Whether code out of sight decides about the event: it may have asked for whatever makes it right."""
        return any(self.branches[branch].kind is BranchKind.ASKED for branch, _ in event.guards)

    def common_loop(self, first: Event, second: Event) -> Scope | None:
        """The innermost loop that contains both events, as the iteration of `first`; None when there is none.

        Both lie in one iteration when `second` has the very same scope object among its iterations.
        """
        loops = {scope.loop for scope in second.scope.iterations()}
        for scope in reversed(first.scope.iterations()):
            if scope.loop in loops:
                return scope
        return None

    def same_iteration(self, first: Event, second: Event) -> bool:
        """Whether both lie in the same pass of the innermost loop that they share, or share no loop at all."""
        shared = self.common_loop(first, second)
        return shared is None or any(scope is shared for scope in second.scope.iterations())

    def went_on(self, event: Event) -> bool:
        """Whether all is seen that comes with an event: the run ended by itself, or began the loop's next pass."""
        if self.run is None or self.run.end.how in ("end", "exit"):
            return True
        for scope in event.scope.iterations()[-1:]:
            passes = (each for later in self.after(event) for each in later.scope.iterations())
            return any(each.loop == scope.loop and each is not scope for each in passes)
        return False

    def same_loop(self, first: Event, second: Event) -> bool:
        """Whether both lie innermost in the same loop of the script, in whichever of its runs; outside of all is one, too."""
        sites = [[scope.site for scope in event.scope.iterations()[-1:]] for event in (first, second)]
        return sites[0] == sites[1]

    def same_phase(self, first: Event, second: Event) -> bool:
        """Whether both lie in the same run of an outermost loop: what the script does between two such runs comes apart."""
        loops = [[scope.loop for scope in event.scope.iterations()[:1]] for event in (first, second)]
        return loops[0] == loops[1]
