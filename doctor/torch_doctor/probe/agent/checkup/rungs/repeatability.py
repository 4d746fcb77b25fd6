"""Is an evaluation the same twice, a model the same after loading, a resumed run the same as one that goes on?"""

from __future__ import annotations

import io
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...instruments.copies import copied, elements, evaluating
from ...instruments.evaluation.repeat import Instrument as Repeat
from ...instruments.parts import tensors
from ..batches import copied_batch, leaves, rows
from ..keeping import Chance
from ..sampling import samples, validation
from ..stage import Skip
from ..telling import Faults, fact, number, result

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ..plays import Call, Play, Seen
    from ..stage import Stage

LARGEST = 20_000_000  # parameters of a model that is copied
STEPS = 2
SAMPLES = 8
"""Samples of the validation set that are read twice."""
SAME_RUN, RESUMED = 2 * (STEPS + 1), 4 * STEPS + 3
"""The steps that each question takes."""
CLOSE = 1e-4
NOTHING = "no output of the model is finite, so there is nothing to compare: see non-finite"


class Said:
    """What was found: facts, what is wrong, and what to look at."""

    def __init__(self) -> None:
        self.evidence: list[dict[str, Any]] = []
        self.wrong = Faults()
        self.open: list[str] = []
        self.short: list[str] = []
        self.about: tuple[str, ...] = ()

    def take(self, label: str, apart: float | None, wrong: str, about: str = "") -> None:
        """How far apart two answers are that should be the same; it is wrong where it is `about` something."""
        self.evidence.append(fact(label, apart, expected="0"))
        if apart is None or apart <= CLOSE:
            return
        told = f"{wrong} (relative difference up to {number(apart)})"
        if about:
            self.wrong.add(told, about)
        else:
            self.open.append(told)


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Asks the questions one after the other, as long as there is time."""
    seen = yield from stage.play(evaluate=True, keep=True)
    call = _main(stage, seen)
    if call is None:
        raise Skip("no model with parameters in the optimizer was called in the step")
    if elements(stage.watch, call.called.parameters()) > LARGEST:
        raise Skip("the model is too large to copy")
    said = Said()
    stage.restore()
    steady = _twice(stage, call, said)
    if steady:
        _rows(stage, call, said)
    step = seen.seconds
    if stage.left > SAME_RUN * step:
        yield from _same_run(stage, said)
    else:
        said.short.append("repeating the same steps")
    if stage.left > RESUMED * step:
        stage.natural = True
        try:
            yield from _resumed(stage, call, said, steady=steady)
        finally:
            stage.natural = False
    else:
        said.short.append("resuming a run")
    _data(stage, said)
    if said.wrong:
        then = "look for state outside the `state_dict()` of the model and the optimizer, and for layers that ignore `eval()`"
        return result("failed", str(said.wrong), said.evidence, then=then, about=said.wrong.about)
    told = "in evaluation mode, evaluating again, reloading the model, and resuming all give the same results"
    if said.open:
        return result("shown", "; ".join(said.open), said.evidence, about=said.about)
    if said.short:
        told = f"in evaluation mode, evaluating again gives the same result; not enough time left for {' and '.join(said.short)}"
        return result("shown", told if steady else told.partition("; ")[2], said.evidence)
    return result("passed" if steady else "shown", told, said.evidence)


def _main(stage: Stage, seen: Seen) -> Call | None:
    model = stage.model
    return next(
        (call for call in reversed(seen.models) if call.called is model), seen.models[-1] if seen.models else None
    )


@contextmanager
def _aside(stage: Stage, model: Any) -> Iterator[None]:
    """Random numbers are drawn on the side, and what a copy of a model shares with it evaluates, too."""
    with stage.torch.no_grad(), stage.torch.random.fork_rng(devices=[]), evaluating(model):
        yield


def _answer(stage: Stage, module: Any, call: Call) -> Any:
    """The first tensor of numbers that a copy answers in evaluation mode."""
    given, keywords = copied(stage.watch, (call.given, call.keywords))
    return next((each.detach() for each in tensors(module(*given, **keywords)) if each.is_floating_point()), None)


def apart(one: Any, other: Any) -> float | None:
    """How far two answers are apart, by the size of the numbers in them; None where they cannot be compared."""
    if one is None or other is None or one.shape != other.shape:
        return None
    if not one.numel():
        return 0.0
    difference = (one.double() - other.double()).abs().nan_to_num(nan=0.0).max()
    size = one.double().abs().nan_to_num(nan=0.0, posinf=0.0).max()
    return float(difference / size.clamp_min(1e-12)) if float(difference) else 0.0


def _twice(stage: Stage, call: Call, said: Said) -> bool:
    """Whether the model answers the same twice, in evaluation mode."""
    with _aside(stage, call.called):
        own = copied(stage.watch, call.called).eval()
        kept = copied(stage.watch, call.called).eval()
        stage.torch.manual_seed(1)
        one = _answer(stage, own, call)
        stage.torch.manual_seed(2)
        dropped, other = Repeat(stage.watch)._run(kept, copied(stage.watch, (call.given, call.keywords)))
    if one is not None and not bool(one.isfinite().any()):
        raise Skip(NOTHING)
    found = apart(one, other)
    why = "a second evaluation gives a different output"
    why += ": dropout is active in evaluation mode" if dropped else ": the model draws random numbers"
    said.take("evaluated twice", found, why, "drops in evaluation" if dropped else "")
    return found is not None and found <= CLOSE


def _rows(stage: Stage, call: Call, said: Said) -> None:
    """Whether the answer for the first row stays when the others are other ones."""
    many = rows(stage.batch) if stage.batch is not None else 0
    given = tensors((call.given, call.keywords))
    collate = getattr(stage.loader, "collate_fn", None)
    usual = collate is stage.torch.utils.data.default_collate
    if not usual or many < 2 or not given or any(not each.dim() or each.shape[0] != many for each in given):
        return
    with _aside(stage, call.called):
        own = copied(stage.watch, call.called).eval()
        one = _answer(stage, own, call)
        own = copied(stage.watch, call.called).eval()
        turned = copied(stage.watch, (call.given, call.keywords))
        for each in tensors(turned):
            each[1:] = each[1:].flip(0).clone() if many > 2 else each[:1]
            if many > 2:
                each[-1] = each[0]
        other = next(
            (each.detach() for each in tensors(own(*turned[0], **turned[1])) if each.is_floating_point()), None
        )
    if one is None or other is None or not one.dim() or one.shape[0] != many:
        return
    said.take(
        "output for one sample in a different batch",
        apart(one[:1], other[:1]),
        "the output for a sample depends on the other samples in the batch",
        "other rows",
    )


def _data(stage: Stage, said: Said) -> None:
    """Whether the samples of the validation set are the same when they are read again, as random transforms change them."""
    sample = validation(stage, samples(stage, stage.left * 0.2))
    dataset = getattr(sample.loader, "dataset", None) if sample is not None else None
    if sample is None or not isinstance(dataset, stage.torch.utils.data.Dataset) or "values" in stage.voided:
        return
    chance, until = Chance(stage.torch, ()), monotonic() + stage.left * 0.2
    checked = differing = 0
    try:
        for row in range(min(len(dataset), SAMPLES)):
            if monotonic() > until:
                break
            one, other = (dict(leaves(copied_batch(dataset[row]))) for _ in range(2))
            checked += 1
            differing += any(not _equal(each, other.get(path)) for path, each in one.items())
    except Exception:  # noqa: BLE001 - reading a sample is the user's code, and a stream has none by number
        return
    finally:
        chance.restore()
    said.evidence.append(fact(f"samples of {sample.name} read twice", checked))
    said.evidence.append(fact(f"samples of {sample.name} that differ when read again", differing, expected="0"))
    if differing:
        said.open.append(f"the samples of {sample.name} differ each time they are read, so its score varies")
        said.about = ("random samples",)


def _equal(one: Any, other: Any) -> bool:
    return (
        other is not None and one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())
    )


def _same_run(stage: Stage, said: Said) -> Generator[Play, Seen, None]:
    """Whether the same steps come out the same with the same random numbers."""
    runs = []
    for _ in range(2):
        stage.restore()
        losses = []
        for _ in range(STEPS + 1):
            seen = yield from stage.play()
            losses.append(seen.loss or 0.0)
        runs.append(stage.torch.tensor(losses))
    said.take(
        "same steps with the same random numbers", apart(*runs), "repeating the same steps gives different losses"
    )


def _resumed(stage: Stage, call: Call, said: Said, *, steady: bool) -> Generator[Play, Seen, None]:
    """Whether a model that is loaded answers the same, and whether a run that is resumed goes on as it would have."""
    torch, model = stage.torch, call.called
    with _aside(stage, model):
        fresh = copied(stage.watch, model).eval()
    stage.restore()
    for _ in range(STEPS):
        yield from stage.play()
    chance: Chance = stage.chance_now()
    saved = _saved(stage, model)
    if steady:
        with _aside(stage, call.called):
            one = _answer(stage, copied(stage.watch, model).eval(), call)
            try:
                fresh.load_state_dict(_read(torch, saved)[0])
                other = _answer(stage, fresh, call)
            except Exception as error:  # noqa: BLE001 - whatever a model says to its own state
                first = next(iter(str(error).splitlines()), "")
                said.wrong.add(f"the model does not load its own state: {type(error).__name__}: {first}", "loading")
                return
        said.take(
            "saved and reloaded",
            apart(one, other),
            "the reloaded model gives different outputs",
            "loading",
        )
    middle = stage.kept()
    goes_on = yield from _more(stage, chance)
    middle.restore()
    again = yield from _more(stage, chance)
    middle.restore()
    steps = apart(goes_on, again)
    if steps is None or steps > CLOSE:
        said.evidence.append(
            fact("resumed compared with continued training", None, expected="the script's steps are not repeatable")
        )
        return
    state, optimizers = _read(torch, saved)
    model.load_state_dict(state)
    for optimizer, held in zip(stage.optimizers, optimizers):
        optimizer.state.clear()
        optimizer.load_state_dict(held)
    resumed = yield from _more(stage, chance)
    far = apart(goes_on, resumed)
    said.take("resumed compared with continued training", far, "resumed training continues differently", "resuming")


def _more(stage: Stage, chance: Chance) -> Generator[Play, Seen, Any]:
    """The losses of the next steps."""
    chance.restore()
    losses = []
    for _ in range(STEPS + 1):
        seen = yield from stage.play()
        losses.append(seen.loss or 0.0)
    return stage.torch.tensor(losses)


def _saved(stage: Stage, model: Any) -> bytes:
    buffer = io.BytesIO()
    stage.torch.save((model.state_dict(), [each.state_dict() for each in stage.optimizers]), buffer)
    return buffer.getvalue()


def _read(torch: Any, saved: bytes) -> Any:
    return torch.load(io.BytesIO(saved), weights_only=False)
