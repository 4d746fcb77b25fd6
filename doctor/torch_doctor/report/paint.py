"""Colours for a terminal, or none."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.rule import Level

CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
LEVEL_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.ADVICE: "blue"}


class Paint(Struct, frozen=True):
    """Puts text into colours, where colours are wanted."""

    colours: bool = False
    links: bool = False  # the terminal may know links

    def __call__(self, text: str, *styles: str) -> str:
        """The text in the styles."""
        if not self.colours or not text:
            return text
        return f"\x1b[{';'.join(CODES[style] for style in styles)}m{text}\x1b[0m"

    def linked(self, text: str, url: str | None, *styles: str) -> str:
        """The text in the styles, which leads to an address where the terminal knows links."""
        painted = self(text, *styles)
        return f"\x1b]8;;{url}\x1b\\{painted}\x1b]8;;\x1b\\" if self.links and url else painted
