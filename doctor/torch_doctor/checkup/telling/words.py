"""What rungs are called and ask, and how their values are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.checkup.outcome import Checkup, Fact, Rung
    from torch_doctor.rule import Finding


class Meaning(Struct, frozen=True):
    """The title of a rung, and the question that it answers."""

    title: str
    question: str


MEANINGS = {
    "inspect": Meaning("Inspect", "What do the loaders produce, and is it what the model expects?"),
    "baseline": Meaning(
        "Simple baseline", "Does the loss start at random guessing, and does training beat a constant answer?"
    ),
    "overfit-one-batch": Meaning("Overfit one batch", "Can the script's own training step memorize a single batch?"),
    "small-subset": Meaning(
        "Small subset", "Does the model learn a few batches, does validation follow, and do memory or step times grow?"
    ),
    "learning-rate": Meaning("Learning rate", "Which learning rates learn, and where does training diverge?"),
    "terms": Meaning("Terms of the loss", "How large is the gradient of each term in each module?"),
    "repeatability": Meaning("Repeatability", "Do repeated evaluations, reloading and resuming give the same results?"),
    "metric": Meaning("Metric", "How does the script's evaluation score perfect, constant and random predictions?"),
    "device": Meaning("Device and precision", "Do devices, precisions and the compiler agree?"),
    "throughput": Meaning("Throughput", "Does the step wait for data, and where does its time go?"),
    "non-finite": Meaning("NaN triage", "Where does the first non-finite value come from?"),
    "errors": Meaning("Error analysis", "Which samples have the highest loss, and which classes are confused?"),
    "receipt": Meaning("Receipt", "What is needed to reproduce this run?"),
}
"""By the name of the rung."""
SIGNS = {"passed": "✓", "failed": "✗", "skipped": "○", "shown": "i"}
"""A sign for each status, beside the word: nobody has to tell colours apart."""
PLAIN_SIGNS = {"passed": "+", "failed": "x", "skipped": "-", "shown": "i"}
"""The same for a terminal that knows no others."""
SAME = "for the same reason"
FEW_DIGITS = 4
LARGE = 1e6


def value(fact: Fact) -> str:
    """The value of a fact with its unit; what could not be measured is a long dash."""
    written = fact.value
    if written is None:
        return "—"
    if isinstance(written, bool):
        text = "yes" if written else "no"
    elif isinstance(written, float):
        text = f"{written:,.0f}" if written.is_integer() and abs(written) < LARGE else f"{written:.{FEW_DIGITS}g}"
    elif isinstance(written, int):
        text = f"{written:,}"
    else:
        text = written
    return f"{text} {fact.unit}".rstrip()


def grouped(rung: Rung) -> list[tuple[str, list[Fact]]]:
    """The facts of a rung by their group, in the order in which groups come first."""
    groups: dict[str, list[Fact]] = {}
    for fact in rung.evidence:
        groups.setdefault(fact.group, []).append(fact)
    return list(groups.items())


def what_next(checked: Checkup) -> Iterator[tuple[str, str, list[Finding]]]:
    """What to do, the first thing first: its title, what it says, and the findings that explain it.

    First comes the error that ended the script, with its cause where that is known. Then come rungs that failed, from the lowest
    up, those that have no verdict and yet something to do, and what the scan found beside them.
    """
    told: set[tuple[str, object]] = set()
    if checked.error or checked.cause:
        yield "Script error", script_error(checked), []
    for rung in checked.rungs:
        if rung.status == "failed":
            new = [each for each in rung.findings if (each.code, each.site) not in told]
            told.update((each.code, each.site) for each in rung.findings)
            yield MEANINGS[rung.name].title, rung.next or rung.reason, new
    for rung in checked.rungs:
        if rung.status == "shown" and rung.next:
            new = [each for each in rung.findings if (each.code, each.site) not in told]
            told.update((each.code, each.site) for each in rung.findings)
            yield MEANINGS[rung.name].title, rung.next, new
    rest = [each for each in standing(checked.findings) if (each.code, each.site) not in told]
    if rest:
        yield "Scan findings", f"the scan {'also ' * bool(told)}reported these", rest


def script_error(checked: Checkup) -> str:
    """The error that ended the script, and its cause, as far as they are known."""
    return "; cause: ".join(filter(None, (checked.error, checked.cause)))


def standing(findings: list[Finding]) -> list[Finding]:
    """Return the findings that the run did not refute: errors first, then what was confirmed; last what needs other settings."""
    levels = list(Level)
    return sorted(
        (each for each in findings if each.verdict is not Verdict.REFUTED),
        key=lambda each: (bool(each.condition), levels.index(each.level), each.verdict is not Verdict.CONFIRMED),
    )


def counts(checked: Checkup) -> str:
    """How many rungs have which status: `1 failed, 6 passed, 2 shown, 2 skipped`."""
    statuses = [rung.status for rung in checked.rungs]
    return ", ".join(
        f"{statuses.count(each)} {each}" for each in ("failed", "passed", "shown", "skipped") if each in statuses
    )


def reasons(checked: Checkup) -> Iterator[tuple[Rung, str]]:
    """Each rung with its reason, which is not repeated where several in a row are skipped for the same one."""
    before = ""
    for rung in checked.rungs:
        same = rung.status == "skipped" and rung.reason == before
        yield rung, SAME if same else rung.reason
        before = rung.reason if rung.status == "skipped" else ""
