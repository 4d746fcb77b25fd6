"""TDR413: the worst model is kept, or none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import BestCompared, FiguresCompared
from torch_doctor_rules.evaluation.best_kept_wrong_way.claims import (
    CLAIMS,
    claim_in,
    claim_of,
    figures_and_kept,
    is_refuted,
)
from torch_doctor_rules.evaluation.best_kept_wrong_way.mistakes import edits, wrong
from torch_doctor_rules.evaluation.best_kept_wrong_way.training import keeps, of_rivals, trains
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace


class BestKeptWrongWay(Rule):
    """The comparison that keeps the best model keeps the worst one, or none at all.

    ## Why is this bad?
    A loss is better if it is lower, an accuracy if it is higher. If the comparison points the other way, each worse
    model replaces the kept one. If the best figure starts at a value that nothing can beat, such as 0 for a loss, or
    never gets a new value, the kept model is the first or the last one, or there is none. Training itself is right, so
    that the figures of the epochs look good, and only the model that is delivered is not. The same holds for the settings
    of a transformers `Trainer`: without `greater_is_better`, it keeps the highest figure unless its name ends with "loss".

    ## Example
    ```python
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best_loss = 0.0
    for epoch in range(3):
        for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            x, y = next(iter(DataLoader(test_set, batch_size=len(test_set))))
            loss = nn.functional.mse_loss(model(x), y).item()
        if loss < best_loss:
            best_loss = loss
            torch.save(model.state_dict(), "best.pt")
    ```

    ## Use instead
    ```diff
    -best_loss = 0.0
    +best_loss = float("inf")
     for epoch in range(3):
    ```

    ## Fix safety
    The fix turns the comparison, and changes the first best figure to infinity. It is unsafe because another model is
    kept.

    ## How the probe confirms it
    It reads the compared figures. The finding is confirmed if a better figure than the kept one was compared, if none
    was kept, or if the figure of an epoch was kept although it is worse than an earlier one.

    ## When it is not reported
    - It is unknown which figures are better: the direction follows from how the figure is computed (a loss, an error, a
      share of correct predictions, a metric of scikit-learn or torchmetrics), not from its name.
    - For a trainer or a callback that chooses by a logged figure, such as `ModelCheckpoint(monitor=…)` or `EarlyStopping`, if
      the script does not show which module logs the figure, and how.
    - Nothing is saved or copied but data, such as the samples with the largest loss, and no count of epochs without a better
      figure ends the training.
    - The best figure is a constant goal.
    - The comparison is outside of a loop that trains: searches for the largest loss, such as attacks, are right.
    - The figure depends on two models that have an optimizer each, as in a GAN: what is worse for one is better for the other.
    - The loss may be negative, and starts at 0.
    - Another test, such as `epoch == 0`, also keeps the model.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "TDR413"
    name = "best-kept-wrong-way"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES, Figure.STATE, Figure.HERE})
    needs = frozenset({"judged"})
    voided_by = frozenset({"inside"})
    subject = EVALUATION
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every comparison that keeps the wrong model."""
        if trace.observed:
            for site, seen in _compared(trace).items():
                for claim in CLAIMS:
                    if is_refuted(claim, seen) is False:
                        yield self.finding(site, "a worse figure is kept", cause=f"{place(site)} {claim}")
            return
        yield from first_per_site(
            self._report(event, what)
            for event in trace.of(BestCompared)
            if (event.at_once or event.waits or keeps(trace, event))
            if (what := wrong(event)) and (event.at_once or trains(trace, event)) and not of_rivals(trace, event)
        )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about the same comparison, and which figures are better and kept."""
        return finding.cause == seen.cause

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether different figures were compared there, and the best one was kept."""
        seen = self._seen(trace, finding)
        if not seen:
            return False
        refuted = is_refuted(claim_in(finding.cause), seen)
        return refuted if refuted is not None else "the probe run compared too few figures"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the figures, and the one that is kept."""
        seen, claim = self._seen(trace, finding), claim_in(finding.cause)
        if seen and claim is not None:
            figures, kept = figures_and_kept(claim, seen)
            many = f"{count(len(figures), 'figure')} from {min(figures):.4g} to {max(figures):.4g}"
            end = "none is kept" if kept is None else f"{kept:.4g} is kept at the end"
            text = f"{many} {'is' if len(figures) == 1 else 'are'} compared, and {end}"
            yield fact(text, len(figures), "figures", seen[-1])

    def _seen(self, trace: Trace, finding: Finding) -> list[FiguresCompared]:
        return next((seen for site, seen in _compared(trace).items() if same_place(site, finding.site)), [])

    def _report(self, event: BestCompared, what: str) -> Finding:
        better = sentence("`{name}` is better if it is {better}", name=event.name, better=event.better)
        trail = [Step(event.figure_at, better)] if event.figure_at is not None else []
        if event.started is not None:
            trail.append(Step(event.started, "the best figure starts with this value"))
        turned = event.kept != event.better
        return self.finding(
            event.site,
            what,
            help=f"choose the {event.better} ones"
            if event.at_once
            else "turn the comparison"
            if turned
            else "start with infinity, or with minus infinity if higher is better"
            if event.renewed
            else "assign the figure to the best one where the model is kept",
            trail=trail,
            cause=f"{place(event.site)} {claim_of(event)}",
            edits=edits(event),
        )


def _compared(trace: Trace) -> dict[Site, list[FiguresCompared]]:
    """Return the comparisons of a run, by their places."""
    found: dict[Site, list[FiguresCompared]] = {}
    for event in trace.of(FiguresCompared):
        found.setdefault(event.site, []).append(event)
    return found
