"""The labels of training and validation: how often each comes, in which order, and whether both have the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .analysis import class_names
from .batches import is_dense, rows
from .sampling import MANY_CLASSES, held_out, is_chosen, is_drawn
from .shift import SHARES, SIGNIFICANT, chance, fisher
from .telling import count, fact, line, listed, number, plot

if TYPE_CHECKING:
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage
    from .telling import Faults

FEW_BATCHES, SORTED_ROWS = 4, 32
EXPECTED = 20.0  # rows with a label, of those that were drawn, without which nothing is said of none
MOST_VALUES = 32  # classes of points, as of a segmentation, that are counted
TOLD = 4  # labels whose counts fit into a sentence
PARTLY = ", but only the first batches were checked, in the order of the loader"
EVEN = 0.1
"""Part of an equal share by which shares may differ in a set that is balanced on purpose."""


class Labels:
    """The labels of a part of a sample.

    `counts` has how often each comes among `total`. `batches` are those of each batch, empty where a sample has no single
    label: `several` tells that it may have more than one (multi-hot), `points` that its points have one each.
    """

    def __init__(self, sample: Sample, path: str, known: Roles) -> None:
        self.batches: list[list[int]] = numbered(sample, path, known)
        self.counts = Counter(label for batch in self.batches for label in batch)
        self.total = self.counts.total()
        self.several = self.points = False
        own = [each for each in sample.parts.get(path, ()) if each.numel() and each.dim() and is_dense(each)]
        if self.batches or not own:
            return
        if known.task == "binary" and own[0].dim() == 2 and all(map(_is_hot, own)):
            self.several, self.total = True, sum(each.shape[0] for each in own)
            for each in own:
                self.counts.update({place: int(many) for place, many in enumerate(each.sum(0).tolist())})
        elif known.task == "classes" and not own[0].is_floating_point() and known.classes <= MOST_VALUES:
            self.points = True
            for each in own:
                values, many = each.reshape(-1).unique(return_counts=True)
                self.counts.update(dict(zip(map(int, values.tolist()), map(int, many.tolist()))))
            self.total = self.counts.total()

    @property
    def known(self) -> bool:
        """Whether there are labels, and no more kinds of them than can be counted."""
        return 0 < len(self.counts) <= MANY_CLASSES

    @property
    def even(self) -> bool:
        """Whether all labels come equally often, as they do where somebody balanced them."""
        equal = self.counts.total() / max(1, len(self.counts))
        return len(self.counts) > 1 and all(abs(each - equal) <= EVEN * equal for each in self.counts.values())

    def share(self, label: int) -> float:
        """The share of samples with a label."""
        return self.counts[label] / max(1, self.total)


def numbered(sample: Sample, path: str, known: Roles) -> list[list[int]]:
    """The labels of the samples in each batch; empty where a sample has no number for its label, or several."""
    own = [each for each in sample.parts.get(path, ()) if each.numel() and each.dim()]
    if not own or not all(map(is_dense, own)) or own[0].numel() != own[0].shape[0]:
        return []
    if sample.loader is not None and own[0].shape[0] != rows(sample.batches[0]):
        return []
    if own[0].is_floating_point() and not (known.task == "binary" and all(map(_is_hot, own))):
        return []
    return [[int(value) for value in each.reshape(-1).tolist()] for each in own]


def _is_hot(tensor: Any) -> bool:
    """Whether a tensor has nothing but zeros and ones."""
    return not tensor.is_complex() and bool(((tensor == 0) | (tensor == 1)).all())


def counted(
    training: Sample, other: Sample | None, path: str, known: Roles
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Evidence and a plot of how often each label comes in both sets: a series for each set, named as its loader."""
    sets = [(each.name, Labels(each, path, known)) for each in (training, other) if each is not None]
    sets = [(name, labels) for name, labels in sets if labels.known]
    if not sets or sets[0][0] != training.name:
        return [], []
    kinds = sorted({label for _, labels in sets for label in labels.counts})
    what = "values" if sets[0][1].points else "samples"
    evidence = [
        fact(f"{what} with label {label}", labels.counts[label], group=f"{name}: {path}")
        for name, labels in sets
        for label in kinds[:50]
    ]
    told = "; ".join(
        f"{name}: {', '.join(f'{label}: {labels.counts[label]:,}' for label in kinds[:20])}" for name, labels in sets
    )
    places = [float(each) for each in kinds]
    series = [line(name, [labels.counts[label] for label in kinds], places) for name, labels in sets]
    named = class_names(training, known.classes)
    names = [str(label) if label < 0 else named(label) for label in kinds]
    return evidence, [
        plot(f"Labels in {path}", "bars", told, x_label="label", y_label=what, names=names, series=series)
    ]


def order(sample: Sample, path: str, known: Roles, wrong: Faults) -> bool:
    """Find labels out of range, all the same or in order; return whether the order could be seen."""
    batches = numbered(sample, path, known)
    labels = [label for batch in batches for label in batch]
    kinds = set(labels)
    if not kinds or len(kinds) > MANY_CLASSES or known.task != "classes":
        return False
    outside = sorted(label for label in kinds if label >= known.classes or (label < 0 and label != -100))
    if outside:
        wrong.add(f"labels {outside[:5]} of {path} are not among the {known.classes} classes of the outputs", "labels")
    if known.classes > 1 and len(labels) >= SORTED_ROWS:
        if len(kinds) == 1:
            wrong.add(f"all {len(labels)} checked samples of {sample.name} have the label {labels[0]}", "order")
        elif len(batches) >= FEW_BATCHES and labels == sorted(labels):
            wrong.add(f"the samples of {sample.name} are sorted by label", "order")
        elif len(batches) >= FEW_BATCHES and all(len(set(batch)) == 1 and len(batch) > 1 for batch in batches):
            wrong.add(f"every batch of {sample.name} has a single label", "order")
    return len(labels) >= SORTED_ROWS and len(batches) >= FEW_BATCHES


