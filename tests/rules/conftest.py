"""A small script builder: tests write the events of a run in the order of the script, and ask what a rule says."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from torch_doctor.trace import (
    Backward,
    Branch,
    BranchKind,
    Escaped,
    Event,
    Forward,
    Kind,
    Loaded,
    LoopKind,
    LossCalled,
    ModeSet,
    ModuleBuilt,
    NotCalled,
    OptimizerBuilt,
    Registered,
    Retained,
    Retention,
    Saved,
    Scope,
    ScopeKind,
    Site,
    Source,
    Stepped,
    TensorFact,
    Trace,
    Tri,
    Unregistered,
    ZeroGrad,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.rule import Finding, Rule

E = TypeVar("E", bound=Event)
NONE: frozenset[int] = frozenset()


class Script:
    """A trace that is written by hand. Every event happens at the line that its `text` stands for."""

    def __init__(self, *, begins_outside: bool = False) -> None:
        self.trace = Trace("train.py", begins_outside=begins_outside)
        self._lines: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._loops = itertools.count(1)
        self._guards: frozenset[tuple[int, bool]] = frozenset()
        self._scope = Scope(ScopeKind.ROOT, self.at(""))
        self._parts: dict[int, frozenset[int]] = {}

    # --- where and when ---------------------------------------------------------------------------------------------

    def at(self, text: str) -> Site:
        """The line with this text."""
        row = self._lines.setdefault(text, len(self._lines) + 1)
        return Site("train.py", row, 1, row, 1 + len(text))

    def loop(self, header: str = "for x, y in loader", times: int = 2, *, plain: bool = False) -> Iterator[int]:
        """Passes through a loop."""
        outside, number = self._scope, next(self._loops)
        kind = LoopKind.PLAIN if plain or "range" in header else LoopKind.BATCHES
        for iteration in range(1, times + 1):
            self._scope = Scope(
                ScopeKind.ITERATION,
                self.at(header),
                outside,
                loop=number,
                number=iteration,
                loop_kind=kind,
            )
            yield iteration
        self._scope = outside

    @contextmanager
    def call(self, text: str) -> Iterator[None]:
        """Inside a project function, called here."""
        outside = self._scope
        self._scope = Scope(ScopeKind.CALL, self.at(text), outside, name=text)
        yield
        self._scope = outside

    def decision(self, kind: BranchKind = BranchKind.UNKNOWN) -> int:
        """A test that cannot be decided."""
        self.trace.branches.append(Branch(self.at("if"), kind))
        return len(self.trace.branches) - 1

    @contextmanager
    def when(self, decision: int, *, arm: bool = True) -> Iterator[None]:
        """Behind one arm of a decision."""
        guards = self._guards
        self._guards = guards | {(decision, arm)}
        yield
        self._guards = guards

    def add(self, kind: type[E], text: str, **fields: Any) -> E:
        """Any event."""
        return self.trace.add(kind(site=self.at(text), scope=self._scope, guards=self._guards, **fields))

    # --- what is there ----------------------------------------------------------------------------------------------

    def model(self, name: str = "model", parts: Iterable[int] = (), class_name: str = "torch.nn.Linear") -> int:
        """A module; with parts, of a project class that registers them."""
        module, parts = next(self._numbers), frozenset(parts)
        self._parts[module] = frozenset((module, *parts, *(p for part in parts for p in self._parts[part])))
        for part in parts:
            self.add(Registered, f"self.part = {part}", owner=module, child=part, name="part")
        self.add(
            ModuleBuilt,
            f"{name} = Net()",
            module=module,
            class_name="Net" if parts else class_name,
            class_site=self.at("class Net") if parts else None,
        )
        return module

    def optimizer(self, *modules: int, name: str = "", known: bool = True) -> int:
        """An optimizer of these modules; not `known`: a function's parameter."""
        optimizer = next(self._numbers)
        self._parts[optimizer] = self._all(modules)
        if known:
            self.add(
                OptimizerBuilt,
                f"{name or 'optimizer'} = SGD({optimizer})",
                optimizer=optimizer,
                class_name="torch.optim.SGD",
                modules=self._all(modules),
                whole=True,
                name=name,
            )
        return optimizer

    # --- what happens -----------------------------------------------------------------------------------------------

    def forward(
        self,
        module: int,
        text: str = "model(x)",
        *,
        sensitive: Tri = True,
        training: Tri = True,
        grad: Tri = True,
        trainable: Tri = True,
        inputs: TensorFact | Source = Source.LOADER,
    ) -> Forward:
        """A module is called."""
        given = (
            TensorFact(source=inputs, name=text.partition("(")[2].rstrip(")")) if isinstance(inputs, Source) else inputs
        )
        return self.add(
            Forward,
            text,
            module=module,
            name=text.partition("(")[0],
            class_name="Net",
            sensitive=sensitive,
            training=training,
            grad=grad,
            trainable=trainable,
            inputs=given,
            output=TensorFact(),
        )

    def loss(self, *forwards: Forward, text: str = "criterion(out, y)", **fact: Any) -> LossCalled:
        """A loss of what came out of forwards."""
        name = str(fact.pop("loss", "torch.nn.CrossEntropyLoss"))
        indices = frozenset(forward.index for forward in forwards)
        given = TensorFact(forwards=indices, graph_forwards=indices, **fact)
        return self.add(
            LossCalled,
            text,
            loss=name,
            name="criterion",
            expects=Kind.LOGITS,
            input=given,
            target=TensorFact(),
            output=TensorFact(kind=Kind.LOSS, forwards=indices, graph_forwards=indices),
        )

    def backward(
        self,
        *modules: int,
        text: str = "loss.backward()",
        of: Iterable[Forward] = (),
        through_detach: Iterable[Forward] = (),
        retained: Iterable[Retained] = (),
        whole: bool = True,
        **fields: Any,
    ) -> Backward:
        """Gradients are computed, through the forwards in `of`."""
        graph = frozenset(forward.index for forward in of)
        data = graph | {forward.index for forward in through_detach}
        holds = frozenset(event.index for event in retained)
        fields.setdefault("through", "backward")
        return self.add(
            Backward,
            text,
            name=text.partition(".")[0],
            loss=TensorFact(graph=True, forwards=data, graph_forwards=graph, retained=holds),
            modules=self._all(modules) | self._all(forward.module for forward in of),
            whole=whole,
            forwards=data,
            retained=holds,
            **fields,
        )

    def step(self, optimizer: int, text: str = "optimizer.step()", **fields: Any) -> Stepped:
        """An optimizer steps; its modules are those it was built with."""
        modules = self._parts[optimizer]
        fields.setdefault("whole", bool(modules))
        return self.add(
            Stepped, text, optimizer=optimizer, name=text.removesuffix(".step()"), modules=modules, **fields
        )

    def step_by_hand(self, *modules: int, text: str = "w -= lr * w.grad") -> Stepped:
        """Parameters are updated without an optimizer."""
        return self.add(Stepped, text, optimizer=0, name="w", modules=self._all(modules), whole=True, manual=True)

    def zero_grad(self, target: int, text: str = "optimizer.zero_grad()") -> ZeroGrad:
        """An optimizer or a module clears gradients."""
        modules = self._parts[target]
        return self.add(
            ZeroGrad,
            text,
            target=target,
            name=text.removesuffix(".zero_grad()"),
            modules=modules,
            whole=bool(modules),
        )

    def mode(self, module: int, text: str = "model.eval()", *, whole: bool = True) -> ModeSet:
        """`train()` or `eval()`."""
        name, _, method = text.rpartition(".")
        return self.add(ModeSet, text, module=module, name=name, training=method == "train()", whole=whole)

    def load(self, module: int) -> Loaded:
        """Weights are loaded."""
        return self.add(Loaded, "model.load_state_dict(...)", module=module, name="model")

    def escaped(
        self,
        *,
        to: str = "somewhere",
        optimizers: Iterable[int] = (),
        modules: Iterable[int] = (),
        forwards: Iterable[Forward] = (),
        outputs: Iterable[Forward] = (),
        retained: Iterable[Retained] = (),
        returned: bool = False,
        stays: bool = False,
    ) -> Escaped:
        """Something escapes."""
        return self.add(
            Escaped,
            f"{to}(...)",
            to=to,
            optimizers=frozenset(optimizers),
            modules=self._all(modules),
            forwards=frozenset(event.index for event in forwards),
            outputs=frozenset(event.index for event in outputs),
            retained=frozenset(event.index for event in retained),
            returned=returned,
            stays=stays,
        )

    def not_called(self, name: str, of: str, target: int = 0) -> NotCalled:
        """A method is only named."""
        return self.add(NotCalled, name, name=name, method=name.rpartition(".")[2], of=of, target=target)

    def keep(
        self,
        text: str = "total += loss",
        *,
        how: Retention = Retention.ACCUMULATED,
        of: Iterable[Forward] = (),
        carries: Iterable[Retained] = (),
        graph: Tri = True,
        bounded: bool = False,
        holder: str = "total",
        inside: Iterable[Retained] = (),
    ) -> Retained:
        """A value is put where it outlives its iteration."""
        indices = frozenset(forward.index for forward in of)
        return self.add(
            Retained,
            text,
            value=TensorFact(
                name="loss",
                graph=graph,
                forwards=indices,
                graph_forwards=indices if graph else NONE,
                retained=frozenset(event.index for event in inside),
            ),
            how=how,
            holder=holder,
            carries=frozenset(event.index for event in carries),
            bounded=bounded,
        )

    def unregistered(self, text: str = "self.layers = []", **fields: Any) -> Unregistered:
        """A plain container with layers becomes an attribute."""
        known = {
            "owner": 90,
            "owner_class": "Net",
            "name": "layers",
            "container": "list",
            "members": (91, 92),
            "parameters": False,
            "trainable": True,
            "passed_in": False,
            "registered": False,
        }
        return self.add(Unregistered, text, **{**known, **fields})

    def saved(self, what: str, *modules: int) -> Saved:
        """`torch.save`."""
        return self.add(Saved, f"torch.save({what})", what=what, modules=modules, names=("",) * len(modules))

    # --- what the rules say -----------------------------------------------------------------------------------------

    def findings(self, rule: type[Rule]) -> list[Finding]:
        """What the rule reports."""
        return list(rule().check(self.trace))

    def found(self, rule: type[Rule]) -> list[str]:
        """The lines that the rule reports, after a look at the manners of each finding."""
        texts = {row: text for text, row in self._lines.items()}
        lines = []
        for finding in self.findings(rule):
            assert len(finding.message) <= 100, finding.message
            assert not finding.message.endswith("."), finding.message
            assert finding.help, finding.code
            assert all(step.note and not step.note.endswith(".") for step in finding.trail)
            lines.append(texts[finding.site.row])
        return lines

    def _all(self, modules: Iterable[int]) -> frozenset[int]:
        return NONE.union(*(self._parts.get(module, {module}) for module in modules))


@pytest.fixture
def script() -> Script:
    """An empty script."""
    return Script()


@pytest.fixture
def function() -> Script:
    """A function whose callers are out of sight."""
    return Script(begins_outside=True)
