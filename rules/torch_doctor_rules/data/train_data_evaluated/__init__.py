"""TDR708: the model is evaluated on the samples it was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Step, same_place
from torch_doctor.trace import BatchTaken, DatasetBuilt, LoaderBuilt
from torch_doctor_rules.data.train_data_evaluated.copied import Copied
from torch_doctor_rules.data.train_data_evaluated.overlaps import Overlaps
from torch_doctor_rules.data.train_data_evaluated.redrawn import Redrawn
from torch_doctor_rules.judging.comparison import Comparison
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.split_parts import EVALUATES
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward, Forward, Site, Trace

REDRAWN = "split the data once, and train and evaluate on the parts of that split"
COPIED = "split the samples first, then copy only those for training"
KEPT_OUT = "evaluate on samples that are held out from training"
_DRAWN = "`{name}` is split anew in each epoch: it evaluates samples that earlier epochs trained on"
_RESPLIT = "`{name}` is a part of another random split: it evaluates samples that are trained on"
_COPIES = "samples were copied before this split, so `{name}` evaluates copies of training samples"
_SHARED = "`{name}` is used for training and for evaluation: the score does not measure generalization"
_SAME = "`{name}` evaluates training samples: the score does not measure generalization"


class TrainDataEvaluated(Comparison):
    """Training and validation use the same samples, so the score does not measure generalization.

    ## Why is this bad?
    The validation score estimates how the model performs on unseen data. On the training samples it only measures how well
    the model has memorized them. Overfitting stays invisible, and early stopping and checkpoint selection rely on the wrong
    number.

    The same happens if samples are copied before the split, for instance to balance the classes with `torch.cat`,
    `repeat`, `np.repeat` or `ConcatDataset`: copies of one sample then end up in both parts. Split first, and
    copy the training samples only. It also happens if the data is split twice at random, with other random numbers: the
    second split has other parts, and some of its evaluation samples are training samples of the first.

    ## Example
    ```python
    train_set, val_set = random_split(data, [64, 32])
    train_loader = DataLoader(data, batch_size=16, shuffle=True)
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(val_set, batch_size=16):
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
     train_set, val_set = random_split(data, [64, 32])
    -train_loader = DataLoader(data, batch_size=16, shuffle=True)
    +train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
     for x, y in train_loader:
    ```

    ## How the probe confirms it
    Training batches and evaluation batches come from the same dataset object, from a dataset and a subset of it, or from two
    library datasets that were created with the same arguments. If the data is split again in every epoch, samples that were
    trained on in one epoch are evaluated in a later one. If samples were copied before the split, some evaluated samples
    equal samples that are trained on.

    ## When it is not reported
    - If training reads a part of the evaluated dataset that is not the only one of a split that any loader reads.
    - If other samples are evaluated as well: the score on training data is then shown for comparison. If a trainer of Lightning
      validates while it trains, only its validation loaders count as others, and the `eval_dataset` of a transformers `Trainer`
      is reported in any case.
    - With samplers, unless training draws all samples of the dataset, or both use a `SubsetRandomSampler` and it is the same
      one, or some of their indices are surely the same.
    - For copies to which something is added or that are changed otherwise, if only the inputs or only the targets are
      repeated, and for the rows of a literal list, such as those of a truth table.
    - For slices and subsets whose bounds are unknown, or that overlap each other by the length of a window.
    - For datasets that a comprehension or `map` creates from an unknown number of parts.
    - For datasets that draw random samples regardless of the index.
    - For repeated splits that use a generator or a seed, or train a new model each time.
    - If another item of the batch selects or weights the samples of the training loss, or if `__getitem__` treats some indices
      differently: samples may then be read without learning from their labels. The probe does not confirm findings if training
      batches contain more than two tensors besides masks and types of tokens.
    - If the model is replaced, reset, loaded or gets a new optimizer before it is trained further, for instance after a
      learning-rate range test.
    - If the evaluation does not compute the same loss as training. For models that compute their own loss, if the evaluation
      does not sum it up.

    For datasets from a hub, the splits and the results of `select`, `shuffle` and similar methods are recognized.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
    """

    code = "TDR708"
    name = "train-data-evaluated"
    level = Level.ERROR
    witness = "SP"
    shown_by = "evaluation of the batches of this loader"
    voided_by = frozenset({"shapes"})
    subject = EVALUATION
    needs_end = True

    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield a finding, with its loader, where only training samples are evaluated."""
        overlaps = Overlaps(trace)
        for loader, forward, site, other in overlaps.found():
            yield loader.loader, self._report(overlaps.loaders, loader, forward, site, other)
        for loader, backward, forward, idle in overlaps.shared():
            yield loader.loader, self._shared(overlaps.loaders, loader, backward, forward, idle)
        for found in trace.view(Redrawn).found():
            text = message(_DRAWN if found.looped else _RESPLIT, name=overlaps.loaders.name(found.evaluated))
            yield found.evaluated.loader, self.finding(found.site, text, help=REDRAWN, trail=found.trail())
        for copy in trace.view(Copied).found():
            text = message(_COPIES, name=overlaps.loaders.name_where_built(copy.evaluated))
            yield copy.evaluated.loader, self.finding(copy.site, text, help=COPIED, trail=copy.trail())

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loader was used for evaluation."""
        sites = [loader.site for loader, _ in trace.view(Loaders).evaluating()]
        evaluated = any(same_place(step.site, site) for step in finding.trail for site in sites)
        return "the samples that its dataset contains are unknown" if evaluated else False

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether the same rows are no window that reaches back over a bound, and no score of training rows alone.

        Of a split that is drawn anew, and of samplers, the source has to say that nobody begins with other weights each
        time; of a data set beside one part of it, that this is a part of a split.
        """
        loaders = list(at(trace, finding.site, LoaderBuilt))
        if finding.help in (REDRAWN, COPIED) or any(loader.indexed for loader in loaders):
            return False
        trained = {loader.dataset for step in finding.trail[:1] for loader in at(trace, step.site, LoaderBuilt)}
        evaluated = {loader.dataset for loader in loaders}
        return Overlaps(trace).shown_by_run(trained, evaluated, list(at(trace, finding.site, DatasetBuilt)))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are at one place; of copies, whether both evaluate the same loader."""
        copied = finding.help == COPIED and any(same_place(step.site, seen.trail[1].site) for step in finding.trail)
        return copied or super().same(finding, seen)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many batches of training samples were evaluated."""
        loaders = trace.view(Loaders)
        for forward in loaders.evaluations():
            if any(same_place(each.site, forward.site) for each in finding.trail):
                taken = sum(event.loader == forward.inputs.loader for event in trace.of(BatchTaken))
                text = f"evaluated {count(taken, 'batch', 'batches')} of samples that are also trained on"
                yield fact(text, taken, "batches", forward)
                return

    def _shared(
        self, loaders: Loaders, loader: LoaderBuilt, backward: Backward, forward: Forward, idle: LoaderBuilt
    ) -> Finding:
        return self.finding(
            loaders.used(loader, forward),
            message(_SHARED, name=loaders.name(loader)),
            help=KEPT_OUT,
            trail=[
                Step(backward.site, "the model is trained on its batches here"),
                Step(idle.site, "this loader is never used"),
                Step(forward.site, EVALUATES),
            ],
        )

    def _report(
        self, loaders: Loaders, loader: LoaderBuilt, forward: Forward, site: Site, other: LoaderBuilt
    ) -> Finding:
        return self.finding(
            site,
            message(_SAME, name=loaders.name_where_built(loader) if site == loader.site else loaders.name(loader)),
            help=KEPT_OUT,
            trail=[
                Step(other.site, "the samples are used for training here"),
                Step(loader.site, "the same samples are used for evaluation here"),
                Step(forward.site, EVALUATES),
            ],
        )
