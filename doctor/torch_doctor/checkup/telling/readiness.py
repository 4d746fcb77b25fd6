"""What a readiness note says of a script at a glance: what is trained, on what, how it is evaluated, and how it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.checkup.telling.words import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.checkup.outcome import Checkup, Fact

DATA, CHECKPOINT, SETTINGS = "data of ", "checkpoint, ", "configuration"
"""How groups of the receipt begin."""
COMPARED = ("batch size", "sampler", "transforms")
"""What of a loader may differ between training and validation."""
OPTIMIZER = "contains the state of the optimizer"
UNKNOWN = "not known"


def glance(checked: Checkup) -> Iterator[tuple[str, str]]:
    """Titles, each with what is known."""
    facts = [fact for rung in checked.rungs if rung.name == "receipt" for fact in rung.evidence]
    settings = {
        fact.label: value(fact) for fact in reversed(facts) if fact.group == SETTINGS and fact.value is not None
    }
    loaders: dict[str, dict[str, str]] = {}
    for fact in facts:
        if fact.group.startswith(DATA) and fact.value is not None:
            loaders.setdefault(fact.group.removeprefix(DATA), {})[fact.label] = value(fact)
    yield "Model", settings.get("model", UNKNOWN)
    yield "Loss", settings.get("loss", UNKNOWN)
    yield "Optimizer", "; ".join(value(fact) for fact in facts if fact.label == "optimizer") or UNKNOWN
    yield "Data", "; ".join(f"{name}: {_loader(held)}" for name, held in loaders.items()) or UNKNOWN
    yield "Device", checked.device or UNKNOWN
    yield "Validation", _validation(list(loaders.items()))
    yield "Resuming", _resuming(facts)


def _loader(held: dict[str, str]) -> str:
    rows = f"{held['rows']} rows of " if "rows" in held else ""
    size = f", batches of {held['batch size']}" if "batch size" in held else ""
    return f"{rows}{held.get('dataset', 'unknown kind')}{size}"


def _validation(loaders: list[tuple[str, dict[str, str]]]) -> str:
    """How the loader behind the one that trains differs from it: the receipt has that one first."""
    if len(loaders) < 2:  # noqa: PLR2004 - one to train, one to validate
        return "no other data loader was seen"
    (first, own), (second, other) = loaders[:2]
    pairs = [(label, own.get(label, "none"), other.get(label, "none")) for label in COMPARED]
    differs = [f"{label} {now} instead of {before}" for label, before, now in pairs if before != now]
    return f"{second} has {', '.join(differs)} in {first}" if differs else f"{second} is read as {first} is"


def _resuming(facts: list[Fact]) -> str:
    saved = [fact for fact in facts if fact.group.startswith(CHECKPOINT)]
    if not saved:
        return "no `torch.save` was seen"
    whole = next((fact.group for fact in saved if fact.label == OPTIMIZER and fact.value is True), None)
    if whole is None:
        unsure = any(fact.label == OPTIMIZER and fact.value is None for fact in saved)
        return UNKNOWN if unsure else "not possible: no checkpoint contains the optimizer"
    keys = next((value(fact) for fact in saved if fact.group == whole and fact.label == "keys"), "the optimizer")
    return f"from what {whole.removeprefix(CHECKPOINT)} saves: {keys}"
