"""Calls of libraries of which only the package is known: what they return holds no graph, or holds on to what it got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import data, libraries, memory
from torch_doctor.static.training import arrays, module_parts, paths, places
from torch_doctor.static.values import Plain, Tool, fresh_symbol, held, plain_from
from torch_doctor.trace import WriterBuilt

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


@library_family(lambda name: name.endswith(".SummaryWriter"))
def writer(run: Run, name: str, call: Call) -> Tool:
    """Construct a writer of TensorBoard's logs."""
    shared = paths.shared(run, call.node, 0, "log_dir", "logdir") if call.args or call.keywords else True
    run.emit(WriterBuilt, call.node, name=call.name, shared=shared)
    return run.own(Tool(run.site(call.node), name))


@library_family(lambda name: not name.startswith("builtins."), stage=Stage.ANY)
def of_version(_: Run, __: str, call: Call) -> Plain | None:
    """`packaging.version.parse(torch.__version__)`: what is computed of a version still tells the version."""
    given = call.args[0] if len(call.args) == 1 else None
    return plain_from(call.args) if isinstance(given, Plain) and given.tells_version else None


@library_family(
    lambda name: name.partition(".")[0] in libraries.PLAIN and libraries.harmless(name), stage=Stage.PACKAGE
)
def plain(_: Run, name: str, call: Call) -> Plain:
    """A function of a package that knows no tensors; an array of its own is known as one."""
    symbol = ("array", fresh_symbol()) if name in memory.ARRAYS else None
    return plain_from(call.values, symbol, size=arrays.computed(name, call))


@library_family(
    lambda name: name.startswith(("torch.utils.data.", "torchvision.datasets")) or data.iterable(name) is not None,
    stage=Stage.PACKAGE,
)
def dataset(run: Run, name: str, call: Call) -> Tool:
    """Construct a dataset, a sampler, or a part of one."""
    return run.own(Tool(run.site(call.node), name, args=call.args, keywords=call.keywords))


@library_family(
    lambda name: (
        not name.startswith("builtins.") and name.rpartition(".")[2][:1].isupper() and libraries.harmless(name)
    ),
    stage=Stage.REST,
)
def instance(run: Run, name: str, call: Call) -> Tool:
    """Construct an object of a class that leaves gradients and modes alone."""
    values = call.values
    places.lost_sight(run, module_parts.with_parts(run, held(values)), ())
    return run.own(Tool(run.site(call.node), name, held(values), call.args, call.keywords))
