"""Events are what their classes say, and say themselves in words."""

from __future__ import annotations

import pytest

from tests.trace.events import made
from torch_doctor import trace as t
from torch_doctor.trace.events.names import Names

INDENTED = (t.CallExited, t.LoopExited)  # they show in the indentation
every_kind = pytest.mark.parametrize("kind", t.EVENTS.values(), ids=t.EVENTS)


def test_the_vocabulary_is_all_classes_of_events() -> None:
    assert t.EVENTS.keys() >= {"Backward", "Stepped", "DatasetBuilt", "ParameterSeen"}
    assert t.EVENTS["Backward"] is t.Backward
    assert "Event" not in t.EVENTS


@every_kind
def test_every_event_says_itself_in_one_line(kind: type[t.Event]) -> None:
    said = made(kind).words(Names())
    assert said
    assert "\n" not in said
    assert (said == kind.__name__) is (kind in INDENTED)


@every_kind
def test_every_event_says_what_it_means(kind: type[t.Event]) -> None:
    assert kind.__doc__


def test_objects_go_by_their_own_names_or_else_by_their_classes() -> None:
    names = Names()
    names.built(1, "torch.nn.Linear")
    assert names.things([1]) == "Linear"
    names.spelled(1, "model", made(t.Backward).scope)
    names.spelled(1, "make(model)", made(t.Backward).scope)
    assert names.things([1, 2]) == "`model`"
    assert names.things([2]) == "something"
    assert names.things([1], whole=False) == "`model`, maybe others"
    assert names.things([], whole=False) == "something unresolved"
    assert names.things([]) == "nothing known"
