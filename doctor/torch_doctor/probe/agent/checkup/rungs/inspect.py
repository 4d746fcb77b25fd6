"""What do the loaders give: numbers, labels, order, rows that come twice?"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..batches import broken, rows
from ..contract import assertions
from ..files import copies
from ..labels import counted, lacking, order, shifted
from ..roles import Roles, roles
from ..sampling import SMALL, Sample, described, is_chosen, is_drawn, samples, validation
from ..scales import scales
from ..sheet import sheet
from ..shift import SIGNIFICANT, compared, fisher
from ..stage import Skip
from ..striking import not_finite, striking
from ..telling import Faults, count, fact, listed, result

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Play, Seen
    from ..stage import Stage


FEW = 0.01
"""The share of the smaller set from which on samples in both are wrong, and not only said."""


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Look at the first batches of every loader; where there is none, at what the model was given.

    Fails if values are not finite, labels cannot be right (out of range, sorted, all the same, missing in training), samples
    are trained and evaluated on, or the labels of both sets have other shares: by at least `shift.SHARES`, significantly, and
    with no sign that this is meant (`labels.shifted`). Inputs whose distribution differs (`shift.compared`), and values far
    from the scale that layers are initialized for (`scales.scales`), are reported without a verdict: augmentation, a split by
    time or a model that scales its inputs are reasons for them.
    """
    known = Roles(stage, stage.first)
    if stage.loader is not None and not known.inputs and stage.first.models:
        known = yield from roles(stage)
    found = _found(stage, known)
    other = validation(stage, found) if found[0].loader is not None else None
    evidence = [each for sample in found for each in described(stage.torch, sample)]
    wrong = Faults()
    plots: list[dict[str, Any]] = []
    said: list[str] = []
    ordered = False
    for path in known.targets:
        facts, drawn = counted(found[0], other, path, known)
        evidence += facts
        plots += drawn
        ordered |= order(found[0], path, known, wrong)
    plots = [*sheet(stage, known, found[0], other), *plots]
    bad = not_finite(found)
    left_out = bool(bad) and (yield from _left_out(stage, found[0]))
    for each in [] if left_out else bad:
        wrong.add(each, "data not finite")
    strikes: list[str] = []
    hashed = _twice(stage, found, known, evidence, wrong, strikes)
    copied = [] if other is None else copies((found[0].name, found[0].files), (other.name, other.files))
    hashed &= not copied
    strikes += [*copied, *striking(stage.torch, found[0], known)]
    differs = other is not None and _differs(stage, found[0], other, known, evidence, wrong, said)
    facts, far = scales(known)
    evidence += facts
    code = assertions(found[0], known)
    told = _told(found, known)
    if stage.voided & {"values", "shapes"}:
        made_up = f"{told}; the data is synthetic, as the script's own data was not found, so no samples are shown"
        return result("shown", made_up, evidence, code=code)
    if wrong:
        then = "check how the samples are created, split and ordered"
        return result(
            "failed", "; ".join([str(wrong), *strikes]), evidence, plots, then=then, code=code, about=wrong.about
        )
    if left_out:
        return result("shown", f"{'; '.join(bad)}, which the script skips", evidence, plots, code=code)
    good = ["finite"] + ["not sorted"] * ordered + ["no duplicates"] * hashed
    text = "; ".join([f"{told}: {listed(good)}", *strikes, *said, *far])
    return result("shown" if differs else "passed", text, evidence, plots, code=code)


def _found(stage: Stage, known: Roles) -> list[Sample]:
    """The samples of the loaders, that of the one that trains first; or the first batch alone."""
    found = samples(stage, stage.left * 0.8)
    if unread := stage.notes.get("unread"):
        raise Skip("; ".join(unread))
    if not found and known.parts:
        pseudo = Sample("the first batch", None, [])
        pseudo.batches = [dict(known.parts)]
        pseudo.parts = {path: [tensor.detach()] for path, tensor in known.parts}
        found = [pseudo]
    if not found:
        raise Skip("no loader produced a batch, and no model received one")
    return found


