"""Progress bars, tqdm apart, and others that give the items of what they are given."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, PassThrough
from torch_doctor.static.tables import words

LIBRARY = Library(
    harmless=words("rich fastprogress alive_progress progressbar halo"),
    passes={
        # https://rich.readthedocs.io/en/stable/progress.html
        "rich.progress.track": PassThrough(0),
        # https://fastprogress.fast.ai
        "fastprogress.progress_bar": PassThrough(0),
        "fastprogress.master_bar": PassThrough(0),
        "fastprogress.fastprogress.progress_bar": PassThrough(0),
        "fastprogress.fastprogress.master_bar": PassThrough(0),
        "alive_progress.alive_it": PassThrough(0),
        "progressbar.progressbar": PassThrough(0),
        "more_itertools.peekable": PassThrough(0),
    },
)
