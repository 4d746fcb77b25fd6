"""What a model answers to each sample of a batch, and what its label is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from .batches import is_made_of, leaves
from .telling import count, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from .plays import Call, Seen

FEW_VALUES = 4  # numbers of a label that are written
FEW_LABELS = 8  # labels of one sample that are written
SHIFTS = 3  # places by which targets may be later than the inputs in the same sequence


class Answer:
    """Of one sample: the label and the class that was answered (-1 where there is none), how sure, and both in words.

    `chance` is the probability of class 1 where there are two classes, `off` how far numbers are off, and `wrong` whether the
    answer is wrong, None where that cannot be said. `ignored`: the loss leaves the sample out.
    """

    __slots__ = ("answered", "chance", "guess", "ignored", "label", "off", "sure", "told", "wrong")

    def __init__(self) -> None:
        self.label = self.guess = -1
        self.sure: float | None = None
        self.chance: float | None = None
        self.off: float | None = None
        self.wrong: bool | None = None
        self.ignored = False
        self.told = self.answered = ""


def belongs(seen: Seen, outputs: Any, target: Any, batch: Any) -> bool:
    """Whether a loss compares answers to this batch with its labels.

    Labels that are not in the batch count only where the outputs are the answer of a model to a part of the batch: a
    discriminator also judges what was generated, and a contrastive loss compares samples with each other.
    """
    parts = [leaf for _, leaf in leaves(batch)]
    classes = target.argmax(1) if target.dim() == 2 and _is_one_hot(target) else target
    if any(is_made_of(each, leaf) for each in (target, classes) for leaf in parts):
        return True
    if target.dim() == 2 and _within(target, batch):
        return True
    place = outputs.data_ptr()
    return any(
        any(each.data_ptr() == place and each.numel() == outputs.numel() for each in tensors(call.result))
        and any(is_made_of(given, leaf) for given in tensors((call.given, call.keywords)) for leaf in parts)
        for call in seen.models
    )


def folded(target: Any, batch: Any, rows: int) -> bool:
    """Whether targets over steps are those of whole samples, one sample after the other.

    They are where each sample's targets stand in a row of the batch, or begin a little later in it. What is negative is left out.
    """
    if target.dim() != 1 or not rows or target.numel() % rows or target.numel() == rows:
        return False
    return _within(target.reshape(rows, -1), batch)


def _within(own: Any, batch: Any) -> bool:
    rows = own.shape[0]
    if own.is_floating_point() or not own.numel():
        return False
    steps = own.shape[1]
    for _, leaf in leaves(batch):
        if not leaf.dim() or leaf.shape[0] != rows or leaf.is_floating_point() or leaf.numel() < own.numel():
            continue
        flat = leaf.reshape(rows, -1).to(own.device)
        for shift in range(min(SHIFTS, flat.shape[1] - steps + 1)):
            if bool(((flat[:, shift : shift + steps] == own) | (own < 0)).all()):
                return True
    return False


def answers(torch: Any, score: Call, outputs: Any, target: Any, task: str, named: Callable[[int], str]) -> list[Answer]:
    """The answer to each sample, of which the outputs and targets have one each; [] where they have not."""
    rows = target.shape[0] if target.dim() else 0
    if not rows or outputs.shape[0] != rows:
        return []
    if task == "classes":
        return _of_classes(torch, score, outputs, target, named)
    if task == "binary":
        return _of_two(torch, score, outputs, target, named)
    if task == "numbers" and outputs.numel() == target.numel():
        return [_numbers(one, other) for one, other in zip(outputs.reshape(rows, -1), target.reshape(rows, -1))]
    return []


def _of_classes(torch: Any, score: Call, outputs: Any, target: Any, named: Callable[[int], str]) -> list[Answer]:
    if outputs.dim() == 2 and target.is_floating_point() and target.shape == outputs.shape and _is_one_hot(target):
        target = target.argmax(1)
    if target.is_floating_point() or outputs.dim() < 2 or outputs[:, 0].shape != target.shape:
        return []
    ignored = score.keywords.get("ignore_index", -100)
    if target.dim() > 1:
        kept = (target != ignored).reshape(target.shape[0], -1)
        wrong = (outputs.argmax(1) != target).reshape(target.shape[0], -1) & kept
        return [_places(int(one.sum()), int(many.sum())) for one, many in zip(wrong, kept)]
    shares = outputs.float().softmax(1)
    found = []
    for row, label in zip(shares, target.tolist()):
        made = _one(int(label), int(row.argmax()), float(row.max()), named)
        made.ignored = label == ignored
        made.chance = float(row[1]) if len(row) == 2 else None
        found.append(made)
    return found


def _of_two(torch: Any, score: Call, outputs: Any, target: Any, named: Callable[[int], str]) -> list[Answer]:
    if outputs.numel() != target.numel() or not bool(((target == 0) | (target == 1)).all()):
        return []
    rows = target.shape[0]
    chances = outputs.float().reshape(rows, -1)
    chances = torch.sigmoid(chances) if score.called.endswith("logits") else chances
    labels = target.reshape(rows, -1) > 0.5
    if chances.shape[1] == 1:
        found = []
        for chance, label in zip(chances[:, 0].tolist(), labels[:, 0].tolist()):
            made = _one(int(label), int(chance > 0.5), max(chance, 1 - chance), named)
            made.chance = chance
            found.append(made)
        return found
    guesses = chances > 0.5
    if target.dim() > 2:
        return [_places(int((one != other).sum()), one.numel()) for one, other in zip(guesses, labels)]
    return [_sets(one, other, named) for one, other in zip(guesses, labels)]


def _one(label: int, guess: int, sure: float, named: Callable[[int], str]) -> Answer:
    made = Answer()
    made.label, made.guess, made.sure, made.wrong = label, guess, sure, label != guess
    made.told, made.answered = named(label), named(guess)
    return made


def _sets(guessed: Any, right: Any, named: Callable[[int], str]) -> Answer:
    made = Answer()
    made.wrong = bool((guessed != right).any())
    made.told, made.answered = (_labels(each.nonzero().reshape(-1).tolist(), named) for each in (right, guessed))
    return made


def _labels(found: list[int], named: Callable[[int], str]) -> str:
    more = f" and {len(found) - FEW_LABELS} more" if len(found) > FEW_LABELS else ""
    return (", ".join(map(named, found[:FEW_LABELS])) or "none") + more


def _places(wrong: int, many: int) -> Answer:
    made = Answer()
    made.ignored = not many
    made.answered = f"{wrong:,} of {count(many, 'position')} wrong"
    return made


def _numbers(answered: Any, label: Any) -> Answer:
    made = Answer()
    made.off = float((answered.float() - label.float()).abs().mean())
    if label.numel() <= FEW_VALUES:
        made.told, made.answered = (", ".join(number(float(each)) for each in one) for one in (label, answered))
    else:
        made.answered = f"off by {number(made.off)} on average"
    return made


def _is_one_hot(target: Any) -> bool:
    return bool(((target == 0) | (target == 1)).all()) and bool((target.sum(1) == 1).all())
