"""TDR704: the workers of a loader draw the same random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import ANY, WorkersAlike, claims
from torch_doctor_rules.judging.evidence import count, counted, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import WORKERS
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

APART = claims.WORKERS_DIFFER
SEEDED_APART = (1, 9)
"""The first torch that seeds NumPy in each worker apart."""
OLD = "before torch 1.9"
"""Begins the message on NumPy's own generator."""
TEXTS = {
    "generator": "every worker starts with a copy of `{name}`: all draw the same numbers in every epoch",
    "seed": "`{name}` gives every worker the same seed: all draw the same numbers in every epoch",
    "numpy": f"{OLD}, workers share NumPy's random state: `{{name}}` draws the same numbers in each",
}
HELP = "seed each worker: `np.random.default_rng(torch.initial_seed() % 2**32)` in `worker_init_fn` or on first use"


class WorkerSeedsIdentical(Rule):
    """The workers of the training loader draw identical random numbers, or repeat them in every epoch.

    ## Why is this bad?
    Each worker gets a copy of the dataset, including the state of any random generator it stores. Augmentations therefore
    repeat across workers, and repeat again in every epoch when the workers are restarted. torch seeds its own generator,
    `random` and, since 1.9, NumPy differently in each worker, unless a `worker_init_fn` sets the same seed everywhere. The
    training data is less varied than it appears.

    ## Example
    ```python
    import numpy as np

    class Noisy(Dataset):
        def __init__(self): self.rng = np.random.default_rng(0)
        def __len__(self): return 32
        def __getitem__(self, index): return torch.tensor(self.rng.normal(index, 1.0, 4)).float(), float(index)

    if __name__ == "__main__":
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
        for x, y in DataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x).squeeze(1), y.float()).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
    -import numpy as np
    -
     class Noisy(Dataset):
    -    def __init__(self): self.rng = np.random.default_rng(0)
         def __len__(self): return 32
    -    def __getitem__(self, index): return torch.tensor(self.rng.normal(index, 1.0, 4)).float(), float(index)
    +    def __getitem__(self, index): return torch.normal(float(index), 1.0, (4,)), float(index)
    ```

    ## How the probe confirms it
    The probe reads a sample the way two workers would, each with its own seed and its own copy of the initial dataset. The
    sample is random, yet identical in both.

    ## When it is not reported
    - Without workers, or if their number is unknown.
    - For loaders that are not used for training.
    - If a `worker_init_fn` seeds the workers differently, or the dataset creates its generator again.
    - For NumPy's global generator, unless the project allows torch before 1.9.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader
    - https://docs.pytorch.org/docs/stable/data.html#randomness-in-multi-process-data-loading
    """

    code = "TDR704"
    name = "worker-seeds-identical"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"workers"})
    voided_by = frozenset({"shapes"})
    subject = WORKERS
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every generator or seed that training workers share."""
        loaders = trace.view(Loaders)
        for event in first_per_site(trace.of(WorkersAlike)):
            old = event.cause != "numpy" or (trace.torch() != ANY and trace.torch().oldest < SEEDED_APART)
            if old and (loaders.trains(event.loader) or trace.observed):
                yield self.finding(
                    event.site,
                    message(TEXTS.get(event.cause, TEXTS["generator"]), name=event.name),
                    help=HELP,
                    trail=[
                        Step(event.loader_site, f"{count(event.workers, 'worker reads', 'workers read')} the samples"),
                        Step(event.drawn_at, "each sample draws random numbers here"),
                    ],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether samples were read as by two workers, and differed."""
        apart = any(counted(trace, step.site, APART) for step in finding.trail[:1])
        return (
            "this version of torch seeds NumPy differently in each worker"
            if apart and finding.message.startswith(OLD)
            else apart
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield that two workers drew the same sample."""
        for event in trace.of(WorkersAlike):
            if any(same_place(step.site, event.loader_site) for step in finding.trail[:1]):
                yield fact("a random sample is identical in two workers with different seeds", 2, "workers", event)
                return

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether the probe reports the same loader."""
        return any(same_place(step.site, seen.site) for step in finding.trail[:1])
