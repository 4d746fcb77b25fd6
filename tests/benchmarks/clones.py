"""The repositories that are measured, where they are cloned, and the bars that they are held to."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from subprocess import PIPE
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Row(NamedTuple):
    """What is scanned: a part of a repository, or several of them side by side; `wanted` is its bar, for people."""

    clones: tuple[str, ...]
    wanted: str
    part: str = ""

    @property
    def name(self) -> str:
        """What the table calls it."""
        return " and ".join(clone.partition("+")[2] for clone in self.clones) + (self.part and f" {self.part}")


SCANNED = (
    "*.py",
    "*.ipynb",
    "*.toml",
    "*.cfg",
    "*requirements*.txt",
    "requirements/*.txt",
    "*.lock",
    "*.yml",
    "*.yaml",
)
"""What of a folder is copied: all that a scan reads."""
MANY = ("OpenNMT+OpenNMT-py", "allenai+OLMo", "KevinMusgrave+pytorch-metric-learning", "pytorch+torchtune")
ROWS = (
    Row(("pytorch+examples",), "2 ×"),
    Row(("vwxyzjn+cleanrl",), "2 ×"),
    Row(("OpenNMT+OpenNMT-py",), "4 ×"),
    Row(("thuml+Time-Series-Library",), "4 ×"),
    Row(("huggingface+pytorch-image-models",), "4 ×"),
    Row(("facebookresearch+detr",), "4 ×"),
    Row(("facebookresearch+fairseq",), "4 ×"),
    Row(("huggingface+peft",), "5 ×", "src"),
    Row(("huggingface+diffusers",), "6 ×", "examples"),
    Row(("huggingface+pytorch-image-models",), "1 s", "timm/models/hiera.py"),
    Row(("huggingface+peft",), "1 s", "src/peft/tuners/lora/layer.py"),
    Row(("huggingface+transformers",), "1 s", "src/transformers/trainer.py"),
    Row(MANY, "again 0.4 s, two processes 1.8 ×"),
)


def checked_out(clones: Path, scratch: Path) -> Iterator[tuple[Row, Path]]:
    """Yield the rows whose repositories are cloned, each with a folder that has their files.

    `clones` has bare clones or mirrors named owner+name; a mirror may keep its git directory one level below.
    """
    for row in ROWS:
        places = [_git_folder(clones / clone) for clone in row.clones]
        if not all(places):
            continue
        folder = scratch / "+".join(row.clones)
        for clone, place in zip(row.clones, places, strict=True):
            to = folder if len(places) == 1 else folder / clone
            if place is None or to.exists():
                continue
            to.mkdir(parents=True)
            with subprocess.Popen(["git", "-C", place, "archive", "HEAD", "--", *_read(place)], stdout=PIPE) as archive:
                subprocess.run(["tar", "-x", "-C", to], stdin=archive.stdout, check=True)
        if (folder / row.part).exists():
            yield row, folder


def _read(place: Path) -> list[str]:
    """The paths of what a scan reads: a mirror may lack the files of data beside them."""
    listed = subprocess.run(
        ["git", "-C", place, "ls-tree", "-r", "-z", "--name-only", "HEAD"], stdout=PIPE, check=True, text=True
    )
    return [path for path in listed.stdout.split("\0") if any(fnmatch(path, f"*{pattern}") for pattern in SCANNED)]


def _git_folder(clone: Path) -> Path | None:
    return next((place for place in (clone, clone / "repo", clone / ".git") if (place / "HEAD").is_file()), None)
