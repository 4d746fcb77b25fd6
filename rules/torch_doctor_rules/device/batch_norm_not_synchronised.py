"""TDR815: batch norm over the few samples of one process, or of one micro-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Insert
from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor.trace import BatchNormsRan, Forward, GaveUp, GroupBegun, LoaderBuilt, ModeSet, Owned, Wrapped
from torch_doctor_rules.judging.cadence import Cadence
from torch_doctor_rules.judging.exchanges import OF_THREADS, escaped, through
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import is_path, message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.cadence import Window

FEW = 16
"""Samples per process from which batch norm is as good as with more, according to the paper that the page names."""
CONVERT = "{0} = torch.nn.SyncBatchNorm.convert_sync_batchnorm({0})"


class BatchNormNotSynchronised(Rule):
    """Batch norm uses only the few samples of one process of several, or of one micro-batch whose gradients are accumulated.

    ## Why is this bad?
    Each process normalizes with the mean and the variance of its own samples. With few samples, these are noisy, and the
    running statistics that are used in evaluation do not match. On ImageNet, the error of a ResNet-50 is 23.7 % with 16
    samples per GPU, 24.8 % with 8, 27.3 % with 4 and 34.7 % with 2 (Wu and He, "Group Normalization", 2018, table 2).
    `SyncBatchNorm` computes the statistics over all processes. Nothing does so for micro-batches: accumulating the gradients
    of 16 batches of 2 samples is not the same as a batch of 32, unless the norm does not look at other samples (group norm,
    layer norm) or uses fixed statistics.

    ## Example
    ```python
    torch.distributed.init_process_group("gloo")
    data = TensorDataset(torch.randn(64, 3, 8, 8))
    sampler = DistributedSampler(data)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 1)).to(device)
    net = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            net(x.to(device)).square().mean().backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
     net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 1)).to(device)
    +if device.type == "cuda":  # SyncBatchNorm supports GPUs only
    +    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
     net = DistributedDataParallel(net)
    ```

    ## Fix safety
    The fix is unsafe: outputs change, and the processes wait for each other in every such layer. It converts the model just
    before it is wrapped, and is offered only if the wrapped model has a name.

    ## How the probe confirms it
    It does not: the quality of the statistics shows only in the result of training on several GPUs.

    ## When it is not reported
    - With 16 or more samples per process or micro-batch, or if their number is unknown, is an option, or comes from code
      that is not analyzed.
    - If batch norm is converted, even if an option decides about it.
    - If batch norm is frozen, or a part of the model is in evaluation mode.
    - If any module is passed to code that is not analyzed.
    - For models of libraries, except torchvision models with batch norm and without `norm_layer=`.
    - If the number of micro-batches per step is unknown, one, or an option, or the optimizer steps in other places, too.
    - For `DataParallel`, process groups of one process, and frameworks that convert batch norm themselves.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
    """

    code = "TDR815"
    name = "batch-norm-not-synchronised"
    level = Level.ADVICE
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every wrapped model with batch norm and few samples per process."""
        parts_rest = any(event.training is not True and not event.whole for event in trace.of(ModeSet))
        alone = any(group.size == 1 for group in trace.of(GroupBegun))
        unseen = bool(escaped(trace)) or any(trace.of(kind) for kind in (Owned, GaveUp))
        if trace.observed or parts_rest or unseen:
            return
        if not alone:
            yield from first_per_site(self._found(trace))
        if not trace.of(Wrapped):
            yield from first_per_site(self._of_micro_batches(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        loaders = {event.loader: event for event in trace.of(LoaderBuilt)}
        for wrapped in trace.of(Wrapped):
            if wrapped.wrapper == OF_THREADS or not wrapped.batch_norms:
                continue
            for forward in through(trace, wrapped):
                loader = loaders.get(forward.inputs.loader)
                if loader is not None and forward.training and is_small(loader):
                    yield self._report(wrapped, loader)

    def _of_micro_batches(self, trace: Trace) -> Iterator[Finding]:
        """The first forward of every window of small micro-batches with batch norm."""
        loaders = {event.loader: event for event in trace.of(LoaderBuilt)}
        normed = {event.forward for event in trace.of(BatchNormsRan)}
        cadence = trace.view(Cadence)
        for window in cadence.windows() if normed else ():
            of, length = window.backward.forwards | window.backward.loss.graph_forwards, cadence.planned_length(window)
            for forward in trace.at(*sorted(of & normed)):
                loader = loaders.get(forward.inputs.loader) if isinstance(forward, Forward) else None
                if isinstance(forward, Forward) and loader is not None and length > 1 and is_small(loader):
                    yield self._report_window(forward, loader, window, length)

    def _report_window(self, forward: Forward, loader: LoaderBuilt, window: Window, length: int) -> Finding:
        text = "batch norm in `{name}` uses only the {rows} samples of each of {length} micro-batches"
        return self.finding(
            forward.site,
            message(text, name=forward.name, rows=str(loader.batch), length=str(length)),
            help="use larger batches, or group norm, which does not depend on the other samples",
            trail=(
                Step(loader.site, "the loader of the micro-batches is created here"),
                Step(window.step.site, f"one step applies the gradients of {length} micro-batches"),
            ),
        )

    def _report(self, wrapped: Wrapped, loader: LoaderBuilt) -> Finding:
        return self.finding(
            wrapped.site,
            message(
                "batch norm in `{name}` uses only the {rows} samples of each process: its statistics are noisy",
                name=wrapped.name,
                rows=str(loader.batch),
            ),
            help="call `SyncBatchNorm.convert_sync_batchnorm` before wrapping the model, or use group norm",
            trail=(Step(loader.site, "the loader of each process is created here"),),
            edits=[Insert(wrapped.site, CONVERT.format(wrapped.name))] if is_path(wrapped.name) else [],
        )


def is_small(loader: LoaderBuilt) -> bool:
    """Return whether the batches of a loader surely have too few samples for batch norm."""
    return bool(loader.batch) and not loader.chosen and not loader.unseen and (loader.batch or FEW) < FEW
