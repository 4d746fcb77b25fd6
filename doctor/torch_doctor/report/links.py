"""Where the pages of rules are on the web."""

from __future__ import annotations

SITE = "https://torch-doctor.github.io/torch-doctor/"
"""The address of the site, with a slash at its end."""
OWN = "TDR"


def url_of(code: str) -> str | None:
    """The address of a rule's page; None for a rule of another package, which has none there."""
    return f"{SITE}rules/{code}/" if code.startswith(OWN) else None
