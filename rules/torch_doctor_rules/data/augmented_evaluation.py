"""TDR706: evaluation data is augmented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Step, same_place
from torch_doctor.trace import Backward, DatasetBuilt, LoopKind, claims
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.comparison import Comparison
from torch_doctor_rules.judging.evidence import count, fact, number
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Forward, LoaderBuilt, Site, Trace

    _Found = tuple[LoaderBuilt, DatasetBuilt, Forward]


class AugmentedEvaluation(Comparison):
    """Random transforms are applied to validation or test data.

    ## Why is this bad?
    Augmentation makes samples harder on purpose: a crop cuts off the object, a rotation turns a 6 into a 9. On held-out
    data it lowers the score and changes it in every evaluation, so epochs, models and papers cannot be compared.

    ## Example
    ```python
    class Jitter:
        def __call__(self, sample): return sample + torch.randn(4)

    class Samples(Dataset):
        def __init__(self, first, transform): self.first, self.transform = first, transform
        def __len__(self): return 64
        def __getitem__(self, index): return self.transform(torch.full((4,), self.first + index / 64)), index / 64

    for x, y in DataLoader(Samples(0.0, Jitter()), batch_size=16, shuffle=True):
        nn.functional.mse_loss(model(x).squeeze(1), y.float()).backward()
        optimizer.step(), optimizer.zero_grad()
    with torch.no_grad():
        for x, y in DataLoader(Samples(1.0, Jitter()), batch_size=16):
            print(nn.functional.mse_loss(model(x).squeeze(1), y.float()).item())
    ```

    ## Use instead
    ```diff
     with torch.no_grad():
    -    for x, y in DataLoader(Samples(1.0, Jitter()), batch_size=16):
    +    for x, y in DataLoader(Samples(1.0, nn.Identity()), batch_size=16):
             print(nn.functional.mse_loss(model(x).squeeze(1), y.float()).item())
    ```

    ## How the probe confirms it
    The probe reads samples of a dataset that is only used for evaluation several times, and they differ.

    ## When it is not reported
    - For samples that are evaluated several times (test-time augmentation).
    - If a sample consists of several random views of one, as in self-supervised training.
    - If the transform depends on an option, has a probability of 0, or draws from a range with a single value
      (`RandomRotation((90, 90))`).
    - For datasets that draw random samples regardless of the index.
    - If the model gets a part of the sample that no transform changes.
    - If nothing shows that the batches are evaluated. A batch that is taken occasionally may be meant for display.

    In `__getitem__`, random changes of a sample are detected (`if random() < 0.5: image = image.flip(-1)`), but not the random
    choice of another sample. The probe alone does not report a dataset if every part of its samples changes, if several parts
    of one shape change, or if the unchanged part is as large as the changed one.

    ## References
    - https://docs.pytorch.org/vision/stable/transforms.html
    - https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
    """

    code = "TDR706"
    name = "augmented-evaluation"
    level = Level.ERROR
    witness = "SP"
    shown_by = "sample of this dataset that was read twice"
    needs = frozenset(("rows",))
    voided_by = frozenset({"shapes"})
    subject = EVALUATION

    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Every dataset that is only evaluated and whose rows surely change each time; the first one of a shared transform."""
        loaders = trace.view(Loaders)
        trained = {loader.dataset for loader, _ in loaders.training()}
        alone = {loader.dataset for loader, _ in loaders.evaluating()} - trained
        shared = {
            site: "training" if dataset.dataset in trained else "other data"
            for dataset in sorted(trace.of(DatasetBuilt), key=lambda each: each.dataset in trained)
            for site, _ in _augments(loaders, dataset)
            if dataset.dataset not in alone
        }
        found: dict[Site, list[_Found]] = {}
        for loader, forward in loaders.evaluating():
            dataset = loaders.dataset(loader)
            if forward.inputs.chance is False or dataset is None or dataset.drawn or _repeats(loaders, loader, forward):
                continue
            augments = _augments(loaders, dataset)
            if augments or any(number(trace, claims.ROWS_CHANGE, each) for each in loaders.whole(dataset)):
                cause = next((site for site, _ in augments), dataset.site)
                found.setdefault(cause, []).append((loader, dataset, forward))
        for cause, affected in found.items():
            for first in range(len(affected)):
                yield self._report(loaders, affected[first:], shared.get(cause, ""), place(cause))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether samples of the dataset were read several times without a change."""
        changes = [number(trace, claims.ROWS_CHANGE, dataset) for dataset in self._meant(trace, finding)]
        if any(changes):
            return "its samples change, but nothing shows that they are used for evaluation"
        return any(rows is not None for rows in changes)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many samples changed."""
        for dataset in self._meant(trace, finding):
            if (changed := number(trace, claims.ROWS_CHANGE, dataset)) is not None:
                yield fact(f"{count(changed, 'sample')} of the first few changed when reread", changed, "rows", dataset)
                return

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether the probe reports the same dataset."""
        return any(same_place(site, seen.site) for site in _sites(finding))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether chance is no part of the task, as it is where noise is to be taken away, or all of a row is drawn."""
        return any(number(trace, claims.ROWS_CHANGE_BESIDE_TARGETS, each) for each in self._meant(trace, finding))

    def _meant(self, trace: Trace, finding: Finding) -> Iterator[DatasetBuilt]:
        loaders = trace.view(Loaders)
        for dataset in map(loaders.dataset, loaders.built.values()):
            if dataset is not None and any(same_place(site, dataset.site) for site in _sites(finding)):
                yield dataset

    def _report(self, loaders: Loaders, affected: list[_Found], used: str, cause: str) -> tuple[int, Finding]:
        (loader, dataset, forward), part = affected[0], affected[0][0].indexed
        site, name = next(iter(_augments(loaders, dataset)), (dataset.site, ""))
        text = "`{name}` evaluates on randomly transformed samples: the score changes each time"
        return loader.loader, self.finding(
            (loader if part else dataset).site if used else site,
            message(text, name=loaders.name(loader)),
            help="use separate transforms without randomness for the evaluation data",
            trail=[
                *([Step(site, f"`{name}` transforms samples here, also for {used}")] if used else []),
                *[Step(dataset.site, "the evaluation dataset uses it here")] * bool(name and (part or not used)),
                *(Step(each.site, "this evaluation dataset uses it, too") for _, each, _ in affected[1:]),
                Step(forward.site, "its batches are evaluated here: no `backward()` follows"),
            ],
            cause=cause,
        )


def _augments(loaders: Loaders, dataset: DatasetBuilt) -> tuple[tuple[Site, str], ...]:
    """Return the random transforms of a dataset; a subset has those of the complete one."""
    return next((each.augments for each in loaders.whole(dataset) if each.augments), ())


def _sites(finding: Finding) -> list[Site]:
    return [finding.site, *(step.site for step in finding.trail)]


def _repeats(loaders: Loaders, loader: LoaderBuilt, forward: Forward) -> bool:
    """Return whether samples are evaluated several times, as in test-time augmentation; other indices are other samples."""
    same = [(loader.dataset, indices) for indices in (0, loader.indexed)]
    readers = {each.site for each in loaders.built.values() if (each.dataset, each.indexed) in same}
    around = [scope for scope in forward.scope.iterations() if scope.loop_kind is LoopKind.PLAIN]
    trained = {scope.loop for event in loaders.trace.of(Backward) for scope in event.scope.iterations()}
    return len(readers) > 1 or any(scope.loop not in trained for scope in around)
