"""The declarations of frameworks agree with each other and with how names are spelt."""

from __future__ import annotations

import inspect
import multiprocessing
import threading
from typing import TYPE_CHECKING

import pytest
import torch.multiprocessing as workers

from torch_doctor.static.libraries.accelerate import ACCELERATE
from torch_doctor.static.libraries.deepspeed import DEEPSPEED
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.frameworks import (
    ENGINE_EVALUATORS,
    ENGINE_TRAINERS,
    FACTORIES,
    FRAMEWORKS,
    MODULE_BASES,
    OWNERS,
)
from torch_doctor.static.tables.launchers import LAUNCHERS

if TYPE_CHECKING:
    from torch_doctor.static.tables.framework import Framework


@pytest.mark.parametrize("name", sorted({*MODULE_BASES, *OWNERS, *FACTORIES, *LAUNCHERS}))
def test_every_name_is_canonical(name: str) -> None:
    assert canonical(name) == name


def test_no_name_belongs_to_two_frameworks() -> None:
    owners = [name for framework in FRAMEWORKS for name in framework.owners]
    assert len(owners) == len(set(owners))
    bases = [name for framework in FRAMEWORKS for name in framework.module_bases]
    assert len(bases) == len(set(bases))


def test_every_factory_makes_a_known_owner() -> None:
    assert set(FACTORIES.values()) <= OWNERS.keys()
    assert {name for name in FACTORIES if name.startswith("ignite.")} == ENGINE_TRAINERS | ENGINE_EVALUATORS


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_hooks_are_of_one_sort(framework: Framework) -> None:
    assert not framework.training_hooks & framework.evaluation_hooks
    assert not framework.hooks & (framework.training_hooks | framework.evaluation_hooks)


def test_who_steps_clears_or_runs_backward() -> None:
    assert ACCELERATE.methods["backward"].acts == ("backward",)
    assert ACCELERATE.methods["prepare"].returns == "arguments"
    assert DEEPSPEED.methods["step"].acts == ("step", "scheduler", "clear")
    assert all("loop" in framework.methods["fit"].acts for framework in FRAMEWORKS if "fit" in framework.methods)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("torch.multiprocessing.spawn", vars(workers)["spawn"]),
        ("torch.multiprocessing.start_processes", vars(workers)["start_processes"]),
        ("torch.multiprocessing.Process", workers.Process),
        ("multiprocessing.Process", multiprocessing.Process),
        ("threading.Thread", threading.Thread),
    ],
)
def test_where_launchers_have_their_function(name: str, call: object) -> None:
    assert callable(call)
    parameters = list(inspect.signature(call).parameters)
    launcher = LAUNCHERS[name]
    assert launcher.function is not None
    assert launcher.args is not None
    assert parameters[launcher.function] == launcher.name
    assert parameters[launcher.args] == launcher.args_name
