"""What do the loaders give: numbers, labels, order, rows that come twice?"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..batches import broken, is_dense, leaves
from ..contract import assertions
from ..pictures import shown
from ..roles import Roles, roles
from ..sampling import MANY_CLASSES, SMALL, Sample, described, samples, validation
from ..stage import Skip
from ..telling import Faults, count, fact, line, listed, plot, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage

FEW_BATCHES, SORTED_ROWS = 4, 32
EXPECTED = 20.0  # rows with a label, of those that were drawn, without which nothing is said of none


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Looks at the first batches of every loader; where there is none, at what the model was given."""
    known = Roles(stage, stage.first)
    if stage.loader is not None and not known.inputs and stage.first.models:
        known = yield from roles(stage)
    found = samples(stage, stage.left * 0.8)
    if not found and known.parts:
        pseudo = Sample("the first batch", None, [])
        pseudo.batches = [dict(known.parts)]
        pseudo.parts = {path: [tensor.detach()] for path, tensor in known.parts}
        found = [pseudo]
    if not found:
        raise Skip("no loader produced a batch, and no model received one")
    evidence = [each for sample in found for each in described(stage.torch, sample)]
    wrong = Faults()
    plots: list[dict[str, Any]] = []
    for sample in found[:1]:
        ordered = _labels(sample, known, evidence, plots, wrong)
        plots += _pictures(stage, sample, known)
    bad = _finite(found)
    left_out = bool(bad) and (yield from _left_out(stage, found[0]))
    for each in [] if left_out else bad:
        wrong.add(each, "data not finite")
    _lacking(stage, found, known, wrong)
    hashed = _twice(stage, found, known, evidence, wrong)
    told = ", ".join(f"{count(each.rows(), 'sample')} of {each.name}" for each in found)
    if found[0].loader is None and known.inputs:  # nobody knows which of its dimensions are rows
        shape = next(leaf.shape for path, leaf in known.parts if path == known.inputs[0])
        told = f"a first batch of {' × '.join(map(str, shape)) or 'one number'}"
    code = assertions(found[0], known)
    if wrong and not stage.voided & {"values", "shapes"}:
        then = "check how the samples are created, split and ordered"
        return result("failed", str(wrong), evidence, plots, then=then, code=code, about=wrong.about)
    if stage.voided & {"values", "shapes"}:
        return result(
            "shown",
            f"{told}; the data is synthetic, as the script's own data was not found",
            evidence,
            plots,
            code=code,
        )
    if left_out:
        return result("shown", f"{'; '.join(bad)}, which the script skips", evidence, plots, code=code)
    good = ["finite"] + ["not sorted"] * ordered + ["no duplicates"] * hashed
    return result("passed", f"{told}: {listed(good)}", evidence, plots, code=code)


def _left_out(stage: Stage, sample: Sample) -> Generator[Play, Seen, bool]:
    """Whether the script goes on with a finite loss, or without an update, where a batch has values that are not finite."""
    for number, batch in enumerate(sample.batches):
        tensors = [parts[number] for parts in sample.parts.values() if number < len(parts)]
        if sample.loader is None or not any(map(broken, tensors)):
            continue
        seen = yield from stage.play(batch, frozen=True)
        stage.restore()
        return seen.loss is None or math.isfinite(seen.loss)
    return False


def _finite(found: list[Sample]) -> list[str]:
    wrong = []
    for sample in found:
        for path, tensors in sample.parts.items():
            bad = sum(map(broken, tensors))
            if bad:
                wrong.append(
                    f"{count(bad, 'value')} of {path} in {sample.name} {'is' if bad == 1 else 'are'} not finite"
                )
    return wrong


def _labels(
    sample: Sample, known: Roles, evidence: list[dict[str, Any]], plots: list[dict[str, Any]], wrong: Faults
) -> bool:
    """How often each label comes, and whether they come in order; whether that could be seen."""
    ordered = False
    for path in known.targets:
        batches = _numbered(sample, path)
        labels = [label for batch in batches for label in batch]
        kinds = Counter(labels)
        if not batches or len(kinds) > MANY_CLASSES:
            continue
        group = f"{sample.name}: {path}"
        evidence += [
            fact(f"samples with label {label}", many, group=group) for label, many in sorted(kinds.items())[:50]
        ]
        plots.append(
            plot(
                f"Labels in {path}",
                "bars",
                "; ".join(f"{label}: {many}" for label, many in sorted(kinds.items())[:20]),
                x_label="label",
                y_label="rows",
                names=[str(label) for label in sorted(kinds)],
                series=[
                    line("rows", [kinds[label] for label in sorted(kinds)], [float(each) for each in sorted(kinds)])
                ],
            )
        )
        if known.task == "classes":
            _order(sample, path, batches, known, wrong)
            ordered |= len(labels) >= SORTED_ROWS and len(batches) >= FEW_BATCHES
    return ordered


