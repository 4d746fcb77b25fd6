"""pkbar: progress bars as Keras has them (https://github.com/yueyericardo/pkbar)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library

LIBRARY = Library(
    harmless=("pkbar",),
    sinks={"pkbar.Kbar.update": "keeps", "pkbar.Kbar.add": "keeps"},  # `self._values[k][0] += v * value_base`
)
