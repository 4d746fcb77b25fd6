"""Rules of this team, one module each: every module of this package is looked at."""

from collections.abc import Iterator

from torch_doctor.rule import Rule, rules_in


def rules() -> Iterator[type[Rule]]:
    """Every rule class of this package; the entry point in pyproject.toml names this function."""
    return rules_in(__name__)
