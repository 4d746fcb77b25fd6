"""TDR414: the set whose score is reported also chooses the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Level, Rule, Step
from torch_doctor.trace import BatchTaken, BestCompared, FigureShown, Forward
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.forward_places import batch_of
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Site, Trace

_FOR_CHOICE = frozenset({"val", "valid", "validation", "validate", "dev", "development", "tune", "tuning", "train"})
"""Words in the names of sets that are there to choose a model."""
_FOR_REPORT = "test"
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")


class SelectedOnTest(Rule):
    """The set whose score is reported chooses the epoch, the threshold or the end of training.

    ## Why is this bad?
    The best of many scores is too good: part of it is luck with the samples of that set. A model that is chosen by the
    test set has a test score that new data will not reach, and the more epochs, thresholds or settings compete, the
    larger the difference. Results that are chosen this way cannot be compared with others.

    ## Example
    ```python
    test_loader = DataLoader(test_set, batch_size=32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best_loss = float("inf")
    for epoch in range(3):
        for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        test_loss = 0.0
        with torch.no_grad():
            for x, y in test_loader:
                test_loss += nn.functional.mse_loss(model(x), y, reduction="sum").item() / len(test_set)
        if test_loss < best_loss:
            best_loss = test_loss
            torch.save(model.state_dict(), "best.pt")
    print(f"test loss: {best_loss:.4f}")
    ```

    ## Use instead
    ```diff
    +train_set, valid_set = random_split(train_set, [48, 16])
    +valid_loader = DataLoader(valid_set, batch_size=16)
     test_loader = DataLoader(test_set, batch_size=32)
     optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
     best_loss = float("inf")
    ...
    +    valid_loss = 0.0
         test_loss = 0.0
         with torch.no_grad():
    +        for x, y in valid_loader:
    +            valid_loss += nn.functional.mse_loss(model(x), y, reduction="sum").item() / len(valid_set)
             for x, y in test_loader:
                 test_loss += nn.functional.mse_loss(model(x), y, reduction="sum").item() / len(test_set)
    -    if test_loss < best_loss:
    -        best_loss = test_loss
    +    if valid_loss < best_loss:
    +        best_loss, chosen_loss = valid_loss, test_loss
             torch.save(model.state_dict(), "best.pt")
    -print(f"test loss: {best_loss:.4f}")
    +print(f"test loss: {chosen_loss:.4f}")
    ```

    ## How the probe confirms it
    It does not: a run shows the scores, and not which of them is the result.

    ## When it is not reported
    - No score of the set is shown after the loop that chooses.
    - Another set, which chooses nothing, is evaluated after that loop: its score is the result, whatever the names are.
    - The set is there to choose: its name says validation or development, or the model is also trained on it.
    - It is the only set that is evaluated, or scores of several sets are shown at the end, and its name does not say test.
    - It is unknown which loader the samples come from.

    ## References
    - https://scikit-learn.org/stable/modules/cross_validation.html
    """

    code = "TDR414"
    name = "selected-on-test"
    level = Level.ADVICE
    witness = "S"
    subject = EVALUATION

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every choice by a set whose score is the result."""
        if not trace.observed:
            yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        loaders = trace.view(Loaders)
        taken = {id(event.scope): event.loader for event in trace.of(BatchTaken)}
        for event in trace.of(BestCompared):
            chosen = _loaders(trace, taken, event.forwards)
            if len(chosen) != 1 or not event.renewed or any(loaders.trains(each) for each in chosen):
                continue
            (loader,) = chosen
            shown = [each for each in trace.of(FigureShown) if each.index > event.index and not _within(each, event)]
            results = [each for each in shown if loader in _loaders(trace, taken, each.forwards)]
            words = _words(f"{_name(loaders, loader)} {event.name}")
            if results and loader in loaders.built and self._is_result(trace, event, loader, words):
                others = any(_loaders(trace, taken, each.forwards) - {loader, 0} for each in shown)
                if _FOR_REPORT in words or (not others and len(_evaluated(trace, loaders)) > 1):
                    yield self._report(loaders, event, _place(trace, event), results[-1], loader)

    def _is_result(self, trace: Trace, event: BestCompared, loader: int, words: set[str]) -> bool:
        """Return whether no other set is the one that matters: none is evaluated after the choice but those for choices."""
        loaders = trace.view(Loaders)
        if words & _FOR_CHOICE and _FOR_REPORT not in _words(_name(loaders, loader)):
            return False
        return not any(
            taken.index > event.index
            and taken.loader != loader
            and not _within(taken, event)
            and not loaders.trains(taken.loader)
            and not _words(_name(loaders, taken.loader)) & _FOR_CHOICE
            for taken in trace.of(BatchTaken)
        )

    def _report(self, loaders: Loaders, event: BestCompared, at: Site, shown: FigureShown, loader: int) -> Finding:
        name = _name(loaders, loader) or "the loader"
        return self.finding(
            at,
            message("the score of `{name}` chooses the model, and is reported as the result", name=name),
            help="choose by a validation set, and evaluate the test set once, at the end",
            trail=[
                Step(loaders.built[loader].site, "this set chooses"),
                *([Step(event.site, "it is compared with the best score here")] if at != event.site else []),
                Step(shown.site, "its score is shown as the result"),
            ],
            cause=place(at),
        )


def _loaders(trace: Trace, taken: dict[int, int], forwards: frozenset[int]) -> set[int]:
    """Return the loaders whose batches some forwards get; 0 for a forward outside of loops over batches."""
    found = set()
    for forward in trace.at(*sorted(forwards)):
        if isinstance(forward, Forward):
            batch = batch_of(forward)
            found.add(0 if batch is None else taken.get(id(batch), 0))
    return found


def _evaluated(trace: Trace, loaders: Loaders) -> set[int]:
    return {event.loader for event in trace.of(BatchTaken) if not loaders.trains(event.loader)}


def _within(event: Event, chosen: BestCompared) -> bool:
    """Return whether an event is in the innermost loop around a choice."""
    around = chosen.scope.iterations()
    return bool(around) and any(each.loop == around[-1].loop for each in event.scope.iterations())


def _place(trace: Trace, event: BestCompared) -> Site:
    """Return where a score is compared; where a function is given it for that, the call."""
    inside = {id(scope) for forward in trace.at(*sorted(event.forwards)) for scope in forward.scope.chain()}
    calls = [scope for scope in event.scope.chain() if scope.called_at is not None and id(scope) not in inside]
    return calls[0].called_at or event.site if calls else event.site


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _name(loaders: Loaders, loader: int) -> str:
    built = loaders.built.get(loader)
    return built.called if built is not None else ""
