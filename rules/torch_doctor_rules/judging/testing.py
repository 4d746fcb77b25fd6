"""Tests: what they run is neither training nor evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import ScopeKind

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Site


def in_a_test(event: Event) -> bool:
    """Whether a test does it: a function in a file of tests."""
    return is_test_file(event.site) and any(scope.kind is ScopeKind.CALL for scope in event.scope.chain())


def is_test_file(site: Site) -> bool:
    """Whether a file is named as pytest and unittest name those with tests."""
    file = site.path.replace("\\", "/").rpartition("/")[2]
    return file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py"
