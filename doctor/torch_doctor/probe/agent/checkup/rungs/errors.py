"""Which rows are hardest after a little training, which classes are taken for each other, and do labels look swapped?"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from ..analysis import class_names
from ..mistakes import Mistakes, sheet
from ..sampling import SMALL, samples, validation
from ..stage import Skip
from ..telling import count, fact, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..analysis import Row, Rows
    from ..plays import Play, Seen
    from ..roles import Roles
    from ..stage import Stage

HARDEST = "loss of the hardest samples"
MOST_FACTS = 12
MOST_CLASSES = 20
FEW = 5  # rows of a class below which nothing is said of it
MOSTLY, RIGHT = 0.7, 0.8
CERTAIN = 0.9
"""The probability of a class from which a row is told as certain."""


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Looks at the rows as the model saw them after the training on the small subset."""
    yield from ()
    rows: Rows | None = stage.notes.get("rows")
    known: Roles | None = stage.notes.get("roles")
    if rows is None or known is None or not rows.found:
        if rows is None or known is None:
            raise Skip("small-subset did not run")
        raise Skip(
            "the loss cannot be split into samples" if rows.looked else "not enough time left after small-subset"
        )
    found = _chosen(stage, rows)
    wrong = _contradicted(stage, known)
    real = "values" not in stage.voided
    evidence, plots = found.facts(), []
    if found.worst:
        evidence += [fact(row.called, row.loss, group=HARDEST) for row in found.worst[:MOST_FACTS]]
        plots.append(sheet(stage, known, found))
    certain = [row for row in found.judged if row.answer.wrong and (row.answer.sure or 0.0) >= CERTAIN]
    if real and any(row.answer.sure is not None for row in found.judged):
        evidence.append(fact(f"wrong predictions with {CERTAIN:.0%} confidence or more", len(certain)))
    plots += found.by_classes()
    for facts, drawn in (found.by_confidence(), found.by_threshold()):
        evidence, plots = evidence + facts, plots + drawn
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
    told = found.told() if real else f"{found.told()}; the data is made up"
    return result("shown", f"after training on the small subset, {told}", evidence, plots)


def _chosen(stage: Stage, rows: Rows) -> Mistakes:
    """The rows that are held out, else those that are trained on."""
    other = validation(stage, samples(stage, 0.0))
    held_out = [row for row in rows.found if row.sample is other]
    own = held_out or [row for row in rows.found if row.sample is not other]
    why = "no validation loader was found" if len(stage.loaders) < 2 else "no validation sample was evaluated"
    return Mistakes(own, own[0].sample.name, "" if held_out else why)


def _matrix(name: str, own: list[Row], classes: int) -> dict[str, Any]:
    counts = Counter((row.label, row.guess) for row in own)
    table = [[float(counts[label, guess]) for guess in range(classes)] for label in range(classes)]
    wrong = [(many, pair) for pair, many in counts.items() if pair[0] != pair[1]]
    told, named = "no sample is misclassified", class_names(own[0].sample, classes)
    if wrong:
        many, (label, guess) = max(wrong)
        told = f"the most frequent confusion: {named(label)} is predicted as {named(guess)} {count(many, 'time')}"
    return plot(
        f"Confusion matrix of {name}",
        "matrix",
        told,
        x_label="prediction",
        y_label="label",
        names=list(map(named, range(classes))),
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
