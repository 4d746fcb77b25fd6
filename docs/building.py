"""Building the site: hand-written pages, pages from the code, and the check of all links between them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin

import click

from docs.reference import reference, settings, symptoms
from docs.rule_pages import pages
from torch_doctor.report.links import SITE

HERE = Path(__file__).parent
PLACEHOLDER = re.compile(r"<!-- generated: (\w+) -->")
PARTS = {"settings": settings, "commands": reference, "symptoms": symptoms}
"""What a placeholder in a hand-written page is replaced with."""


def build(folder: Path) -> Path:
    """Write the configuration and all pages to `folder`, build the site in it, and return the folder of the site.

    Raises:
        RuntimeError: the builder reports a problem, or a link leads nowhere.
    """
    write(folder)
    configuration = str(folder / "mkdocs.yml")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", configuration]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603 - our own command
    problems = [click.unstyle(done.stdout)] if done.returncode else dead_links(folder / "site")
    if problems:
        raise RuntimeError("\n".join(problems))
    return folder / "site"


def write(folder: Path) -> None:
    """Write the configuration, the hand-written pages with their placeholders filled in, and the pages of the rules."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "pages", folder / "pages")
    shutil.copytree(HERE / "screens", folder / "pages/screens")
    shutil.copy(HERE / "mkdocs.yml", folder)
    for path in (folder / "pages").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(PLACEHOLDER.sub(lambda found: PARTS[found[1]](), text), encoding="utf-8")
    for name, text in pages():
        path = folder / "pages" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Page(HTMLParser):
    """The targets of links in a page, and the anchors that links may lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag links to, and its anchor."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in {"href", "src"} and value:
                self.links.add(value)


def dead_links(site: Path) -> list[str]:
    """Return a line for each link within a built site that leads to no file, or to no anchor of its page."""
    found = {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    dead = []
    for name, page in sorted(found.items()):
        for link in sorted(page.links):
            address, _, anchor = urljoin(SITE + name, link).partition("#")
            if not address.startswith(SITE):
                continue
            path = unquote(address.removeprefix(SITE))
            path += "index.html" * (not path or path.endswith("/"))
            if not (site / path).is_file():
                dead.append(f"{name}: {link} leads to no page")
            elif anchor and path in found and unquote(anchor) not in found[path].anchors:
                dead.append(f"{name}: {link} leads to no anchor")
    return dead