def _numbered(sample: Sample, path: str) -> list[list[int]]:
    """The labels of the rows in each batch; empty where a row has no number for its label, or several."""
    own = [each for each in sample.parts.get(path, ()) if each.numel() and each.dim()]
    if not own or own[0].is_floating_point() or own[0].numel() != own[0].shape[0]:
        return []
    return [[int(value) for value in each.reshape(-1).tolist()] for each in own]


def _lacking(stage: Stage, found: list[Sample], known: Roles, wrong: Faults) -> None:
    """Labels that are evaluated on, and that no row has of those that are trained on."""
    training, other = found[0], validation(stage, found)
    if known.task != "classes" or training.loader is None or other is None:
        return
    for path in known.targets:
        own, theirs = (
            Counter(label for batch in _numbered(each, path) for label in batch) for each in (training, other)
        )
        drawn = isinstance(training.loader.sampler, stage.torch.utils.data.RandomSampler) and _is_whole(other)
        lacking = [
            str(label)
            for label, many in sorted(theirs.items())
            if label >= 0 and not own[label] and own
            if _is_whole(training) or (drawn and many / theirs.total() * own.total() >= EXPECTED)
        ]
        if lacking:
            told = listed(lacking[:5]) if len(lacking) <= 5 else f"{', '.join(lacking[:5])} and {len(lacking) - 5} more"
            whose = f"label{'s' * (len(lacking) > 1)} {told} of {other.name}"
            looked = f"none of the {own.total():,} checked samples of {training.name}"
            wrong.add(f"{looked} has the {whose}", "split")


def _is_whole(sample: Sample) -> bool:
    """Whether all batches of a loader were looked at."""
    try:
        return len(sample.batches) >= len(sample.loader)
    except (TypeError, NotImplementedError):
        return False


def _order(sample: Sample, path: str, batches: list[list[int]], known: Roles, wrong: Faults) -> None:
    labels = [label for batch in batches for label in batch]
    kinds = set(labels)
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


def _twice(stage: Stage, found: list[Sample], known: Roles, evidence: list[dict[str, Any]], wrong: Faults) -> bool:
    """Rows that come twice in what is trained on, or there and in what is evaluated on; whether none does."""
    training, other = found[0], validation(stage, found)
    paths = [path for path in known.inputs if path in training.parts]
    first = training.parts[paths[0]][0] if paths else None
    if training.loader is None or stage.loader is None or first is None or not first.dim() or first[0].numel() < SMALL:
        return False
    own = training.hashes(paths)
    again = len(own) - len(set(own))
    evidence.append(fact("duplicate inputs", again, group=training.name))
    if other is None or any(path not in other.parts for path in paths):
        return not again
    both = set(own) & set(other.hashes(paths))
    label = f"inputs that also occur in {other.name}"
    evidence.append(fact(label, len(both), group=training.name, expected="0"))
    rows = max(1, min(len(set(own)), other.rows()))
    if both and len(both) / rows > 0.01:
        wrong.add(
            f"{count(len(both), 'input')} of {training.name} {'is' if len(both) == 1 else 'are'} also in {other.name}:"
            f" {training.rows():,} and {other.rows():,} samples",
            "shared rows",
        )
    return not again and not both


def _pictures(stage: Stage, sample: Sample, known: Roles) -> list[dict[str, Any]]:
    plots = []
    labels = [each for path in known.targets for each in sample.parts.get(path, ())[:1]]
    captions = []
    if labels and labels[0].dim() == 1:
        captions = [str(round(each, 3)) for each in labels[0].tolist()]
    for path, tensors in sample.parts.items():
        wanted = is_dense(tensors[0]) and (path in known.inputs or not known.inputs)
        figure = shown(stage.torch, path, tensors[0], captions) if wanted else None
        if figure is not None:
            plots.append(figure)
    if sample.batches:
        texts = [text for text in _texts(sample.batches[0]) if text]
        if texts:
            plots.append(plot("Text in a batch", "texts", f"the first {len(texts)} texts", texts=texts))
    return plots


def _texts(batch: Any, deep: int = 3) -> list[str]:
    if isinstance(batch, str):
        return [batch[:300]]
    if not deep or leaves(batch, deep=0):
        return []
    if isinstance(batch, dict):
        return [text for value in list(batch.values()) for text in _texts(value, deep - 1)][:8]
    if isinstance(batch, (tuple, list)):
        return [text for value in batch[:64] for text in _texts(value, deep - 1)][:8]
    return []
