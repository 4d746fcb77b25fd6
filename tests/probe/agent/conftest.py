"""What tests of watchers and instruments need: runs of small scripts with instruments of their choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import MissingZeroGrad
from torch_doctor.probe import Names, Outcome, Request, probe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.records.records import Records


@pytest.fixture
def observe(write: Callable[..., Path], farm: None, records: Records) -> Callable[..., Outcome]:  # noqa: ARG001 - quick probes
    """Runs a script with these instruments."""

    def observed(script: str, *needs: str) -> Outcome:
        path = write("train.py", script)

        class Needy(MissingZeroGrad):
            pass

        Needy.needs = frozenset(needs)
        request = Request(script=path, root=path.parent, cwd=path.parent)
        done = probe(request, [Needy()], [], Names(lambda file: file.name, path.parent.joinpath, lambda site: site))
        assert done.ending == ""
        assert done.trace is not None
        assert done.trace.run is not None
        assert done.trace.run.notes == []
        return done

    return observed


@pytest.fixture
def seen(observe: Callable[..., Outcome]) -> Callable[..., list[Any]]:
    """The events of one class that an instrument writes of a script."""

    def events(script: str, kind: type[Any], *needs: str) -> list[Any]:
        trace = observe(script, *needs).trace
        assert trace is not None
        return trace.of(kind)

    return events
