"""Where torch is imported once for all probes of a test session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.probe.farm import farm as farming

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def farm_address() -> Iterator[str]:
    """Where the farm listens that all tests of this session share."""
    with farming.farm() as address:
        yield address


@pytest.fixture
def farm(farm_address: str) -> Iterator[None]:
    """Every probe of the test is forked from a process with torch in it, instead of importing torch anew."""
    farming.use(farm_address)
    yield
    farming.use("")
