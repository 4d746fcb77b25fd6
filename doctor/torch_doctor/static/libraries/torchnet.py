"""torchnet: meters and loops."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library

LIBRARY = Library(
    harmless=("torchnet.meter",),
    # `self.sum += value`: https://tnt.readthedocs.io/en/stable/source/torchnet.meter.html
    sinks={
        "torchnet.meter.AverageValueMeter.add": "keeps",
        "torchnet.meter.averagevaluemeter.AverageValueMeter.add": "keeps",
        "torchnet.meter.MovingAverageValueMeter.add": "keeps",
    },
)
