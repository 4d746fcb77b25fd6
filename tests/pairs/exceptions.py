"""Pairs of bugs of which one scan does not tell both, each with its reason."""

from __future__ import annotations

from typing import Final

SAME_LINE: Final = "both need the same line, and one of them takes it away"

EXCEPTIONS: Final = {
    frozenset(("TDR401", "TDR403")): "without `eval()`, no mode has to be restored",
    frozenset(("TDR101", "TDR105")): "TDR101 is reported at `backward()`, which is not there",
    frozenset(("TDR503", "TDR105")): SAME_LINE,
    frozenset(("TDR115", "TDR105")): "a loss that never goes backward may be a number",
    frozenset(("TDR203", "TDR206")): SAME_LINE,
    frozenset(("TDR201", "TDR203")): "the catalogue has TDR203 before TDR201 where the loss is NLL",
    frozenset(("TDR202", "TDR203")): "log-probabilities are what NLL expects: each mends the other",
    frozenset(("TDR201", "TDR206")): "a softmax before a squared error is right",
    frozenset(("TDR202", "TDR206")): "a squared error applies no log-softmax a second time",
    frozenset(("TDR201", "TDR202")): SAME_LINE,
}
"""By the codes of both."""
