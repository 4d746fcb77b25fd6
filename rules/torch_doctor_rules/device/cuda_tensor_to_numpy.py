"""TDR818: a tensor on the GPU, or one that requires grad, that is converted to an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import ArrayRead, BranchKind
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import is_path, message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_ON_GPU = "this is moved to the GPU"


class CudaTensorToNumpy(Rule):
    """A tensor that is on the GPU or requires grad is passed to NumPy, SciPy, a metric or a plot, which fails.

    ## Why is this bad?
    NumPy reads CPU memory. For a tensor on the GPU, torch raises "can't convert cuda:0 device type tensor to numpy"; for one
    that requires grad, "Can't call numpy() on Tensor that requires grad". Without a GPU, the former goes unnoticed, so the
    script fails only on the training machine, and often only after the first epoch.

    ## Example
    ```python
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4).to(device), torch.randint(0, 2, (8,)).to(device)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        print(model(x).argmax(1).numpy())
    ```

    ## Use instead
    ```diff
     with torch.no_grad():
    -    print(model(x).argmax(1).numpy())
    +    print(model(x).argmax(1).cpu().numpy())
    ```

    ## Fix safety
    `.cpu()` and `.detach()` do not change values, and do nothing if the tensor is already on the CPU or does not require grad.

    ## How the probe confirms it
    torch raises the error. For tensors on the GPU, the probe runs the script a second time with a simulated GPU and tracks
    the device of every tensor. If the tensor is on the CPU and does not require grad, the finding is refuted.

    ## When it is not reported
    - If it is uncertain that the tensor is on the GPU on machines with one, for example if the device is an option.
    - Inside a `try` block.
    - If a test of the type of another, unknown value decides whether the line runs.
    - For functions that delegate to a method of the tensor, such as `np.mean`.
    - For tensors that require grad, in functions whose callers may have disabled autograd.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
    - https://docs.pytorch.org/docs/stable/notes/cuda.html
    """

    code = "TDR818"
    name = "cuda-tensor-to-numpy"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"device"})
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every tensor that cannot be converted."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for read in trace.of(ArrayRead):
            graph = read.value.graph is True and (trace.observed or not trace.begins_outside)
            if not (bool(read.raised) if trace.observed else (read.gpu or graph) and not _by_type(trace, read)):
                continue
            why = "is on the GPU" if read.gpu else "requires grad"
            function = read.function.rpartition(".")[2]
            text = "`{name}` {why}: `{function}` cannot convert it to an array"
            what = read.value.name if is_path(read.value.name) else "tensor"
            yield self.finding(
                read.site,
                message(text, name=named(read.value.name, "the tensor"), why=why, function=function),
                help=f"convert `{_mended(read).format(what)}` instead",
                trail=[Step(read.since, _ON_GPU)] if read.gpu and read.since else [],
                edits=[Wrap(read.at, _mended(read))] if read.at else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether a tensor on the CPU, without a graph, was converted there."""
        reads = at(trace, finding.site, ArrayRead)
        if reads and (not finding.trail or any(read.gpu is False for read in reads)):
            return True
        return "in this run, the script requested no GPU, or did not reach this line with one"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield torch's error, or how many tensors were converted."""
        reads = at(trace, finding.site, ArrayRead)
        refused = [read for read in reads if read.raised]
        if refused:
            yield fact(f"it raises: {refused[0].raised}", 1, "times", refused[0])
        elif reads:
            text = f"converted {count(len(reads), 'tensor')} on the CPU that did not require grad"
            yield fact(text, len(reads), "times", reads[0])


def _by_type(trace: Trace, read: ArrayRead) -> bool:
    """Return whether the type of something unknown decides: the caller that has tensors on the GPU may go the other way."""
    return any(trace.branches[branch].kind is BranchKind.TYPE for branch, _ in read.guards)


def _mended(read: ArrayRead) -> str:
    """Return a template for the tensor on the CPU and without a graph."""
    detached = "{}" if read.value.graph is False else "{}.detach()"
    return f"{detached}.cpu()" if read.gpu else detached
