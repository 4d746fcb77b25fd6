"""Some samples with their labels, for somebody who checks whether they belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .pictures import is_image, pictured
from .telling import count, number, plot

if TYPE_CHECKING:
    from .analysis import Row, Rows
    from .roles import Roles
    from .stage import Stage

MOST = 12
VALUES = 6  # values of a sample that are written


def labelled(stage: Stage, known: Roles, rows: Rows) -> list[dict[str, Any]]:
    """Figures of the first training samples: their inputs as pictures or as values, each with its label."""
    own = [row for row in rows.found if row.whole and row.label >= 0 and row.sample.name == rows.names[0]][:MOST]
    if not own or not known.inputs:
        return []
    path = known.inputs[0]
    held = [(row, row.sample.row(path, row.batch, row.place)) for row in own]
    alike = (
        [(row, each) for row, each in held if each is not None and each.shape == held[0][1].shape]
        if held[0][1] is not None
        else []
    )
    if not alike:
        return []
    captions = [f"{row.called}: label {row.label}" for row, _ in alike]
    stacked = stage.torch.stack([each for _, each in alike])
    title = "Samples and their labels"
    if is_image(stacked):
        figure = pictured(stage.torch, path, stacked, captions)
        return [] if figure is None else [{**figure, "title": title, "beside": ""}]
    texts = [_written(row, each) for row, each in alike]
    return [plot(title, "texts", f"{count(len(texts), 'training sample')} with their labels", texts=texts)]


def _written(row: Row, sample: Any) -> str:
    values = sample.detach().reshape(-1)[: VALUES + 1].tolist()
    said = ", ".join(number(round(float(each), 4)) for each in values[:VALUES])
    return f"{row.called}: label {row.label}, input {said}{', …' * (len(values) > VALUES)}"
