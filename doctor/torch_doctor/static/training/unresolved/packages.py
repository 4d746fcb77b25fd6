"""Calls of libraries of which only the package is known: what they return holds no graph, or holds on to what it got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static.flow import blend
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import data, libraries, memory
from torch_doctor.static.training import places
from torch_doctor.static.training.checkpoint import paths
from torch_doctor.static.training.data import arrays
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import VERSION, Const, Lib, Plain, Tool, Unknown, fresh_symbol, held, plain_from
from torch_doctor.static.values.symbols import SCALAR
from torch_doctor.trace import WriterBuilt

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Call


@library_family(lambda name: name.endswith(".SummaryWriter"))
def writer(run: Run, name: str, call: Call) -> Tool:
    """Construct a writer of TensorBoard's logs."""
    shared = paths.shared(run, call.node, 0, "log_dir", "logdir") if call.args or call.keywords else True
    tool: Tool = run.own(Tool(run.site(call.node), name))
    run.emit(WriterBuilt, call.node, name=call.name, shared=shared, writer=tool.id)
    return tool


_HANDING_ON = ("itertools.", "collections.")
"""Packages whose functions give the items that they get."""
_REQUIRED = pattern(r"(?:py)?torch\s*(?:[<>=!~].*)?$|[<>=!~]*\d+\.\d+[\w.+]*$")
"""A text that asks for a torch, or for a version: `torch>=2.4`, `2.4.0`."""
_ASKING = ("builtins.dir", "builtins.callable", "inspect.", "importlib.")
"""Functions that look at what a library has."""


def asks_version(name: str, holders: Args, call: Call) -> bool:
    """Whether a call that cannot be followed may tell which torch is there: it is given a version, or asks for one."""
    if any(value.tells_version for value in holders):
        return True
    texts = [value.value for value in call.values if isinstance(value, Const) and isinstance(value.value, str)]
    if name.startswith(_ASKING):
        return any(isinstance(value, Lib) for value in call.values) or any(text.startswith("torch") for text in texts)
    return not name.startswith(("torch.", "builtins.")) and any(map(_REQUIRED.match, texts))


@library_family(lambda name: not name.startswith("builtins."), stage=Stage.ANY)
def of_version(_: Run, __: str, call: Call) -> Plain | None:
    """`packaging.version.parse(torch.__version__)`: what is computed of a version still tells the version."""
    return plain_from(call.args) if call.args and call.args[0].tells_version and not call.args[1:] else None


@library_family(
    lambda name: name.partition(".")[0] in libraries.PLAIN and libraries.harmless(name), stage=Stage.PACKAGE
)
def plain(_: Run, name: str, call: Call) -> Plain | Unknown:
    """A function of a package that knows no tensors; an array of its own is known as one."""
    inside = held(call.values) if name.startswith(_HANDING_ON) else None
    if inside:
        return Unknown(blend(value.flow for value in call.values), inside)
    asks = asks_version(name, call.values, call)
    word = "array" if name in memory.ARRAYS else SCALAR if arrays.is_scalar(name, call) else ""
    symbol = fresh_symbol(VERSION) if asks else (word, fresh_symbol()) if word else None
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
