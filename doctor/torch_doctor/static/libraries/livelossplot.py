"""livelossplot: plots of a training that runs (https://github.com/stared/livelossplot)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library

LIBRARY = Library(harmless=("livelossplot",), sinks={"livelossplot.PlotLosses.update": "keeps"})
