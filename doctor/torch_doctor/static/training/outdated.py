"""What has a successor in torch, where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.tables import losses, outdated, training
from torch_doctor.static.values import Call, Const, Either, Lib, Value
from torch_doctor.trace import OutdatedUsed

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.outdated import Outdated
    from torch_doctor.trace import Site


class Uses(Knowledge):
    """The uses of outdated names that have been reported."""

    def __init__(self) -> None:
        self.types_alone = False  # what is being evaluated is asked for its type alone
        self.reported: set[tuple[int, Site, str]] = set()  # the trace, the place and the name


def named(run: Run, value: Value, node: p.Expr) -> None:
    """Something of a library was named: its use, unless only its type is asked for, or it was told where it got this name.

    Where an import may have failed, what it gave is used; where that is one of several names of torch, the script has
    chosen what its torch has.
    """
    if run.of(Uses).types_alone:
        return
    if isinstance(value, Either):
        options = [option for _, option in value.options if isinstance(option, Lib)]
        if len({option.name for option in options}) != 1:
            return
        value = options[0]
    if isinstance(value, Lib) and not value.told:
        known = outdated.NAMES.get(value.name)
        if known is not None:
            _tell(run, known, value.name, node)


def of_tensor(run: Run, name: str, node: p.Node) -> None:
    """An attribute of what is surely a tensor was read or set."""
    known = outdated.OF_TENSORS.get(name)
    if known is not None:
        _tell(run, known, f"torch.Tensor.{name}", node)


def of_module(run: Run, name: str, node: p.Node) -> None:
    """A method of a module is called."""
    known = outdated.OF_MODULES.get(name)
    if known is not None:
        _tell(run, known, f"torch.nn.Module.{name}", node)


@library_family(losses.LOSSES, stage=Stage.NOTE)
def loss(run: Run, name: str, call: Call) -> None:
    """A loss may be given settings that torch has replaced."""
    given(run, name, outdated.OF_LOSSES, call)


@library("torch.autograd.Variable", stage=Stage.NOTE)
def variable(run: Run, name: str, call: Call) -> None:
    """`Variable` may be given settings that torch has dropped."""
    given(run, name, outdated.OF_VARIABLES, call)


@library_family(lambda name: name.startswith("torch.") and training.scheduler_of(name), stage=Stage.NOTE)
def scheduler(run: Run, name: str, call: Call) -> None:
    """A scheduler of torch's may be given settings that torch has dropped."""
    given(run, name, outdated.OF_SCHEDULERS, call)


def given(run: Run, api: str, table: dict[str, Outdated], call: Call) -> None:
    """Something of torch is called with these arguments; those that are as they are by default say nothing."""
    for name, value in call.keywords.items():
        if name in table and not (isinstance(value, Const) and value.value is None):
            _tell(run, table[name], f"{api}({name}=)", call.node, f"{name}=")


def _tell(run: Run, known: Outdated, api: str, node: p.Node, name: str = "") -> None:
    site = run.site(node)
    if (id(run.trace), site, api) not in run.of(Uses).reported:
        run.of(Uses).reported.add((id(run.trace), site, api))
        versions = {"since": known.since, "warns": known.warns, "gone": known.gone}
        run.emit(OutdatedUsed, site, api=api, name=name or run.text(node), instead=known.instead, **versions)
