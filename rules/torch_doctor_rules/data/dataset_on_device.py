"""TDR705: the samples of a dataset are on the GPU in worker processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import LoaderBuilt, RowMoved, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.subjects import WORKERS
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


_MOVES = "`{name}` moves samples to the GPU in worker processes, where CUDA fails or is slow"
_HELD = "`{name}` keeps samples on the GPU for worker processes, where CUDA fails or is slow"


class DatasetOnDevice(Rule):
    """A dataset or a collate function that is used with workers moves samples to the GPU, or a dataset keeps them there.

    ## Why is this bad?
    Each worker is a separate process. A forked worker cannot use CUDA if the parent process already does ("Cannot
    re-initialize CUDA in forked subprocess"). A spawned worker needs its own CUDA context and has to share every tensor
    between processes. Copying samples one at a time is also slower than copying a batch. The same holds for a `collate_fn`,
    which runs in the workers, too, and for samples that are on the GPU before the workers start, because `__init__` or the
    script moves all of them there.

    ## Example
    ```python
    class Samples(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            return torch.randn(4).to(device)


    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(Samples(), batch_size=4, shuffle=True, num_workers=2):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    ```

    ## Use instead
    ```diff
         def __getitem__(self, index):
    -        return torch.randn(4).to(device)
    +        return torch.randn(4)
    ...
     for batch in DataLoader(Samples(), batch_size=4, shuffle=True, num_workers=2):
    -    model(batch).square().mean().backward()
    +    model(batch.to(device)).square().mean().backward()
         optimizer.step()
    ```

    ## How the probe confirms it
    The probe runs the script a second time with a simulated GPU. A tensor is moved to that GPU while a loader with workers
    reads its samples, or a batch of such a loader comes from samples that are already there.

    ## When it is not reported
    - Without workers, or if their number is unknown.
    - For a move to the CPU or to a device that is an option, and if an option decides whether samples are moved.
    - If `multiprocessing_context` is passed. For samples that are on the GPU before the workers start, also if the script
      calls `set_start_method`.
    - For tensors that no sample is read from, such as statistics of the dataset.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    - https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
    """

    code = "TDR705"
    name = "dataset-on-device"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"device"})
    voided_by = frozenset({"shapes"})
    subject = WORKERS

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every move of samples to the GPU in worker processes."""
        for moved in trace.of(RowMoved):
            if moved.workers:
                text = _HELD if moved.held else _MOVES
                note = f"{count(moved.workers, 'worker reads', 'workers read')} the samples"
                yield self.finding(
                    moved.site,
                    message(text, name=moved.class_name),
                    help="keep samples on the CPU, and move each batch in the training loop",
                    trail=[] if moved.loader_site is None else [Step(moved.loader_site, note)],
                    cause=moved.class_name,
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether samples were moved without workers."""
        if at(trace, finding.site, RowMoved):
            return True
        built = any(at(trace, step.site, LoaderBuilt) for step in finding.trail)
        return "the script did not request a GPU in this run" if built else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the number of moves, and of workers."""
        for moved in at(trace, finding.site, RowMoved):
            what = "read from the GPU by" if moved.held else "moved to the GPU for"
            text = f"{count(moved.times, 'tensor')} {what} a loader with {count(moved.workers or 0, 'worker')}"
            yield fact(text, moved.times, "tensors", moved)
            return
