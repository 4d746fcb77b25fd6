"""Draws the pictures of the README from real runs: `python tests/draw_screens.py`."""

from __future__ import annotations

import html
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
SCREENS_FOLDER = ROOT / "docs" / "screens"
WIDTH = 110
ROW, MARGIN = 24.4, 10  # what rich gives each line, and the space around them, in units of the picture
MARK = re.compile(r" *# TDR\d{3}$", re.MULTILINE)

SCREENS = {
    "finding": (["scan", "train.py"], FIXTURES / "TDR201" / "bad_two_files"),
    "verdict": (["scan", "train.py", "--probe"], FIXTURES / "TDR101" / "bad_cleared_once_per_epoch.py"),
}
"""What each picture shows: the arguments, and the folder or script that they are about."""

# The palettes of GitHub's own themes, which have enough contrast on their backgrounds.
LIGHT = TerminalTheme(
    (255, 255, 255),
    (31, 35, 40),
    [
        (36, 41, 47),
        (207, 34, 46),
        (17, 99, 41),
        (125, 78, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (87, 96, 106),
    ],
)
DARK = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (110, 118, 129),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
THEMES = {"light": LIGHT, "dark": DARK}
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} HEIGHT" role="img" aria-label="TITLE">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs>
{lines}
</defs>
<rect width="100%" height="100%" rx="8" fill="BACKGROUND"/>
<g transform="translate(10, 10)" class="{unique_id}-matrix">
{backgrounds}
{matrix}
</g>
</svg>
"""


def on_a_terminal(arguments: list[str], about: Path) -> str:
    """What a terminal of `WIDTH` columns shows, with its escape sequences.

    Raises:
        OSError: there is no terminal to be had.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(about.iterdir()) if about.is_dir() else [about]:
            name = file.name if about.is_dir() else "train.py"
            (Path(folder) / name).write_text(MARK.sub("", file.read_text(encoding="utf-8")), encoding="utf-8")
        ours, theirs = pty.openpty()
        environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "FORCE_HYPERLINK": "0"}
        with open(ours, "rb", buffering=0) as screen:  # noqa: PTH123 - a descriptor has no path
            command = [sys.executable, "-m", "torch_doctor", *arguments, "--isolated", "--quiet"]
            with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, env=environment) as process:
                os.close(theirs)
                shown = b""
                try:
                    while part := screen.read(65536):
                        shown += part
                except OSError:  # how Linux says that nobody writes any more
                    pass
                process.wait()
    return shown.decode().replace("\r\n", "\n").strip("\n")


def picture(name: str, theme: TerminalTheme) -> str:
    """A screen as SVG, below the command that gives it."""
    arguments, about = SCREENS[name]
    command = f"torch-doctor {' '.join(arguments)}"
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text(f"$ {command}", style="bold"))
    shown = Text.from_ansi(on_a_terminal(arguments, about))
    console.print(shown, soft_wrap=True)
    height = ROW * (len(shown.plain.splitlines()) + 1) + 2 * MARGIN
    drawn = console.export_svg(theme=theme, code_format=FORMAT, unique_id=name)
    background = "#{:02x}{:02x}{:02x}".format(*theme.background_color)
    return (
        drawn.replace("TITLE", html.escape(command)).replace("BACKGROUND", background).replace("HEIGHT", f"{height:g}")
    )


def main() -> None:
    """Write each picture for light and dark."""
    for name in SCREENS:
        for theme, colours in THEMES.items():
            (SCREENS_FOLDER / f"{name}-{theme}.svg").write_text(picture(name, colours), encoding="utf-8")


if __name__ == "__main__":
    main()