def _told(found: list[Sample], known: Roles) -> str:
    """How much was looked at."""
    if found[0].loader is None and known.inputs:  # nobody knows which of its dimensions are rows
        shape = next(leaf.shape for path, leaf in known.parts if path == known.inputs[0])
        return f"a first batch of {' × '.join(map(str, shape)) or 'one number'}"
    return ", ".join(f"{count(each.rows(), 'sample')} of {each.name}" for each in found)


def _differs(
    stage: Stage,
    training: Sample,
    other: Sample,
    known: Roles,
    evidence: list[dict[str, Any]],
    wrong: Faults,
    said: list[str],
) -> bool:
    """Compare the labels and inputs of both sets; return whether something differs of which nobody knows if it is meant."""
    differs = False
    for path in known.targets:
        if lacking(stage, training, other, path, known, wrong):
            continue
        facts, text, undecided = shifted(stage, training, other, path, known, wrong)
        evidence += facts
        said += [text] * bool(text)
        differs |= undecided
    pair = (training, other)
    if any(is_chosen(stage, each) for each in pair):
        return differs
    if not all(is_drawn(stage, each) for each in pair):
        which = listed([each.name for each in pair if not is_drawn(stage, each)])
        said.append(f"inputs were not compared, as only the first batches of {which} were checked, in their order")
        return differs
    facts, far, columns = compared(stage.torch, training, other, known.inputs)
    evidence += facts
    said += far
    if columns and not far:
        said.append(f"no large shift of the inputs ({count(columns, 'column')} compared)")
    return differs or bool(far)


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


def _twice(
    stage: Stage, found: list[Sample], known: Roles, evidence: list[dict[str, Any]], wrong: Faults, said: list[str]
) -> bool:
    """Rows that come twice in what is trained on, or there and in what is evaluated on; whether none does."""
    training, other = found[0], validation(stage, found)
    paths = [path for path in known.inputs if path in training.parts]
    first = training.parts[paths[0]][0] if paths else None
    if training.loader is None or stage.loader is None or first is None or not first.dim() or first[0].numel() < SMALL:
        return False
    if any(
        part.shape[:1] != (rows(batch),)
        for path in paths
        for part, batch in zip(training.parts[path], training.batches)
    ):
        return False  # time comes first, say: what is left of a sample does not tell it from others
    own = training.hashes(paths)
    again = len(own) - len(set(own))
    evidence.append(fact("duplicate inputs", again, group=training.name))
    if again and _has_fractions(training, paths) and not is_chosen(stage, training):
        verb = "repeats" if again == 1 else "repeat"
        said.append(f"{again:,} of {count(len(own), 'sample')} of {training.name} {verb} another one")
    if other is None or any(path not in other.parts for path in paths):
        return not again
    theirs = other.hashes(paths)
    both = set(own) & set(theirs)
    evidence.append(fact(f"inputs that also occur in {other.name}", len(both), group=training.name, expected="0"))
    many = sum(each in both for each in theirs)
    text = f"{many:,} of {count(len(theirs), 'sample')} of {other.name} {'is' if many == 1 else 'are'} also in {training.name}"
    if not both or _small_world(training, other, paths, own):
        said += [f"{text}, which itself repeats samples as often"] * bool(both)
        return not again and not both
    if len(both) / max(1, min(len(set(own)), other.rows())) > FEW:
        checked = "" if training.whole else f", of which {count(training.rows(), 'sample')} were checked"
        wrong.add(text + checked, "shared rows")
    else:
        said.append(text)
    return False


def _has_fractions(sample: Sample, paths: list[str]) -> bool:
    """Whether an input has values that are no whole numbers, so that equal samples are no chance."""
    first = [sample.parts[path][0] for path in paths]
    return any(each.is_floating_point() and bool((each != each.round()).any()) for each in first)


def _small_world(training: Sample, other: Sample, paths: list[str], own: list[str]) -> bool:
    """Whether inputs of whole numbers, such as flags and tokens, may be in both sets by chance.

    Then a sample of the training set has a twin there about as often as one of the other set has: Fisher's exact test does not
    tell the shares apart.
    """
    if _has_fractions(training, paths):
        return False
    held, many = Counter(own), Counter(other.hashes(paths))
    twins = sum(each for each in held.values() if each > 1)
    return fisher(sum(many[each] for each in many if each in held), many.total(), twins, len(own)) >= SIGNIFICANT
