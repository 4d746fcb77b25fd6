"""tqdm: progress bars (https://tqdm.github.io)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, PassThrough
from torch_doctor.static.tables import words

LIBRARY = Library(
    aliases={
        **{
            f"tqdm.{module}.tqdm": "tqdm.tqdm"
            for module in words("auto std notebook autonotebook rich asyncio _tqdm gui")
        },
        **{f"tqdm.{module}.trange": "tqdm.trange" for module in words("auto std notebook autonotebook rich")},
        "tqdm.tqdm_notebook": "tqdm.tqdm",
        "tqdm.tqdm_gui": "tqdm.tqdm",
        "tqdm.tnrange": "tqdm.trange",
    },
    harmless=("tqdm",),
    passes={
        "tqdm.tqdm": PassThrough(0),
        "tqdm.contrib.tenumerate": PassThrough(0, "enumerate"),
        "tqdm.contrib.tzip": PassThrough(0, "zip"),
    },
    ranges=("tqdm.trange",),
    # What is no `Number` is shown as `str()` of it: https://tqdm.github.io/docs/tqdm/#set_postfix
    sinks={"tqdm.tqdm.set_postfix": "number"},
    bars=("tqdm.tqdm", "tqdm.trange"),
)
