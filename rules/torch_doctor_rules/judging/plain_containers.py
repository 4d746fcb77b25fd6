"""Plain containers that hide layers or parameters from the module that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Register
from torch_doctor.rule import Evidence, Finding, Step
from torch_doctor.trace import OptimizerBuilt, Trace, Unregistered
from torch_doctor_rules.judging.evidence import at, count, fact, number
from torch_doctor_rules.judging.sites import first_per_site

EMPTY = "empty parameter list"  # what torch says of an optimizer without parameters

if TYPE_CHECKING:
    from collections.abc import Iterator


def hidden(trace: Trace, *, parameters: bool) -> Iterator[Unregistered]:
    """The containers whose layers, or bare parameters, no module knows of."""
    yield from first_per_site(
        held
        for held in trace.of(Unregistered)
        if held.parameters is parameters
        and held.members
        and not held.registered
        and not held.passed_in
        and held.trainable is not False
        and not _has_an_optimizer(trace, held)
    )


def _has_an_optimizer(trace: Trace, held: Unregistered) -> bool:
    """Whether it is a list of one that an optimizer trains: it was hidden on purpose, as the adversary of a model is."""
    return len(held.members) == 1 and any(held.members[0] in built.modules for built in trace.of(OptimizerBuilt))


def registered(trace: Trace, held: Unregistered, kind: str) -> list[Register]:
    """The container as one of torch's, unless that does not take what is in it, in whatever object is made there."""
    fits = {other.fits for other in trace.of(Unregistered) if other.site == held.site}
    return [] if False in fits else [Register(held.site, kind, named=fits == {True})]


def attribute(held: Unregistered) -> str:
    """The container as the owner's methods call it."""
    return held.name if held.name.startswith("self.") else f"self.{held.name}"


def filling(held: Unregistered, what: str) -> Iterator[Step]:
    """Where the container gets its members."""
    yield Step(held.site, f"`{attribute(held)}` of `{held.owner_class}` is a plain {held.container}")
    for site in held.filled_at:
        yield Step(site, f"{what} are added to it here")


def reached(trace: Trace, finding: Finding) -> bool | str:
    """Whether the container was filled, and what is in it belongs to a module after all, or has nothing to train."""
    found = at(trace, finding.site, Unregistered)
    if any(not held.registered and held.trainable is not False for held in found):
        return "its contents were passed in from outside, possibly to keep them unregistered"
    return bool(found)


def missing(trace: Trace, finding: Finding) -> Iterator[Evidence]:
    """How much of the model is in the container and nowhere else."""
    for held in at(trace, finding.site, Unregistered)[:1]:
        noun = "parameter" if held.parameters else "layer"
        layers, among = number(trace, "hidden layers", held), number(trace, "all layers", held)
        elements = number(trace, "hidden parameters", held)
        if layers and among:
            said = f"{layers:,.0f} of {count(among, 'layer')}"
            size = f", {count(elements, 'parameter')}," if elements else ""
            yield fact(f"{said}{size} are in no parameter group", layers, "layers", held)
        elif elements:
            yield fact(f"{count(elements, 'parameter')} are in no parameter group", elements, "parameters", held)
        else:
            inside, some = len(held.members), "another module" if held.registered else "no module"
            yield fact(f"it holds {count(inside, noun)}, registered in {some}", inside, f"{noun}s", held)
        if trace.run is not None and EMPTY in trace.run.end.exception:
            yield Evidence(f"the optimizer gets none of them: {trace.run.end.exception}")
