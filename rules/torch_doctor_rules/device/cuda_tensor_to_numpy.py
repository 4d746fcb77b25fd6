"""TDR818: a tensor on the GPU, or with a graph, that is made an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import ArrayRead
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_ON_GPU = "this goes to the GPU"


class CudaTensorToNumpy(Rule):
    """NumPy, SciPy, a metric or a plot gets a tensor that is on the GPU, or that has a graph: it fails there.

    ## Why is this bad?
    NumPy reads memory of the CPU. A tensor on the GPU is refused with "can't convert cuda:0 device type tensor to numpy", one
    with a graph with "Can't call numpy() on Tensor that requires grad". On a machine without a GPU the former works, so that
    the script fails where it is meant to run, and often only after the first epoch.

    ## Example
    ```python
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4).to(device), torch.randint(0, 2, (8,)).to(device)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        print(model(x).argmax(1).numpy())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4).to(device), torch.randint(0, 2, (8,)).to(device)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        print(model(x).argmax(1).cpu().numpy())
    ```

    ## Fix safety
    `.cpu()` and `.detach()` give the same numbers, and change nothing where the tensor is on the CPU, or has no graph.

    ## How the probe confirms it
    Torch refuses the tensor, or would: in a run of its own the script is told that there is a GPU, and it is known of every
    tensor where it would be. A tensor that is on the CPU then, without a graph, refutes it.

    ## When it is not reported
    For tensors of which it is not certain that they are on the GPU wherever there is one, as with a device that is an option;
    for what is refused within a `try`; for functions that ask the tensor itself for the result, as `np.mean` does; and for
    graphs in functions whose callers may have switched autograd off.

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
        """Every read of a tensor that is refused."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for read in trace.of(ArrayRead):
            graph = read.value.graph is True and (trace.observed or not trace.begins_outside)
            if not (bool(read.raised) if trace.observed else read.gpu or graph):
                continue
            why = "is on the GPU" if read.gpu else "has a graph"
            function = read.function.rpartition(".")[2]
            text = "`{name}` {why}: `{function}` fails there" if read.gpu else "`{name}` {why}: `{function}` refuses it"
            yield self.finding(
                read.site,
                message(text, name=named(read.value.name, "the tensor"), why=why, function=function),
                help=f"make the array of `{_mended(read).format('tensor')}`",
                trail=[Step(read.since, _ON_GPU)] if read.gpu and read.since else [],
                edits=[Wrap(read.at, _mended(read))] if read.at else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether an array was made there of a tensor on the CPU, without a graph."""
        reads = at(trace, finding.site, ArrayRead)
        if reads and (not finding.trail or any(read.gpu is False for read in reads)):
            return True
        return "the script asked for no GPU, or never came here with one"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What torch says, or that it says nothing."""
        reads = at(trace, finding.site, ArrayRead)
        refused = [read for read in reads if read.raised]
        if refused:
            yield fact(f"it raises: {refused[0].raised}", 1, "times", refused[0])
        elif reads:
            text = f"{len(reads)} times an array was made of a tensor on the CPU, without a graph"
            yield fact(text, len(reads), "times", reads[0])


def _mended(read: ArrayRead) -> str:
    """What an array can be made of: the tensor without what keeps it from that."""
    detached = "{}" if read.value.graph is False else "{}.detach()"
    return f"{detached}.cpu()" if read.gpu else detached
