"""The samples that a model answers worst: which they are, by classes, by confidence, and by threshold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .batches import is_dense
from .batches import rows as length
from .decoding import decoder, words_of
from .pictures import thumbnail
from .telling import LONGEST, count, fact, line, listed, number, plot

if TYPE_CHECKING:
    from .analysis import Row
    from .roles import Roles
    from .stage import Stage

MOST = 100
"""Mistakes that are shown."""
MOST_PAIRS, TOLD_PAIRS = 10, 3
FEW_COLUMNS = 64  # values of a row of a table that are shown
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Confidences from which on a bin goes to the next one."""
THRESHOLDS = 100


class Mistakes:
    """The rows of one loader: which are wrong, the worst first; all of them where no answer is right or wrong.

    `why` says why they are rows of training, empty where they are held out.
    """

    def __init__(self, own: list[Row], name: str, why: str) -> None:
        self.own = own
        self.name = name
        self.where = f"{name} (training data, as {why})" if why else name
        self.judged = [row for row in own if row.answer.wrong is not None]
        wrong = [row for row in self.judged if row.answer.wrong]
        ranked = sorted(wrong if self.judged else own, key=lambda row: -row.loss)
        self.wrong, self.worst = len(wrong), ranked[:MOST]
        self.pairs = Counter((row.answer.told, row.answer.answered) for row in wrong if row.label >= 0)

    def told(self) -> str:
        """What there is to say of them in a sentence."""
        what = "sample" if all(row.whole for row in self.own) else "value"
        if not self.judged:
            worst = self.worst[0]
            said = f"the worst of {count(len(self.own), what)} of {self.where} has a loss of {number(worst.loss)}"
            label = f"label {worst.answer.told}, predicted " if worst.answer.told else ""
            said += f": {label}{worst.answer.answered}" if worst.answer.answered else ""
            return said
        said = f"{self.wrong:,} of {count(len(self.judged), what)} of {self.where} {'is' if self.wrong == 1 else 'are'} wrong"
        often = [f"{label} → {answer} ({many:,})" for (label, answer), many in self.pairs.most_common(TOLD_PAIRS)]
        return f"{said}, most often {listed(often)}" if often else said

    def facts(self) -> list[dict[str, Any]]:
        """The numbers."""
        found = []
        if self.judged:
            found = [
                fact("samples evaluated", len(self.judged), group=self.where),
                fact("wrong predictions", self.wrong, group=self.where),
            ]
        group = f"wrong predictions of {self.name}, label → prediction"
        pairs = self.pairs.most_common(MOST_PAIRS)
        found += [fact(f"{label} → {answer}", many, group=group) for (label, answer), many in pairs]
        offs = [row.answer.off for row in self.own if row.answer.off is not None]
        if offs:
            found += [
                fact("mean absolute error", sum(offs) / len(offs), group=self.where),
                fact("largest absolute error", max(offs), group=self.where),
            ]
        return found

    def by_classes(self) -> list[dict[str, Any]]:
        """The pairs of classes that come most often, as bars."""
        pairs = self.pairs.most_common(MOST_PAIRS)
        if len(pairs) < 2:
            return []
        names = [f"{label} → {answer}" for (label, answer), _ in pairs]
        told = ", ".join(f"{name} {many:,}" for name, (_, many) in zip(names[:TOLD_PAIRS], pairs))
        bars = [line("samples", [float(many) for _, many in pairs])]
        title = f"Most frequent wrong predictions of {self.name}, label → prediction"
        return [plot(title, "bars", told, y_label="samples", names=names, series=bars)]

    def by_confidence(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """How many answers are right and wrong by how sure they are: facts, and bars."""
        own = [(row.answer.sure, bool(row.answer.wrong)) for row in self.judged if row.answer.sure is not None]
        if not own:
            return [], []
        ends = (*BINS[1:], 1.0)
        names = [f"{low:.0%} to {high:.0%}" for low, high in zip(BINS, ends)]
        kinds = Counter((sum(sure >= low for low in BINS) - 1, wrong) for sure, wrong in own)
        places = [place for place in range(len(BINS)) if kinds[place, True] + kinds[place, False]]
        group = f"predictions of {self.name} by confidence, wrong of all"
        facts = [
            fact(names[place], f"{kinds[place, True]:,} of {kinds[place, True] + kinds[place, False]:,}", group=group)
            for place in places
        ]
        series = [
            line(word, [float(kinds[place, wrong]) for place in places])
            for word, wrong in (("right", False), ("wrong", True))
        ]
        told = ", ".join(f"{each['label']}: {each['value']} wrong" for each in facts)
        shown = plot(
            f"Predictions of {self.name} by confidence",
            "bars",
            told,
            x_label="confidence (%)",
            y_label="samples",
            names=[names[place].replace("%", "").replace(" to ", "-") for place in places],
            series=series,
        )
        return facts, [shown]

    def by_threshold(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Precision, recall and F1 of class 1 over the thresholds: facts, and a curve; nothing where there are not two classes."""
        own = [(row.answer.chance, row.label) for row in self.judged if row.answer.chance is not None]
        positive = sum(label for _, label in own)
        if not own or not 0 < positive < len(own):
            return [], []
        thresholds = [place / THRESHOLDS for place in range(THRESHOLDS + 1)]
        curves: list[tuple[float | None, float, float]] = []
        for threshold in thresholds:
            taken = [label for chance, label in own if chance >= threshold]
            hits = sum(taken)
            curves.append((hits / len(taken) if taken else None, hits / positive, 2 * hits / (len(taken) + positive)))
        best = max(range(len(thresholds)), key=lambda place: (curves[place][2], -abs(thresholds[place] - 0.5)))
        group = f"threshold for class 1 of {self.name}"
        facts = [fact("samples of class 1", positive, group=group)]
        for place, label in ((THRESHOLDS // 2, "at 0.5"), (best, "at the threshold with the highest F1")):
            for name, value in zip(("precision", "recall", "F1"), curves[place]):
                facts.append(fact(f"{name} {label}", value, group=group))
        facts.insert(1, fact("threshold with the highest F1", thresholds[best], group=group))
        told = (
            f"F1 is highest at {number(thresholds[best])} ({number(curves[best][2])}) and {number(curves[50][2])} at 0.5,"
            f" with {positive:,} of {len(own):,} samples in class 1"
        )
        names = ("precision", "recall", "F1")
        series = [line(name, [each[place] for each in curves], thresholds) for place, name in enumerate(names)]
        marks = [{"label": "highest F1", "x": thresholds[best]}]
        shown = plot(
            f"Threshold for class 1 of {self.name}",
            "lines",
            told,
            x_label="threshold",
            y_label="score",
            series=series,
            marks=marks,
        )
        return facts, [shown]


def sheet(stage: Stage, known: Roles, found: Mistakes) -> dict[str, Any]:
    """The worst rows with their inputs, as a figure."""
    decode = decoder(stage, found.worst[0].sample)
    shown = [_shown(stage, known, row, decode) for row in found.worst]
    what = "wrong predictions" if found.judged else "samples with the highest loss" if found.own[0].whole else "values"
    loss = f"losses from {number(found.worst[0].loss)} to {number(found.worst[-1].loss)}"
    title = "Worst wrong predictions" if found.judged else "Hardest samples"
    told = f"{count(len(shown), what[:-1], what)}" if what.endswith("predictions") else f"the {len(shown)} {what}"
    return plot(title, "samples", f"{told} of {found.where}, {loss}", samples=shown)


def _shown(stage: Stage, known: Roles, row: Row, decode: Any) -> dict[str, Any]:
    """One of them."""
    made = row.answer
    plain = {
        "name": row.called,
        "label": made.told,
        "prediction": made.answered,
        "confidence": made.sure,
        "loss": row.loss,
    }
    if not row.whole:
        return {**plain, "text": "", "png": ""}
    batch = row.sample.batches[row.batch]
    paths = known.inputs or [path for path in row.sample.parts if path not in known.targets]
    words = words_of(batch, length(batch))
    parts = [(path, row.sample.row(path, row.batch, row.place)) for path in paths]
    values = [(path, each) for path, each in parts if each is not None and is_dense(each)]
    png = next((drawn for _, each in values if (drawn := thumbnail(stage.torch, each))), "")
    texts = [(path, _text(each, decode)) for path, each in values] if not png else []
    texts = [(path, text) for path, text in texts if text]
    text = texts[0][1] if len(texts) == 1 else "; ".join(f"{path}: {text}" for path, text in texts)
    return {**plain, "text": words[row.place] if words else text[:LONGEST], "png": png}


def _text(values: Any, decode: Any) -> str:
    """The values of one row of a table, or token ids as text."""
    flat = values.detach().reshape(-1)
    if values.is_complex():
        return ""
    if not values.is_floating_point() and "bool" not in str(values.dtype) and values.dim() == 1 and len(flat) > 1:
        return str(decode(flat.tolist()))
    if values.dim() > 1 or len(flat) > FEW_COLUMNS:
        return f"{' × '.join(map(str, values.shape))} values"
    return ", ".join(number(float(each)) for each in flat.tolist())
