"""Data sets of sound, with rows that are made up."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .waves import RATE, load

WORDS = (
    "backward bed bird cat dog down eight five follow forward four go happy house learn left marvin nine no off on one right "
    "seven sheila six stop three tree two up visual wow yes zero"
).split()
GENRES = "blues classical country disco hiphop jazz metal pop reggae rock".split()
PARTS = {"validation": 0.1, "valid": 0.1, "testing": 0.1, "test": 0.1}


class Rows(NamedTuple):
    """How many rows a data set has, and what a row is beside the wave."""

    number: int
    kind: str


KNOWN = {
    "SPEECHCOMMANDS": Rows(105_829, "command"),
    "YESNO": Rows(60, "answers"),
    "GTZAN": Rows(1_000, "genre"),
    "LIBRISPEECH": Rows(28_539, "sentence"),
    "LJSPEECH": Rows(13_100, "reading"),
    "VCTK_092": Rows(44_070, "sentence"),
    "COMMONVOICE": Rows(10_000, "sentence"),
}


class Sounds(torch.utils.data.Dataset[Any]):
    """One of them."""

    rows = Rows(1_000, "sentence")

    def __init__(self, root: Any = None, url: str = "", *_: Any, subset: Any = None, **__: Any) -> None:
        self.root, self.url, self.subset = root, url, subset
        self._count = int(self.rows.number * PARTS.get(str(subset), 1.0))
        self._path, self._walker = str(root), _Names(self._count)

    def __len__(self) -> int:
        return len(self._walker)

    def __getitem__(self, n: int) -> Any:
        if not 0 <= n < len(self):
            raise IndexError(n)
        wave, _ = load(f"{n}")
        return (wave, RATE, *_beside(self.rows.kind, n))


class _Names(list[str]):
    """The names of its files."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{WORDS[place % len(WORDS)]}/{place:08d}_nohash_0.wav" for place in range(count))


def _beside(kind: str, n: int) -> tuple[Any, ...]:
    if kind == "command":
        return WORDS[n % len(WORDS)], f"{n:08x}", 0
    if kind == "answers":
        return ([(n >> place) & 1 for place in range(8)],)
    if kind == "genre":
        return (GENRES[n % len(GENRES)],)
    words = " ".join(WORDS[(n + place) % len(WORDS)] for place in range(6))
    return (words, words) if kind == "reading" else (words.upper(), n % 50, n % 500, n)


def by_name(tell: Any) -> dict[str, type]:
    """All of them."""

    def told(name: str) -> Any:
        def build(self: Any, *arguments: Any, **keywords: Any) -> None:
            tell(f"torchaudio.datasets.{name}", "one-second synthetic waveforms")
            Sounds.__init__(self, *arguments, **keywords)

        return build

    return {
        name: type(name, (Sounds,), {"rows": rows, "__init__": told(name), "__module__": "torchaudio.datasets"})
        for name, rows in KNOWN.items()
    }
