"""The pictures of the README and of the site show what a terminal shows."""

from __future__ import annotations

import struct
from collections import defaultdict
from xml.etree import ElementTree as ET

import pytest
from rich.text import Text

from tests.draw_report import HEIGHT, WIDTH
from tests.draw_screens import ROOT, SCREENS, SCREENS_FOLDER, THEMES, on_a_terminal

LETTER = 12.2  # how wide rich draws a letter


def text_of(picture: str) -> list[str]:
    """The lines of a picture, each letter in its column."""
    lines: defaultdict[float, dict[int, str]] = defaultdict(dict)
    for part in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314 - our own
        first = round(float(part.attrib["x"]) / LETTER)
        for column, letter in enumerate((part.text or "").replace("\xa0", " "), start=first):
            lines[float(part.attrib["y"])][column] = letter
    rows = [lines[y] for y in sorted(lines)]
    return ["".join(row.get(column, " ") for column in range(max(row, default=-1) + 1)).rstrip() for row in rows]


@pytest.mark.parametrize("name", SCREENS)
def test_the_pictures_show_what_a_terminal_shows(name: str) -> None:
    arguments, about = SCREENS[name]
    shown = Text.from_ansi(on_a_terminal(arguments, about)).plain
    expected = [line.rstrip() for line in (f"$ torch-doctor {' '.join(arguments)}\n{shown}").splitlines()]
    for theme in THEMES:
        assert text_of((SCREENS_FOLDER / f"{name}-{theme}.svg").read_text(encoding="utf-8")) == expected


@pytest.mark.parametrize("name", SCREENS)
def test_no_line_of_a_picture_lies_outside_of_it(name: str) -> None:
    for theme in THEMES:
        picture = ET.fromstring((SCREENS_FOLDER / f"{name}-{theme}.svg").read_text(encoding="utf-8"))  # noqa: S314
        height = float(picture.attrib["viewBox"].split()[-1])
        lowest = max(float(part.attrib["y"]) for part in picture.iter("{http://www.w3.org/2000/svg}text"))
        assert lowest + 10 < height


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [*(f"{name}-{{}}.svg" for name in SCREENS), "checkup-{}.png"])
def test_each_picture_is_shown_by_the_readme_or_the_site(name: str, theme: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs/pages").glob("*.md")]
    assert any(f"screens/{name.format(theme)}" in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("theme", THEMES)
def test_the_picture_of_a_checkup_has_the_size_that_is_drawn(theme: str) -> None:
    content = (SCREENS_FOLDER / f"checkup-{theme}.png").read_bytes()
    assert struct.unpack(">8sI4sII", content[:24])[2:] == (b"IHDR", WIDTH, HEIGHT)
