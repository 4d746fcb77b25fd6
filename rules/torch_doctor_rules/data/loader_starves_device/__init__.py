"""TDR703: a loader that makes the GPU wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import LoaderBuilt
from torch_doctor_rules.data.loader_starves_device.feeding import CROWDED, NOT_PINNED, RESTARTED, UNATTENDED, Feeding
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.moves import on_gpu
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

SAID = {
    UNATTENDED: ("`{name}` has no workers: the GPU waits while each batch is loaded", "pass `num_workers=2` or more"),
    CROWDED: ("`{name}` has more workers than CPU cores: they slow each other down", "reduce `num_workers`"),
    RESTARTED: (
        "`{name}` restarts its workers in every epoch while the GPU waits",
        "pass `persistent_workers=True`",
    ),
    NOT_PINNED: (
        "`{name}` does not use pinned memory: each batch is copied twice on its way to the GPU",
        "pass `pin_memory=True`, and copy batches with `non_blocking=True`",
    ),
}


class LoaderStarvesDevice(Rule):
    """The settings of a data loader make the GPU wait for its batches.

    ## Why is this bad?
    - With `num_workers=0`, the training process itself reads, decodes and collates each batch while the GPU is idle.
    - Without `persistent_workers=True`, the workers are restarted in every epoch. Each of them repeats the imports and
      copies the dataset.
    - More workers than CPU cores slow each other down.
    - A batch that is not in pinned memory is copied twice on its way to the GPU.

    ## Example
    ```python
    class Roots(Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, index):
            return torch.full((4,), index / 64), torch.tensor([index**0.5])


    loader = DataLoader(Roots(), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -loader = DataLoader(Roots(), batch_size=16, shuffle=True)
    +loader = DataLoader(Roots(), batch_size=16, shuffle=True, num_workers=2, pin_memory=True)
     model = nn.Linear(4, 1).cuda()
    ```

    ## Fix safety
    The fix is unsafe because workers are separate processes. They draw their own random numbers and get copies of the
    dataset. On platforms that spawn processes (macOS, Windows), the script has to create its loaders under
    `if __name__ == "__main__":`. Two workers are a starting point: measure to find the best number.

    ## How the probe confirms it
    At run time, the loader has these settings, and its batches go through a model that is moved to a GPU. On a machine with a
    GPU, the number of workers is compared with the number of CPU cores available to the script.

    ## When it is not reported
    - For workers whose dataset may change between epochs, or that are used for a single pass.
    - If the settings are unknown, or nothing shows that the model is on a GPU.

    For the following datasets, only more workers than CPU cores are reported, which are too many for any dataset:

    - Datasets in memory (`TensorDataset`, lists, a `__getitem__` that calls nothing).
    - Streams.
    - Datasets and loaders that are not analyzed, that a library loads in its own way, or that handle devices themselves.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
    - https://docs.pytorch.org/docs/stable/data.html#memory-pinning
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#enable-asynchronous-data-loading-and-augmentation
    """

    code = "TDR703"
    name = "loader-starves-device"
    level = Level.ADVICE
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.BATCHES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every loader that feeds a GPU with such settings."""
        feeding = Feeding(trace)
        for loader, how, use in feeding.starving():
            text, remedy = SAID[how]
            yield self.finding(
                loader.site,
                message(text, name=feeding.loaders.name_where_built(loader)),
                help=remedy,
                trail=[Step(use.site, "its batches go to the GPU here")],
                edits=_settings(feeding, loader, how),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loader has settings that do not make the GPU wait."""
        built = at(trace, finding.site, LoaderBuilt)
        if not built or not on_gpu(trace):
            return "no model is on a GPU in this run" if built else False
        good = all(loader.pinned and (loader.workers or 0) > 0 and loader.persistent for loader in built)
        return good or "the run does not show that its batches go from the dataset to a GPU"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the settings of the loader."""
        for loader in at(trace, finding.site, LoaderBuilt)[:1]:
            workers, pinned = loader.workers or 0, "" if loader.pinned else "not "
            cores = "" if loader.cores is None else f" for {count(loader.cores, 'core')}"
            yield fact(f"{count(workers, 'worker')}{cores}, memory {pinned}pinned", workers, "workers", loader)


def _settings(feeding: Feeding, loader: LoaderBuilt, how: str) -> list[Keyword]:
    """What lets the GPU no longer wait; how many workers are too many, a trace does not say."""
    if how is CROWDED or feeding.trace.observed:
        return []
    settings = [Keyword(loader.site, "num_workers", "2", 5, "0")] if how is UNATTENDED else []
    if loader.pinned is False:
        settings.append(Keyword(loader.site, "pin_memory", "True", expected="False"))
    if how is RESTARTED or (how is UNATTENDED and feeding.again(loader)):
        settings.append(Keyword(loader.site, "persistent_workers", "True", expected="False"))
    if how is RESTARTED:  # torch refuses workers that persist where an option says that there are none
        settings.append(Keyword(loader.site, "num_workers", str(loader.workers), 5, str(loader.workers)))
    return settings
