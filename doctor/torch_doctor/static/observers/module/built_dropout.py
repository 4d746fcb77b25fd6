"""Dropout modules that a forward builds: they are in training mode, whatever the mode of the module around them is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.module import functional_dropout
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Fact, Module
from torch_doctor.static.values.mode import AS_BUILT
from torch_doctor.trace import FunctionalDropout

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Object

DROPOUTS: Final = frozenset(f"torch.nn.Dropout{dimensions}" for dimensions in ("", "1d", "2d", "3d"))
_MODES: Final = frozenset(("train", "eval", "training"))


class Built(NamedTuple):
    """A dropout that was built in a forward: by whose, whether in one of its methods, and whether it may drop nothing."""

    owner: Module
    method: bool
    off: bool


class BuiltDropouts(Observer):
    """Dropouts that are built in a forward and called there, outside of branches that decide on the mode."""

    writes = (FunctionalDropout,)

    _built: dict[int, Built] = per_run(dict)

    @override
    def built(self, run: Run, thing: Object, call: Call) -> None:
        """A dropout is built: within a forward it is remembered, unless its rate may depend on the mode."""
        node, what = call.node, run.frame.what
        if not isinstance(thing, Module) or thing.cls is not None or thing.layer not in DROPOUTS:
            return
        if not run.modules_called or run.building or not isinstance(node, p.Call) or "**" in call.keywords:
            return
        rates = (node.args[:1], [value for name, value in node.keywords if name == "p"])
        if what is not None and any(name != "self" and used & _MODES for name, used in what.node.uses.items()):
            return  # it may set the mode in one of its branches
        if not run.of(functional_dropout.FunctionalDropouts).decided(run) and not functional_dropout.is_told(
            run, rates
        ):
            first = what.node.parameters[:1] if what is not None else ()
            method = any(each.name == "self" for each in first)
            off = functional_dropout.is_off(run, call.argument(0, "p"), rates)
            self._built[thing.id] = Built(run.modules_called[-1], method, off)

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """It is called: nobody has put it into another mode, and it has not become a part of the module."""
        found = self._built.get(module.id)
        if found is None or not run.modules_called or run.modules_called[-1] is not found.owner:
            return
        own = module.fact(Fact.MODE) is not AS_BUILT or module.fact(Fact.REGISTERED)
        if own or run.of(functional_dropout.FunctionalDropouts).decided(run):
            return
        run.emit(
            FunctionalDropout,
            call.node,
            function=module.layer,
            owner=found.owner.id,
            owner_class=found.owner.class_name,
            training=None,
            off=found.off,
            built_at=module.born,
            method=found.method,
        )
