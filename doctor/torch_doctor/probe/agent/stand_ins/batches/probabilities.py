"""What stand-ins return, where a loss takes it for probabilities."""

from __future__ import annotations

from typing import Any

from .parts import Part
from .trying import leaves
from .wanted import Wanted

PROBABILITIES = 2  # `high` of numbers between 0 and 1
OF_PROBABILITIES = frozenset({"binary_cross_entropy"})
"""Losses of numbers between 0 and 1."""


def bound(values: Any) -> bool:
    """Has what stand-ins have returned for these values be numbers between 0 and 1; whether there was any."""
    changed = False
    for each in leaves(values):
        node = each._node if type(each) is Wanted else None
        if isinstance(node, Part) and node.is_result and node.spec is not None and node.value.is_floating_point():
            node.know(node.spec._replace(high=PROBABILITIES), node.value.detach().sigmoid())
            changed = True
        elif node is not None and not isinstance(node, Part) and bound((node.arguments, node.keywords)):
            node.value = node.trial = None  # it is computed again
            changed = True
    return changed