def lacking(stage: Stage, training: Sample, other: Sample, path: str, known: Roles, wrong: Faults) -> bool:
    """Find labels of what is evaluated on that no sample has of those that are trained on."""
    own, theirs = Labels(training, path, known).counts, Labels(other, path, known).counts
    if known.task != "classes" or not own:
        return False
    drawn = isinstance(training.loader.sampler, stage.torch.utils.data.RandomSampler) and other.whole
    found = [
        str(label)
        for label, many in sorted(theirs.items())
        if label >= 0 and not own[label]
        if training.whole or (drawn and many / theirs.total() * own.total() >= EXPECTED)
    ]
    if found:
        told = listed(found[:5]) if len(found) <= 5 else f"{', '.join(found[:5])} and {len(found) - 5} more"
        whose = f"label{'s' * (len(found) > 1)} {told} of {other.name}"
        wrong.add(f"none of the {own.total():,} checked samples of {training.name} has the {whose}", "split")
    return bool(found)


def shifted(
    stage: Stage, training: Sample, other: Sample, path: str, known: Roles, wrong: Faults
) -> tuple[list[dict[str, Any]], str, bool]:
    """Compare the shares of labels of both sets; return evidence, what is to be said of it, and whether it may be wrong.

    A share differs if the difference is at least `SHARES` and Fisher's exact test, with Bonferroni's correction for the number
    of labels, gives less than `SIGNIFICANT`. That fails only if both samples are complete or drawn at random, neither has a
    sampler that chooses, neither set is balanced, the frequent labels of both are not the same (resampling makes differences
    smaller, but keeps their direction), and the second one is held out. A held-out set with a single label fails
    if a sample of its size would have others: this is no question of the effect, as nothing else can be measured on it.
    """
    own, theirs = Labels(training, path, known), Labels(other, path, known)
    if not (own.known and theirs.known) or own.points or own.several != theirs.several or path not in known.compared:
        return [], "", False
    kinds = sorted(label for label in {**own.counts, **theirs.counts} if label >= 0)
    far = max(kinds, key=lambda label: abs(own.share(label) - theirs.share(label)), default=None)
    if far is None or (len(kinds) < 2 and not own.several):
        return [], "", False
    by = abs(own.share(far) - theirs.share(far))
    p = min(1.0, fisher(own.counts[far], own.total, theirs.counts[far], theirs.total) * len(kinds))
    group = f"{path}: {training.name} against {other.name}"
    evidence = [
        fact("largest difference of label shares", by, group=group, expected=f"below {SHARES}"),
        fact(f"label with that difference, of {len(kinds)}", far, group=group),
        fact("corrected p-value of that difference", p, group=group, expected=f"{SIGNIFICANT} or more"),
    ]
    fair = is_drawn(stage, training) and is_drawn(stage, other)
    chosen = next((each for each in (training, other) if is_chosen(stage, each)), None)
    certain = fair and chosen is None and held_out(stage, other)
    if len(theirs.counts) == 1 and not own.several and len(own.counts) > 1:
        only = next(iter(theirs.counts))
        told = f"all {count(theirs.total, 'checked sample')} of {other.name} have the label {only}"
        told += f", {training.name} has {len(own.counts)} labels"
        if certain and own.share(only) ** theirs.total < SIGNIFICANT:
            wrong.add(told, "split")
            return evidence, "", False
        return evidence, told + PARTLY * (not fair), True
    if by < SHARES or p >= SIGNIFICANT:
        return evidence, _alike(training, other, own, theirs, kinds), False
    told = f"label {far} is {own.share(far):.0%} of {training.name} and {theirs.share(far):.0%} of {other.name}"
    told += f" ({chance(p)}; a difference of {SHARES:.0%} counts as large)"
    if not fair:
        return evidence, told + PARTLY, True
    if chosen is not None:
        return evidence, f"{told}, as the sampler of {chosen.name} chooses", False
    if own.even or theirs.even:
        return evidence, f"{told}; {(training if own.even else other).name} is balanced", False
    leaning = sum((own.share(each) - 1 / len(kinds)) * (theirs.share(each) - 1 / len(kinds)) for each in kinds)
    if leaning > 0 and not own.several:
        return evidence, f"{told}; both lean to the same labels, so one of them may be resampled on purpose", True
    if certain:
        wrong.add(told, "split")
        return evidence, "", False
    return evidence, told, True


def _alike(training: Sample, other: Sample, own: Labels, theirs: Labels, kinds: list[int]) -> str:
    """The counts of both sets where there are few labels; else their number, and the largest difference."""
    if len(kinds) <= TOLD:
        both = (f"{'/'.join(f'{each.counts[label]:,}' for label in kinds)}" for each in (own, theirs))
        pairs = zip(both, (training.name, other.name))
        names = "/".join(map(str, kinds))
        return f"labels {names}: {', '.join(f'{counts} in {name}' for counts, name in pairs)}"
    by = max(abs(own.share(label) - theirs.share(label)) for label in kinds)
    return f"{len(kinds)} labels, whose shares in {training.name} and {other.name} differ by at most {number(by)}"
