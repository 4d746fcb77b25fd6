"""Draws the picture of a checkup in the README from a real run: `python tests/draw_report.py`; it takes Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "fixtures" / "whole" / "six_bugs.py"
FOLDER = ROOT / "docs" / "screens"
THEMES = {"light": 1, "dark": 0}
WIDTH, HEIGHT = 900, 1120
MARK = re.compile(r" *# (?:[a-z-]+ )*TDR\d{3}(?:[, ]+TDR\d{3})*$", re.MULTILINE)


def main() -> None:
    """Write the picture for light and dark."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("error: there is no Chromium to draw with")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(MARK.sub("", SCRIPT.read_text(encoding="utf-8")), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "torch_doctor",
            "checkup",
            "train.py",
            "--isolated",
            "--quiet",
            "--html",
            "report.html",
        ]
        subprocess.run(command, cwd=folder, check=False)
        page = Path(folder) / "report.html"
        for theme, setting in THEMES.items():
            shot = FOLDER / f"checkup-{theme}.png"
            usual = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
            ]
            size = [f"--window-size={WIDTH},{HEIGHT}", f"--blink-settings=preferredColorScheme={setting}"]
            subprocess.run(
                [chromium, *usual, *size, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True
            )


if __name__ == "__main__":
    main()
