"""TDR718: a random split separates samples that share data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Step, same_place
from torch_doctor.trace import SamplesShared
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.comparison import Comparison
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.split_parts import SplitParts
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.split_parts import Parts

_APART = "split the series by time first, with a gap of one window, then cut each part into windows"
_UNSEEN = "the probe found no evaluated sample that was made of the same row as a training sample"
_FIRST = "split the original samples first, and add altered copies to the training part only"
_ALTERED = "`{name}` evaluates altered copies of training samples: the score is too optimistic"
_GROUPS = "`{name}` evaluates samples of groups that are also in training: the score is too optimistic"
_TOGETHER = "split by groups here, too, so that all samples of a group are in one part"
_GROUPLESS = "a run does not show which samples belong to one group"
_COMMON = {
    "windows": "{} of {} evaluated windows contain consecutive numbers of training windows",
    "copies": "{} of {} evaluated samples were made of the same row as a training sample",
}
_OVERLAP = "`{name}` evaluates windows that overlap training windows: the score is too optimistic"


class SplitSharesData(Comparison):
    """A split puts what belongs together into training and into evaluation: overlapping windows, altered copies, or groups.

    ## Why is this bad?
    Neighboring windows of a series have most of their values in common. If windows are split at random, nearly every
    window of the evaluation overlaps with windows of training, often together with the values to predict. The score then
    measures how well the model remembers the series, and not how well it predicts new values. The same holds for altered
    copies of a sample: with noise, flipped or scaled, interpolated to balance the classes, or read twice with different
    transforms. It also holds for samples of one group, such as the recordings of one patient: if a script keeps them
    together for cross-validation, a test set that was drawn at random before shares them all the same.

    ## Example
    ```python
    series = torch.sin(torch.arange(200) / 5.0) + 0.1 * torch.randn(200).cumsum(0)
    windows = series.unfold(0, 9, 1)
    data = TensorDataset(windows[:, :8], windows[:, 8:])
    train_set, val_set = random_split(data, [150, len(data) - 150])
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(val_set, batch_size=16):
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
     data = TensorDataset(windows[:, :8], windows[:, 8:])
    -train_set, val_set = random_split(data, [150, len(data) - 150])
    +train_set = torch.utils.data.Subset(data, range(150))
    +val_set = torch.utils.data.Subset(data, range(159, len(data)))
     model = nn.Linear(8, 1)
    ```

    ## How the probe confirms it
    It compares the exact numbers in the first batches of both loaders: samples of the evaluation contain the same
    consecutive numbers as samples of training. If it finds none, the finding stays undecided: few batches were read, or
    each window is scaled by itself. For altered copies, it looks for rows that are concatenated with rows made of them, one
    of each, and finds these in both loaders; in data sets that are concatenated, it looks which rows and files each sample is
    read from. Samples count only if their labels are equal. If it finds none, or the copies are made in another way, as by
    interpolation, the finding stays undecided. For groups, it always stays undecided: a run does not show which samples
    belong together.

    ## When it is not reported
    - If the split is by time: slices, ranges of indices, `shuffle=False`, `TimeSeriesSplit`, or groups.
    - If the windows do not overlap, because each starts where the one before it ends, or if the step or the length of the
      windows is unknown.
    - If the windows are cut, or the copies made, after the split.
    - If the labels are not copied together with the altered samples, or it is unknown how the samples were altered.
    - If no splitter of scikit-learn gets the groups: a column alone may be a feature.
    - If something is fitted before the split (TDR707), or samples are copied before it (TDR708).

    ## References
    - https://scikit-learn.org/stable/modules/cross_validation.html#time-series-split
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
    """

    code = "TDR718"
    name = "split-shares-data"
    level = Level.WARNING
    witness = "SP"
    only_confirms = True
    needs = frozenset({"altered", "windows"})
    needs_end = True

    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield a finding, with its loader, for every random split of overlapping windows whose parts train and evaluate."""
        for how in _COMMON if trace.run is not None else ("",):
            for each in trace.view(SplitParts).found():
                if _shares(trace, each, how):
                    yield each.evaluated.loader, self._report(each, trace, how)

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the first finding of each kind at each place: a run may prove copies where the source shows windows."""
        found = [finding for _, finding in self.compared(trace)]
        for kind in dict.fromkeys(finding.help for finding in found):
            yield from first_per_site(finding for finding in found if finding.help == kind)

    def _report(self, parts: Parts, trace: Trace, how: str) -> Finding:
        name = trace.view(SplitParts).loaders.name_where_built(parts.evaluated)
        if how == "copies" or (parts.split is not None and parts.split.altered):
            text, cause = message(_ALTERED, name=name), place(parts.evaluated.site)
            return self.finding(parts.site, text, help=_FIRST, trail=parts.trail(), cause=cause)
        if parts.split is not None and parts.split.grouped_at is not None:
            trail = [*parts.trail(), Step(parts.split.grouped_at, "the samples of one group are kept together here")]
            return self.finding(parts.site, message(_GROUPS, name=name), help=_TOGETHER, trail=trail)
        cut = trace.view(SplitParts).windows(parts)
        trail = [*parts.trail(), *([Step(cut, "overlapping windows are cut here")] if cut is not None else [])]
        return self.finding(parts.site, message(_OVERLAP, name=name), help=_APART, trail=trail)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether samples of both loaders were compared."""
        if finding.help == _FIRST:
            return _UNSEEN
        if finding.help == _TOGETHER:
            return _GROUPLESS
        events = trace.of(SamplesShared)
        pairs = [(each.evaluated.loader, each.trained.loader) for each in self._seen(trace, finding)]
        compared = any(event.how == "windows" and (event.loader, event.other) in pairs for event in events)
        return "the first batches of both loaders have no consecutive numbers in common" if compared else False

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both evaluate the same loader, and its samples share the same."""
        steps = finding.trail[1:2] if finding.help == seen.help else []
        return any(same_place(step.site, seen.trail[1].site) for step in steps)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many evaluated samples share something with training samples."""
        how = "copies" if finding.help == _FIRST else "windows"
        for each in self._seen(trace, finding):
            if (shared := _compared(trace, each, how)) is not None:
                yield fact(_COMMON[how].format(shared.shared, shared.samples), shared.shared, "samples", shared)
                return

    @staticmethod
    def _seen(trace: Trace, finding: Finding) -> Iterator[Parts]:
        for each in trace.view(SplitParts).found():
            if any(same_place(step.site, each.evaluated.site) for step in finding.trail[1:2] or finding.trail):
                yield each


def _shares(trace: Trace, parts: Parts, how: str) -> bool:
    """Whether both parts have overlapping windows of one series, and nothing more specific is wrong with the split."""
    split = parts.split
    if split is not None:
        found = split.altered or split.grouped_at is not None or trace.view(SplitParts).windows(parts) is not None
        return found and not split.fits and not split.copied
    return _compared(trace, parts, how) is not None


def _compared(trace: Trace, parts: Parts, how: str) -> SamplesShared | None:
    """How many samples of both loaders have something in common, as a run counted them; None if no sample has."""
    pair = parts.evaluated.loader, parts.trained.loader
    found = (each for each in trace.of(SamplesShared) if (each.loader, each.other) == pair and each.how == how)
    return next((each for each in found if each.shared), None)
