"""What is frozen: under adapters, which are few weights beside others, and in the hands of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class AdapterTrained(Event, frozen=True, kw_only=True):
    """A loss went backward through something that has an adapter: few weights beside others that were there before.

    `site` is the adapter's construction, `own` its parts and `base` what it was put into, both by their owners. `own_trains` and
    `base_trains`: these require gradients, all or none of them; where the script said so last, all at once, is `since`.
    `off` says why the adapter computed nothing there: "disabled", "merged", "skipped" by its own forward, or "" where it did
    not; `off_at` is where that was asked for. `takers` are the optimizers that surely have all of both. `handed`: a trainer got
    the model, and trains it out of sight.
    For the probe, `own_moved` and `base_moved` of `own_tensors` and `base_tensors` were other ones after `steps` steps.
    """

    adapter: int
    class_name: str
    own: frozenset[int]
    base: frozenset[int]
    own_trains: Tri
    base_trains: Tri
    since: Site | None = None
    off: str = ""
    off_at: Site | None = None
    takers: frozenset[int] = NO_EVENTS
    handed: bool = False
    own_tensors: int = 0
    own_moved: int = 0
    base_tensors: int = 0
    base_moved: int = 0
    steps: int = 0

    def words(self, _: Names, /) -> str:
        fate = {True: "trains", False: "is frozen", None: "may train"}
        switched = [self.off] * bool(self.off)
        return (
            f"adapter {short(self.class_name)} {fate[self.own_trains]}, its base {fate[self.base_trains]}"
            f"{in_brackets(switched)}"
        )


class FrozenStepped(Event, frozen=True, kw_only=True):
    """An optimizer is about to step, and all that it has is frozen, and was in every pass; or it no longer is (`frozen` False).

    `since` is where the script said so last, None where it said it of some parts at a time. Only the static witness writes it.
    """

    optimizer: int
    frozen: bool
    since: Site | None = None

    def words(self, _: Names, /) -> str:
        return (
            "step an optimizer with only frozen parameters"
            if self.frozen
            else "step parameters that were frozen before"
        )


class FrozenNormsRan(Event, frozen=True, kw_only=True):
    """A module was called with batch norm in it that is in training mode, and frozen with the layers beside it.

    `site` is the call, `forward` its `Forward`. `parts` are all that was frozen with the batch norm at once, at `since`, by their
    owners. `thawed`: some of it requires gradients again later, or may. For the probe, the statistics of `changed` of `norms`
    were other ones after this call, and its parameters did not move in the run (else it writes nothing).
    """

    forward: int
    module: int
    parts: frozenset[int] = NO_EVENTS
    since: Site | None = None
    thawed: bool = False
    norms: int = 0
    changed: int = 0

    def words(self, _: Names, /) -> str:
        if self.thawed:
            return "frozen batch norm may be trained again"
        return "frozen batch norm updates its running statistics"


class FrozenMoved(Event, frozen=True, kw_only=True):
    """An optimizer steps parameters that are frozen, and have an old gradient; `site` is the step.

    `zeroed`: the gradients were filled with zeros, so that only momentum moves them. `since` is where the script froze them.
    `thawed` as above. For the probe, `moved` of `tensors` frozen ones with a gradient were other ones after `steps` steps.
    """

    optimizer: int
    zeroed: bool = False
    since: Site | None = None
    thawed: bool = False
    tensors: int = 0
    moved: int = 0
    steps: int = 0

    def words(self, _: Names, /) -> str:
        return (
            "frozen parameters may be trained again"
            if self.thawed
            else "step frozen parameters that have an old gradient"
        )
