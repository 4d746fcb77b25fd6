"""Random numbers in the worker processes of loaders: what draws them, and what gives the workers their seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import data
from torch_doctor.static.tables.datasets import PARTS
from torch_doctor.static.training import augmenting
from torch_doctor.static.training.drawing import GENERATOR
from torch_doctor.static.values import (
    Call,
    ClassValue,
    Const,
    Instance,
    Lib,
    Loader,
    Object,
    Plain,
    Symbol,
    Tool,
    Value,
    latest,
)
from torch_doctor.trace import WorkersAlike

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


SEEDS = {"numpy.random.seed": "numpy", "random.seed": "random", "torch.manual_seed": "torch"}
"""Functions that seed the generator of a library, and which."""
RESEEDING = frozenset(("seed", "setstate", "set_state", "jumped", "spawn"))
STEPS = 300
"""Steps that the look at a `worker_init_fn` may take."""


class Draws:
    """What is drawn from since this was made, on every path: generators that were there before, and those of libraries."""

    def __init__(self, run: Run) -> None:
        self._newest = latest()
        self._depth = run.fork_depth
        self.generators: dict[Symbol, Site] = {}
        self.libraries: dict[str, tuple[Site, str]] = {}
        self.reseeded = False

    def library(self, run: Run, name: str, node: p.Node) -> None:
        """A function of a library draws."""
        if run.fork_depth == self._depth:
            root = "numpy" if name.startswith("numpy.") else name.partition(".")[0]
            self.libraries.setdefault(root, (run.site(node), run.text(node)))

    def method(self, run: Run, of: Symbol, name: str, node: p.Node) -> None:
        """A generator draws, or is seeded anew."""
        if name in RESEEDING:
            self.reseeded = True
        elif of[2] < self._newest and run.fork_depth == self._depth:
            self.generators.setdefault(of, run.site(node))


class WorkerSeeds(Observer, invoked=(Plain, Named(Lib, SEEDS))):
    """What the worker processes of a loader draw alike: random numbers that are not seeded for each of them."""

    writes = (WorkersAlike,)

    source: Draws | None = per_run()  # what is drawn from while an item of a data set is made
    seeds: dict[str, tuple[Site, str] | None] | None = per_run()  # the seeds of libraries, while a worker is set up

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """A generator draws while an item is made; a function, while a worker is set up, may give it a seed."""
        symbol = func.symbol if self.source is not None and isinstance(func, Plain) else ("",)
        if self.source is not None and symbol[0] == "." and symbol[1][0] == GENERATOR:
            self.source.method(run, symbol[1], symbol[2], call.node)
        root = SEEDS.get(func.name) if self.seeds is not None and isinstance(func, Lib) else None
        if root is not None and self.seeds is not None:
            constant = bool(call.args) and isinstance(call.args[0], Const)
            self.seeds[root] = (run.site(call.node), run.text(call.node)) if constant else None

    @override
    def built(self, run: Run, loader: Object, call: Call) -> None:
        """Write what the workers of a loader draw alike: an item of its data set is made aside."""
        if not isinstance(loader, Loader) or "**" in loader.fields:
            return
        given, dataset = loader.fields.get("num_workers"), loader.fields.get("dataset")
        workers = given.value if isinstance(given, Const) else 0
        if not isinstance(workers, int) or workers < 1 or dataset is None:
            return
        dataset = run.resolve(dataset)
        while isinstance(dataset, Tool) and dataset.name in PARTS and dataset.args:
            dataset = run.resolve(dataset.args[0])
        if not isinstance(dataset, Instance):
            return
        draws = Draws(run)
        with self.override(source=draws):
            augmenting.make_item(run, dataset)
        if not draws.reseeded:
            self._tell(run, loader, dataset, draws, workers, call.node)

    def _tell(self, run: Run, loader: Loader, dataset: Instance, draws: Draws, workers: int, node: p.Node) -> None:
        setup = loader.fields.get("worker_init_fn")
        common = {
            "loader": loader.id,
            "loader_site": run.site(node),
            "workers": workers,
            "class_name": dataset.cls.name,
        }
        if isinstance(setup, Value) and not (isinstance(setup, Const) and setup.value is None):
            for root, seeded in self._seeds(run, setup, node).items():
                if seeded is not None and root in draws.libraries:
                    site, name = seeded
                    run.emit(WorkersAlike, site, cause="seed", name=name, drawn_at=draws.libraries[root][0], **common)
            return
        for symbol, drawn_at in draws.generators.items():
            if not _made_again(dataset, symbol):
                run.emit(WorkersAlike, symbol[1], cause=GENERATOR, name=symbol[4], drawn_at=drawn_at, **common)
        if "numpy" in draws.libraries:
            site, name = draws.libraries["numpy"]
            run.emit(WorkersAlike, site, cause="numpy", name=name, drawn_at=site, **common)

    def _seeds(self, run: Run, setup: Value, node: p.Node) -> dict[str, tuple[Site, str] | None]:
        """The seeds that a `worker_init_fn` gives, by library; None where it is no constant. It is run aside."""
        found: dict[str, tuple[Site, str] | None] = {}
        with run.aside(STEPS), self.override(seeds=found):
            try:
                run.call(setup, Call((Plain(),), {}, node))
            except OutOfBudget:
                found.clear()
        return found


@library_family(data.draws, stage=Stage.NOTE)
def drawn(run: Run, name: str, call: Call) -> None:
    """A library's function draws random numbers."""
    source = run.of(WorkerSeeds).source if run.watches(WorkerSeeds) else None
    if source is not None:
        source.library(run, name, call.node)


def _made_again(dataset: Instance, symbol: Symbol) -> bool:
    """Whether a method beside the constructor gives the data set another generator, as for each epoch."""
    names = {key for key, value in dataset.fields.items() if isinstance(value, Plain) and value.symbol == symbol}
    for cls in dataset.cls.mro():
        body = cls.node.body if isinstance(cls, ClassValue) else ()
        methods = [each.function for each in body if isinstance(each, p.Define) and each.function.name != "__init__"]
        for each in walk(*methods):
            targets = each.targets if isinstance(each, p.Assign) else ()
            if any(isinstance(target, p.Attribute) and target.name in names for target in targets):
                return True
    return not names  # who holds it is not known: neither is what becomes of it
