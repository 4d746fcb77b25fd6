"""The page of a checkup, as a browser shows it."""

from __future__ import annotations

import html
import itertools
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib import image

from torch_doctor.checkup.outcome import RUNGS
from torch_doctor.checkup.telling.words import MEANINGS

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.checkup.outcome import Checkup

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
THEMES = {"light": 1, "dark": 0}
PHONE, DESKTOP = 360, 1100
ENOUGH = 4.5  # the contrast of text that WCAG's level AA asks for
MEASURE = """
<body style="margin:0"><iframe id="page" style="border:0;width:{width}px;height:4000px" srcdoc="{page}"></iframe>
<pre id="told"></pre><script>
const frame = document.getElementById('page');
frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement;
  const box = each => {{ const found = each.getBoundingClientRect(); return [found.width, found.height, found.right]; }};
  document.getElementById('told').textContent = JSON.stringify({{
    room: root.clientWidth, width: root.scrollWidth, title: page.title,
    drawn: [...page.querySelectorAll('figure > svg')].map(box),
    pictures: [...page.images].map(each => each.naturalWidth),
    loaded: frame.contentWindow.performance.getEntriesByType('resource').map(each => each.name),
    headings: [...page.querySelectorAll('h1,h2,h3')].map(each => Number(each.tagName[1])),
    scripts: page.scripts.length,
  }});
}};
</script></body>
"""

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


def browser(folder: Path, *arguments: str) -> str:
    assert CHROMIUM
    usual = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
    ]
    done = subprocess.run([CHROMIUM, *usual, *arguments], capture_output=True, text=True, check=True, timeout=90)
    return done.stdout


@in_a_browser
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_everything_is_shown_and_nothing_is_wider_than_the_screen(
    every_rungs_page: str, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "measure.html"
    file.write_text(MEASURE.format(width=width, page=html.escape(every_rungs_page)), encoding="utf-8")
    dom = browser(tmp_path, "--virtual-time-budget=5000", "--dump-dom", file.as_uri())
    found = re.search(r'<pre id="told">(.*?)</pre>', dom, flags=re.DOTALL)
    assert found
    told: dict[str, Any] = json.loads(html.unescape(found[1]))
    assert told["room"] == width
    assert told["width"] <= width
    assert len(told["drawn"]) > 2 * len(RUNGS)
    assert all(wide > width / 3 and high > width / 8 and right <= width for wide, high, right in told["drawn"])
    assert set(told["pictures"]) == {8}
    assert (told["loaded"], told["scripts"]) == ([], 0)
    assert told["title"].startswith("Checkup of <script>")
    assert told["headings"][0] == 1
    assert all(later - one <= 1 for one, later in itertools.pairwise(told["headings"]))


@in_a_browser
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_picture_of_it_is_light_or_dark_as_the_reader_wants(
    every_rungs_page: str, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(every_rungs_page, encoding="utf-8")
    brightness = {}
    for theme, setting in THEMES.items():
        shot = tmp_path / f"{theme}.png"
        size = f"--window-size={max(width, 500)},6000"  # a window is no narrower than that
        browser(
            tmp_path, f"--blink-settings=preferredColorScheme={setting}", size, f"--screenshot={shot}", file.as_uri()
        )
        points = image.imread(str(shot))[..., :3]
        assert all(float(part.std()) > 0.01 for part in (points[:1500], points[1500:3000], points[3000:4500]))
        brightness[theme] = float(points.mean())
    assert brightness["light"] > 0.8
    assert brightness["dark"] < 0.4


def test_nothing_of_the_scripts_text_is_markup(ordinarys_page: str) -> None:
    text = ordinarys_page
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"""(?:src|href)=["'](?!#|data:image/png;base64,|https://torch-doctor\.github\.io/)""", text)
    assert "default-src 'none'" in text


class Outline(HTMLParser):
    """What a page says of its figures, and which elements are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[str] = []
        self.alternatives: list[str | None] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "svg":
            self.labels.append(told.get("aria-label") or "")
        if tag == "img":
            self.alternatives.append(told.get("alt"))
        if tag == "section":
            self.ids.append(told.get("id") or "")


def test_every_figure_has_words_for_those_who_cannot_see_it(ordinarys_page: str) -> None:
    outline = Outline()
    outline.feed(ordinarys_page)
    assert outline.labels
    assert all(outline.labels)
    assert outline.alternatives
    assert all(outline.alternatives)
    assert [name for name in outline.ids if name in MEANINGS] == list(RUNGS)


def test_a_status_is_told_by_a_word_and_not_by_colour_alone(ordinary: Checkup, ordinarys_page: str) -> None:
    text = re.sub(r"\s+", " ", ordinarys_page)
    for one in ordinary.rungs:
        assert re.search(rf'href="#{one.name}"', text)
        assert re.search(rf'<section id="{one.name}".*?<span class="badge {one.status}">\S+ {one.status}</span>', text)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_and_curves_have_enough_contrast_in_every_theme(ordinarys_page: str) -> None:
    themes = re.findall(r":root \{(.*?)\}", ordinarys_page, flags=re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", theme))
        assert len(colours) == 15
        for name, colour in colours.items():
            if name not in {"paper", "card", "line"}:
                assert contrast(colour, colours["paper"]) >= ENOUGH, name
                assert contrast(colour, colours["card"]) >= ENOUGH, name


def test_what_failed_first_is_what_to_do_first(ordinarys_page: str) -> None:
    text = ordinarys_page
    steps = re.findall(r"<li><strong>(.*?)</strong>", text)
    assert steps == ["Simple baseline", "Terms of the loss", "Throughput", "Scan findings"]
    assert text.count("TDR201") == 0
