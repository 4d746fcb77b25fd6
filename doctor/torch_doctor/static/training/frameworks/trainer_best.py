"""The figure by which a trainer of transformers keeps its best model, and which way the script says that it gets better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.merits import Merits
from torch_doctor.static.training.frameworks import trainer_settings
from torch_doctor.static.values import Const, Mapping, Value
from torch_doctor.trace import HIGHER, LOWER, BestCompared

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_METRIC = "metric_for_best_model"
_DIRECTION = "greater_is_better"
_KEEPS = "load_best_model_at_end"


def chosen(run: Run, settings: Value | None, figures: Value | None) -> None:
    """Write which figures a trainer keeps the model of, and which are better; `figures` are those that the script computes.

    https://huggingface.co/docs/transformers/main_classes/trainer: it is the loss unless another one is named, and higher
    ones are better by default unless the name ends with "loss".
    """
    name, kept = _name(run, settings), _kept(run, settings)
    better = _better(run, name, figures) if name and kept else ""
    site = next(filter(None, (trainer_settings.place(run, settings, each) for each in (_DIRECTION, _METRIC))), None)
    if better and site is not None:
        by = _METRIC if trainer_settings.of(run, settings, _DIRECTION) is None else f"{_DIRECTION}={kept == HIGHER}"
        run.emit(BestCompared, site, kept=kept, name=name, by=by, at_once=True, better=better)


def _name(run: Run, settings: Value | None) -> str:
    """The figure by which the best model is chosen; "" where none is, or where that is not known."""
    given = trainer_settings.of(run, settings, _METRIC)
    if not trainer_settings.flag(run, settings, _KEEPS, default=False):
        return ""
    text = "loss" if given is None else given.value if isinstance(given, Const) else ""
    return text if isinstance(text, str) else ""


def _kept(run: Run, settings: Value | None) -> str:
    """Which figures are kept; "" where that is not known."""
    higher = trainer_settings.flag(run, settings, _DIRECTION, default=not _name(run, settings).endswith("loss"))
    return "" if higher is None else HIGHER if higher else LOWER


def _better(run: Run, name: str, figures: Value | None) -> str:
    """Which figures are better, by how this one is computed; "" where that is not known."""
    short = name.removeprefix("eval_")
    if short == "loss":
        return LOWER
    value = figures.fields.get(("key", short)) if isinstance(figures, Mapping) else None
    merit = run.ask(Merits, run.resolve(value)) if isinstance(value, Value) else None
    return merit.role if merit is not None and merit.figure else ""
