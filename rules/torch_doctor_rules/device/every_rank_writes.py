"""TDR809: several processes write the same file."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Within
from torch_doctor.rule import Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import BranchKind, GaveUp, Owned, Saved, Wrapped, WriterBuilt, WriterUsed
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.ranks import Ranks
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Evidence
    from torch_doctor.trace import Site, Trace

WRAPPER = "torch.nn.parallel.DistributedDataParallel"
WRAPPERS = frozenset((WRAPPER, "accelerate"))
OF_ALL = frozenset((BranchKind.PERIODIC, BranchKind.MEASURE))
"""What sends all processes the same way: the number of the epoch, and which of two numbers is larger."""
TOGETHER = OF_ALL | {BranchKind.FLAG, BranchKind.VERSION, BranchKind.RAISED}
"""What does not send processes with wrapped models into different arms."""

FIRST = "$torch.distributed.get_rank() == 0"


class EveryRankWrites(Rule):
    """Every process of a distributed run writes to the same file or log directory.

    ## Why is this bad?
    The processes write at the same time. A checkpoint that two of them write may be truncated or mixed up, and you often
    notice only when you need it. A log directory gets every data point several times. One process is enough: with
    `DistributedDataParallel`, all processes have the same weights after each step. Scripts that prepare their model with
    accelerate run in several processes, too.

    ## Example
    ```python
    torch.distributed.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for step in range(10):
        loss = model(torch.randn(16, 4).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.module.state_dict(), "model.pt")
    ```

    ## Use instead
    ```diff
         optimizer.step()
    -torch.save(model.module.state_dict(), "model.pt")
    +if torch.distributed.get_rank() == 0:
    +    torch.save(model.module.state_dict(), "model.pt")
    ```

    ## Fix safety
    The fix is unsafe: after it, only rank 0 runs the save. If an argument of the save contains a collective call, which all
    processes have to make, the run hangs. There is no fix for a log writer, because it is used in other places.

    ## How the probe confirms it
    With several processes (`--probe-processes 2`), two of them write to the same path. With a single process nothing can
    collide, so the finding remains undecided.

    ## When it is not reported
    - Under any condition that may depend on the process (`rank == 0`, `is_main_process()`, `args.local_rank in (-1, 0)`).
    - If the path may differ between processes.
    - For log writers that every process creates, but only one process logs with, or that are only used where the source
      code cannot be followed.
    - For frameworks, which save from one process, and `accelerator.save`.
    - For scripts that neither wrap a model in `DistributedDataParallel` nor prepare it with accelerate.

    ## References
    - https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    code = "TDR809"
    name = "every-rank-writes"
    level = Level.WARNING
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()
    compares_ranks = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every save and log writer that all processes run."""
        if any(event.framework not in WRAPPERS for event in trace.of(Owned)) or trace.of(GaveUp):
            return
        wraps = [wrapped for wrapped in trace.of(Wrapped) if wrapped.wrapper in WRAPPERS]
        if wraps:
            written = _collided(trace.view(Ranks)) if trace.observed else self._shared(trace, wraps)
            yield from first_per_site(self._report(trace, event, wraps[0]) for event in written)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether every process wrote to its own file there."""
        if len(trace.ranks) <= 1:
            return "the run has only one process (see `--probe-processes`)"
        return bool(_writers(trace.view(Ranks), finding.site))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many processes write the same file."""
        for file, number in list(_writers(trace.view(Ranks), finding.site).items())[:1]:
            does = "write" if number > 1 else "writes"
            yield fact(f"{count(number, 'process', 'processes')} {does} {PurePath(file).name}", number, "processes")

    def _shared(self, trace: Trace, wraps: list[Wrapped]) -> Iterator[Saved | WriterBuilt]:
        """Return the writes that every process makes to the same path."""
        written: list[Saved | WriterBuilt] = [
            *(saved for saved in trace.of(Saved) if not saved.buffer),
            *trace.of(WriterBuilt),
        ]
        used = {use.writer for use in trace.of(WriterUsed) if self._of_all(trace, use, wraps)}
        return (
            event
            for event in written
            if event.shared and self._of_all(trace, event, wraps) and (isinstance(event, Saved) or event.writer in used)
        )

    def _of_all(self, trace: Trace, event: Saved | WriterBuilt | WriterUsed, wraps: list[Wrapped]) -> bool:
        """Return whether every process with a wrapped model reaches it."""
        others = event.guards - wraps[0].guards
        kinds = ((trace.branches[branch].kind, arm) for branch, arm in others)
        alike = all(kind in OF_ALL or (kind is BranchKind.RAISED and not arm) for kind, arm in kinds)
        elsewhere = {(branch, not arm) for wrapped in wraps[1:] for branch, arm in wrapped.guards}
        parted = any(trace.branches[branch].kind not in TOGETHER for branch, _ in event.guards & elsewhere)
        return alike and not parted and trace.together(event, wraps[0])

    def _report(self, trace: Trace, event: Saved | WriterBuilt, wrapped: Wrapped) -> Finding:
        by_torch = wrapped.wrapper == WRAPPER
        simple = by_torch and isinstance(event, Saved) and trace.implies(event, wrapped) and not trace.observed
        name = "wrapped in `DistributedDataParallel`" if by_torch else "prepared for several processes"
        only = ": `if torch.distributed.get_rank() == 0:`" if by_torch else ", the main one"
        return self.finding(
            event.site,
            self._message(type(event)),
            help=f"write from one process only{only}",
            trail=(Step(wrapped.site, f"the model is {name} here"),),
            edits=[Within(event.site, FIRST, condition=True)] if simple else [],
        )

    def _message(self, kind: type[Saved | WriterBuilt]) -> str:
        if kind is Saved:
            return "every process writes this file at the same time, which can corrupt it"
        return "every process logs to this directory, so each data point is recorded several times"


def _collided(ranks: Ranks) -> list[Saved | WriterBuilt]:
    """Return the writes of the first process to a file or directory that another process writes to."""
    others = {event.file for other in ranks.traces[1:] for event in _written(other)}
    return [event for trace in ranks.traces[:1] for event in _written(trace) if event.file in others]


def _writers(ranks: Ranks, site: Site) -> dict[str, int]:
    """Return how many processes wrote to each file or directory at a place, largest number first."""
    files = [{event.file for event in _written(trace) if same_place(site, event.site)} for trace in ranks.traces]
    return dict(Counter(file for each in files for file in sorted(each)).most_common())


def _written(trace: Trace) -> list[Saved | WriterBuilt]:
    used = {use.writer for use in trace.of(WriterUsed)}
    built = (event for event in trace.of(WriterBuilt) if event.writer in used)
    written: list[Saved | WriterBuilt] = [*trace.of(Saved), *built]
    return [event for event in written if event.file]
