"""Sinks that want numbers: what adds up or collects the very value it gets, and what makes a text of a tensor."""

from __future__ import annotations

from typing import Literal, TypeAlias

from torch_doctor.static.tables import words

Use: TypeAlias = Literal["keeps", "number"]

SINKS: dict[str, Use] = {
    # "value - Metric value (float)": https://mlflow.org/docs/latest/api_reference/python_api/mlflow.html
    **{
        f"{owner}.{name}": "number"
        for owner in ("mlflow", "mlflow.MlflowClient", "mlflow.tracking.MlflowClient", "mlflow.client.MlflowClient")
        for name in ("log_metric", "log_metrics")
    },
    # What is no `Number` is shown as `str()` of it: https://tqdm.github.io/docs/tqdm/#set_postfix
    "tqdm.tqdm.set_postfix": "number",
    # `self.sum += val * n`: https://github.com/huggingface/pytorch-image-models/blob/main/timm/utils/metrics.py
    "timm.utils.AverageMeter.update": "keeps",
    "timm.utils.metrics.AverageMeter.update": "keeps",
    # `self.sum += value`: https://tnt.readthedocs.io/en/stable/source/torchnet.meter.html
    "torchnet.meter.AverageValueMeter.add": "keeps",
    "torchnet.meter.averagevaluemeter.AverageValueMeter.add": "keeps",
    "torchnet.meter.MovingAverageValueMeter.add": "keeps",
    # `self._values[k][0] += v * value_base`: https://github.com/yueyericardo/pkbar
    "pkbar.Kbar.update": "keeps",
    "pkbar.Kbar.add": "keeps",
    # https://github.com/stared/livelossplot
    "livelossplot.PlotLosses.update": "keeps",
}
"""How each uses what it is given; every argument may be a value, or a dict or list of them."""

BARS = frozenset({"tqdm.tqdm", "tqdm.trange"})
"""What makes a progress bar that is also the iterable it goes through."""

BAR_METHODS = frozenset(
    words(
        "set_postfix set_postfix_str set_description set_description_str update close refresh clear reset display write"
    )
)
"""The methods of a progress bar, which leave what they are given alone."""
