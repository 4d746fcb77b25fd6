"""Which rows are hardest after a little training, which classes are taken for each other, and do labels look swapped?"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from ..pictures import shown
from ..sampling import SMALL, samples
from ..stage import Skip
from ..telling import count, fact, number, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..analysis import Row, Rows
    from ..plays import Play, Seen
    from ..roles import Roles
    from ..stage import Stage

HARDEST = 12
MOST_CLASSES = 20
FEW = 5  # rows of a class below which nothing is said of it
MOSTLY, RIGHT = 0.7, 0.8
CERTAIN = 0.9
"""The probability of a class from which a row is told as certain."""


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Looks at the rows as the model saw them after two passes over the small subset."""
    yield from ()
    rows: Rows | None = stage.notes.get("rows")
    known: Roles | None = stage.notes.get("roles")
    if rows is None or known is None or not rows.found:
        if rows is None or known is None:
            raise Skip("small-subset did not run")
        raise Skip(
            "the loss cannot be split into samples" if rows.looked else "not enough time left after small-subset"
        )
    hardest = sorted(rows.found, key=lambda row: -row.loss)[:HARDEST]
    evidence = [fact(row.called, row.loss, group="loss of the hardest samples") for row in hardest]
    plots, wrong = [], _contradicted(stage, known)
    texts = [f"{row.called}: loss {number(row.loss)}{_guess(row)}" for row in hardest]
    plots.append(plot("Hardest samples", "texts", f"{count(len(texts), 'sample')} with the highest loss", texts=texts))
    plots += _pictures(stage, known, hardest, "Hardest samples")
    what = "sample" if all(row.whole for row in rows.found) else "value"
    told = f"the hardest of {count(len(rows.found), what)} has a loss of {number(hardest[0].loss)}"
    certain = [row for row in rows.found if row.label >= 0 and row.label != row.guess and row.sure >= CERTAIN]
    real = "values" not in stage.voided
    if real and any(row.label >= 0 for row in rows.found):
        evidence.append(fact(f"wrong predictions with {CERTAIN:.0%} confidence or more", len(certain)))
    if real and certain:
        certain.sort(key=lambda row: -row.sure)
        texts = [f"{row.called}{_guess(row)}" for row in certain[:HARDEST]]
        alternative = f"{count(len(certain), 'sample')} misclassified with {CERTAIN:.0%} confidence or more"
        plots.append(plot("Wrong and confident", "texts", alternative, texts=texts))
        plots += _pictures(stage, known, certain[:HARDEST], "Wrong and confident")
    if 1 < rows.classes <= MOST_CLASSES and any(row.label >= 0 for row in rows.found):
        for name in rows.names:
            own = [row for row in rows.found if row.sample.name == name and row.label >= 0]
            if own:
                right = sum(row.label == row.guess for row in own) / len(own)
                evidence.append(fact("accuracy after the small subset", right, group=name))
                plots.append(_matrix(name, own, rows.classes))
        wrong += _swapped(rows)
    if wrong and real:
        then = "check how the labels are created: the order of classes, their source file, duplicate samples"
        return result("failed", "; ".join(wrong), evidence, plots, then=then, about=("labels",))
    return result("shown", told, evidence, plots)


def _guess(row: Row) -> str:
    return f", label {row.label}, predicted {row.guess} with {row.sure:.0%}" if row.label >= 0 else ""


def _pictures(stage: Stage, known: Roles, rows: list[Row], title: str) -> list[dict[str, Any]]:
    """The inputs of some rows, as one can look at them."""
    plots = []
    for path in known.inputs:
        held = [(row, row.sample.row(path, row.batch, row.place)) for row in rows if row.whole]
        shape = next((each.shape for _, each in held if each is not None), None)
        alike = [(row, each) for row, each in held if each is not None and each.shape == shape]
        if not alike:
            continue
        captions = [f"{row.called}: {number(row.loss)}{_guess(row)}" for row, _ in alike]
        figure = shown(stage.torch, path, stage.torch.stack([each for _, each in alike]), captions)
        if figure is not None:
            plots.append({**figure, "title": f"{title}: {figure['title']}"})
    return plots


def _matrix(name: str, own: list[Row], classes: int) -> dict[str, Any]:
    counts = Counter((row.label, row.guess) for row in own)
    table = [[float(counts[label, guess]) for guess in range(classes)] for label in range(classes)]
    wrong = [(many, pair) for pair, many in counts.items() if pair[0] != pair[1]]
    told = "no sample is misclassified"
    if wrong:
        many, (label, guess) = max(wrong)
        told = f"the most frequent confusion: {label} is predicted as {guess} {count(many, 'time')}"
    return plot(
        f"Confusion matrix of {name}",
        "matrix",
        told,
        x_label="prediction",
        y_label="label",
        names=[str(each) for each in range(classes)],
        rows=table,
    )


def _swapped(rows: Rows) -> list[str]:
    """Classes that training tells apart and that change places in what is evaluated on."""
    if len(rows.names) < 2:
        return []
    shares: dict[str, dict[int, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for row in rows.found:
        if row.label >= 0:
            shares[row.sample.name][row.label][row.guess] += 1
    training, other = shares[rows.names[0]], shares[rows.names[1]]
    wrong = []
    for one in range(rows.classes):
        for two in range(one + 1, rows.classes):
            told = all(_share(training, each, each) >= RIGHT for each in (one, two))
            if told and _share(other, one, two) >= MOSTLY and _share(other, two, one) >= MOSTLY:
                wrong.append(
                    f"the labels {one} and {two} of {rows.names[1]} look swapped: each is predicted as the other"
                )
    return wrong


def _share(counts: dict[int, Counter[int]], label: int, guess: int) -> float:
    many = sum(counts[label].values())
    return counts[label][guess] / many if many >= FEW else 0.0


def _contradicted(stage: Stage, known: Roles) -> list[str]:
    """Rows with the same input and different labels; of inputs of whole numbers that is nothing out of the ordinary."""
    found = samples(stage, stage.left * 0.3)
    if not found or found[0].loader is None or known.task != "classes" or not known.inputs or not known.targets:
        return []
    training = found[0]
    first = training.parts.get(known.inputs[0], [None])[0]
    if first is None or not first.dim() or first[0].numel() < SMALL:
        return []
    if not first.is_floating_point() or bool((first == first.round()).all()):
        return []
    labels: dict[str, set[str]] = defaultdict(set)
    for row, target in zip(training.hashes(known.inputs), training.hashes(known.targets)):
        labels[row].add(target)
    several = sum(len(each) > 1 for each in labels.values())
    if several < 2:
        return []
    return [f"{count(several, 'input')} of {training.name} occur several times with different labels"]
