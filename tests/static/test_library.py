"""Handlers of library calls: who is asked first, and that no two claim a name."""

from __future__ import annotations

import importlib
import pkgutil

from torch_doctor.static import library, tables
from torch_doctor.static.library import Stage

SHARED = (Stage.NOTE, Stage.ANY)
"""Stages in which several handlers may know a name, because none of them decides alone what the call returns."""


def names_in_tables() -> set[str]:
    """Every dotted name that a table of names holds."""
    found: set[str] = set()
    for module in pkgutil.iter_modules(tables.__path__):
        for table in vars(importlib.import_module(f"{tables.__name__}.{module.name}")).values():
            if isinstance(table, (dict, frozenset, tuple)):
                found.update(name for name in table if isinstance(name, str) and "." in name and " " not in name)
    return found


def test_no_two_handlers_of_a_stage_know_the_same_name() -> None:
    claimed = {
        name: [stage for stage, _ in library.handlers_of(name) if stage not in SHARED] for name in names_in_tables()
    }
    assert {name: stages for name, stages in claimed.items() if len(stages) != len(set(stages))} == {}


def test_handlers_are_asked_in_the_order_of_their_stages() -> None:
    stages = [stage for stage, _ in library.handlers_of("torch.utils.data.random_split")]
    assert stages == sorted(stages)
    assert list(dict.fromkeys(stages)) == [Stage.NOTE, Stage.TABLE, Stage.ANY, Stage.PACKAGE]


def test_one_name_goes_before_the_table_that_has_it_too() -> None:
    (_, first), (_, second), *_ = library.handlers_of("torch.device")
    assert [first.__module__, second.__module__] == [
        "torch_doctor.static.training.device.devices",
        "torch_doctor.static.training.computing.torch_functions",
    ]


def test_a_name_that_nobody_models_is_only_asked_what_holds_for_any_name() -> None:
    assert {stage for stage, _ in library.handlers_of("somebodys.function")} == {Stage.ANY}
