"""Evidence of a run: the events at a site, and their measurements in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from torch_doctor.rule import Evidence, same_place
from torch_doctor.trace import claims

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_doctor.trace import Event, Site, Stepped, Trace

E = TypeVar("E", bound="Event")

UNITS = ("bytes", "kB", "MB", "GB", "TB")
THOUSAND = 1000


def at(trace: Trace, site: Site, kind: type[E]) -> list[E]:
    """Return the events of one class at a site, in order."""
    return [event for event in trace.of(kind) if same_place(site, event.site)]


def counted(trace: Trace, site: Site, claim: str) -> int:
    """Return how often something without an event of its own happened at a site."""
    found = [] if trace.run is None else trace.run.measurements(claim)
    return sum(int(each.value) for each in found if each.site is not None and same_place(site, each.site))


def number(trace: Trace, claim: str, *events: Event) -> float | None:
    """Return the last number measured for a claim about these events, None if there is none."""
    found = trace.run.measurements(claim, *(event.index for event in events)) if trace.run is not None else []
    values = [measured.value for measured in found if isinstance(measured.value, (int, float))]
    return values[-1] if values else None


def numbers(trace: Trace, claim: str, *events: E) -> Iterator[tuple[E, float]]:
    """Yield those of the events that have a measurement for a claim, with its value."""
    for event in events:
        value = number(trace, claim, event)
        if value is not None:
            yield event, value


def gradients_at(trace: Trace, steps: Sequence[Stepped], which: str) -> Iterator[Evidence]:
    """Yield how many parameters of the optimizer had a gradient at the first of these steps."""
    for step in steps[:1]:
        had, owned = number(trace, claims.STEPPED_PARAMETERS, step), number(trace, claims.OWNED_PARAMETERS, step)
        if had is not None and owned is not None:
            text = f"{had:,.0f} of {count(owned, 'parameter tensor')} have a gradient at {which}"
            yield fact(text, had, "parameter tensors", step)


def applied(trace: Trace, steps: Iterable[Stepped]) -> list[bool]:
    """Return, for each step that was measured, whether any of its parameters had a gradient."""
    return [had > 0 for _, had in numbers(trace, claims.STEPPED_PARAMETERS, *steps)]


def count(number: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 step`, `12,640 parameters`."""
    return f"{number:,.0f} {noun if number == 1 else plural or noun + 's'}"


def size(number: float) -> str:
    """Return a number of bytes in a readable unit: `6.2 MB`."""
    power = 0
    while number >= THOUSAND and power < len(UNITS) - 1:
        number /= THOUSAND
        power += 1
    return f"{number:.0f} {UNITS[0]}" if not power else f"{number:.1f} {UNITS[power]}"


def short(value: float) -> str:
    """Return a number in few digits."""
    return f"{value:.3g}" if abs(value) >= THOUSAND or 0 < abs(value) < 1 / THOUSAND else f"{value:.3f}"


def two(first: float, second: float) -> str:
    """Return two numbers that differ, in enough digits to show the difference."""
    texts = short(first), short(second)
    for digits in range(4, 17):
        if texts[0] != texts[1]:
            break
        texts = f"{first:.{digits}g}", f"{second:.{digits}g}"
    return " and ".join(texts)


def fact(claim: str, value: float | str | None = None, unit: str = "", event: Event | None = None) -> Evidence:
    """Return one line of evidence, at the site of an event."""
    return Evidence(claim, value, unit, None if event is None else event.site)
