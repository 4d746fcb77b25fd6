"""Frameworks that own the loop: what they do by themselves is executed as if the script had done it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import PASSES, Course
from torch_doctor.static.library import Library
from torch_doctor.static.tables import frameworks, layers, training
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    ClassValue,
    Const,
    Content,
    FunctionValue,
    Instance,
    Loader,
    Mapping,
    Module,
    Optimizer,
    Plain,
    Sequence,
    Tool,
    Unknown,
    Value,
    held,
)
from torch_doctor.trace import BatchTaken, LoopKind, Owned, Source, Stepped, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.calls import Args, Keywords


class Owners(Library):
    """The part of the executor that knows frameworks."""

    _driven: set[int]

    # --- calls ---

    def framework_call(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value | None:
        """Call something of a framework; None where the name is none of theirs."""
        if name in frameworks.ENGINE_TRAINERS or name in frameworks.ENGINE_EVALUATORS:
            self.emit(Owned, node, framework="ignite")
            self._supervised(args, keywords, node, trains=name in frameworks.ENGINE_TRAINERS)
            return self.own(Tool(self.site(node), "ignite.engine.Engine"))
        if name in frameworks.ENGINE_STEPS:
            self.emit(Owned, node, framework="ignite")
            step = args[0] if args else keywords.get("process_function", NOTHING)
            engine: Tool = self.own(Tool(self.site(node), name))
            if isinstance(step, (FunctionValue, Bound)):
                self._every_batch(node, lambda batch: self.call(step, (engine, batch), {}, node))
            return engine
        for framework in frameworks.FRAMEWORKS:
            if name in framework.wraps:
                position = framework.wraps[name]
                return args[position] if position < len(args) else Unknown()
        if name == "deepspeed.initialize":
            model = keywords.get("model") or (args[1] if len(args) > 1 else Unknown())
            optimizer = keywords.get("optimizer", Unknown())
            return Sequence("tuple", Content((model, optimizer, Unknown(), Plain())))
        owner = frameworks.FACTORIES.get(name, name)
        found = frameworks.OWNERS.get(owner)
        if found is None:
            return None
        values = [*args, *keywords.values()]
        tool: Tool = self.own(Tool(self.site(node), owner, held(values), args, dict(keywords)))
        self.emit(Owned, node, framework=found.name)
        if found.owns_gradients:
            self.hand_over(name, values, values, node)
        return tool

    def framework_method(  # noqa: C901, PLR0911, PLR0912 - one branch per act
        self, of: Tool, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
    ) -> Value | None:
        """A method of a framework's object; None where the framework says nothing of it."""
        framework = frameworks.OWNERS.get(of.name)
        if framework is None:
            return None
        launcher = frameworks.LAUNCHER_METHODS.get(f"{of.name}.{name}")
        if launcher is not None:
            launched = self.launched(launcher, args, keywords, node)
            if launched is not None:
                return launched
        known = framework.methods.get(name)
        if known is None:
            if framework.owns_gradients:
                return self.opaque(of, args, keywords, node, f"{receiver}.{name}")
            return Plain() if not args else Unknown(Flow(graph=None), held((*args, *keywords.values())))
        position = known.of or 0
        given = args[position] if position < len(args) else next(iter(keywords.values()), Unknown())
        if "loop" in known.acts:
            for value in (*args, *keywords.values()):
                if isinstance(value, Module) and framework is frameworks.LIGHTNING:
                    self.drive_lightning(value, node)
            self.hand_over(f"{receiver}.{name}", [of, *args, *keywords.values()], [], node)
            return Unknown()
        if "backward" in known.acts:
            self.backward(
                given, node, self.text_of_argument(node, position), through=f"{receiver}.{name}", keywords=keywords
            )
        if "clip" in known.acts:
            self.clipped(f"{of.name}.{name}", args[:1], node)
        if "step" in known.acts:
            modules = self.with_parts(frozenset(n for n in of.holds if isinstance(self.objects.get(n), Module)))
            self.emit(
                Stepped, node, optimizer=0, name=receiver, modules=modules, whole=False, clears="clear" in known.acts
            )
        if "opaque" in known.acts:
            return self.opaque(of, args, keywords, node, f"{receiver}.{name}")
        if known.returns == "same":
            return given
        if known.returns == "arguments":
            return self.arguments_again(args, node)
        if known.returns == "nothing":
            return NOTHING
        if known.returns == "tensor":
            return Unknown(given.flow.cut())
        return Unknown(Flow(graph=None))

    def owned_method(
        self, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
    ) -> Value | None:
        """A method that a framework gives its modules; None where it says nothing of it."""
        if name in ("manual_backward", "backward") and args:
            self.backward(
                args[0], node, self.text_of_argument(node, 0), through=f"{receiver}.{name}", keywords=keywords
            )
            return NOTHING
        if name == "step" and of.cls is None:  # a DeepSpeed engine
            self.emit(
                Stepped, node, optimizer=0, name=receiver, modules=self.inside(of).owners, whole=False, clears=True
            )
            return NOTHING
        if name == "optimizers":
            known = of.fields.get("#optimizers")
            if isinstance(known, Value):
                return known
            return self.own(Optimizer(None, "", self.inside(of).owners, whole=False))
        if name in frameworks.LIGHTNING_MANUAL:
            return Unknown(Flow(graph=None)) if frameworks.LIGHTNING_MANUAL[name].returns != "nothing" else NOTHING
        if name in ("log", "log_dict", "print", "save_hyperparameters"):
            return NOTHING
        return None

    # --- loops ---

    def _every_batch(self, node: p.Node, step: Callable[[Value], Value], over: str = "the batches") -> None:
        """Run something for every batch, as an owner of the loop does."""
        loader: Loader = self.own(Loader(None, over))
        batch = Unknown(Flow(source=Source.LOADER, loader=loader.id))
        course = Course(PASSES, lambda _: batch, over, LoopKind.BATCHES)

        def body() -> bool:
            self.emit(BatchTaken, node, loader=loader.id, name=over)
            step(batch)
            return True

        self.iterate(node, node.at, course, lambda _: True, body)

    def _supervised(self, args: Args, keywords: Keywords, node: p.Node, *, trains: bool) -> None:
        """What ignite's ready-made engines do for a batch."""
        names = ("model", "optimizer", "loss_fn") if trains else ("model",)
        given = dict(zip(names, args, strict=False)) | keywords
        model, optimizer, criterion = (given.get(name, Unknown()) for name in ("model", "optimizer", "loss_fn"))
        if not isinstance(model, Module):
            return

        def step(batch: Value) -> Value:
            self.set_mode(model, trains, node, "model")
            if isinstance(optimizer, Optimizer):
                self.emit(ZeroGrad, node, target=optimizer.id, name="optimizer", modules=optimizer.modules, whole=True)
            before = self.grad
            self.heap.set(self.state.fields, "grad", trains)
            output = self.forward(model, (batch,), {}, node, "model")
            if trains:
                loss = self.call(criterion, (output, batch), {}, node, "loss_fn")
                self.backward(loss, node, "loss", through="ignite", keywords={})
                if isinstance(optimizer, Optimizer):
                    self.stepped(optimizer, node, "optimizer")
            self.heap.set(self.state.fields, "grad", before)
            return output

        self._every_batch(node, step)

    def lightning(self, cls: ClassValue) -> bool:
        """Whether a class is a LightningModule."""
        return any(layers.canonical(name) == "lightning.LightningModule" for name in cls.libraries())

    def drive_lightning(self, module: Module, node: p.Node) -> None:
        """What Lightning's trainer does with a module: its hooks, in order, with what it does between them."""
        if module.cls is None or not self.lightning(module.cls) or module.id in self._driven:
            return
        self._driven.add(module.id)
        self.emit(Owned, node, framework="lightning")
        configured = self._hook(module, "configure_optimizers", (), node)
        optimizers = _optimizers_in(configured) if configured is not None else []
        if optimizers:
            only = optimizers[0] if len(optimizers) == 1 else Sequence("list", Content(tuple(optimizers)))
            self.heap.set(module.fields, "#optimizers", only)
        automatic = module.fields.get("automatic_optimization")
        manual = automatic is not None and not (isinstance(automatic, Const) and automatic.value)
        self.set_mode(module, training_=True, node=node, name=module.class_name)

        def train(batch: Value) -> Value:
            loss = self._hook(module, "training_step", (batch, Plain(("turn", "batch_idx"))), node) or NOTHING
            if isinstance(loss, Mapping):
                found = loss.fields.get(("key", "loss"))
                loss = found if isinstance(found, Value) else loss
            if manual:
                return loss
            for optimizer in optimizers:
                self.emit(
                    ZeroGrad,
                    node,
                    target=optimizer.id,
                    name="optimizer",
                    modules=optimizer.modules,
                    whole=optimizer.whole,
                )
            if loss.flow.forwards or loss.flow.graph is True:
                self.backward(loss, node, "loss", through="lightning", keywords={})
            for optimizer in optimizers:
                self.stepped(optimizer, node, "optimizer")
            return loss

        if self._has_hook(module, "training_step"):
            self._every_batch(node, train)
        before = self.grad
        self.heap.set(self.state.fields, "grad", value=False)
        self.set_mode(module, training_=False, node=node, name=module.class_name)
        for name in sorted(frameworks.LIGHTNING.evaluation_hooks):
            if self._has_hook(module, name):

                def evaluate(batch: Value, name: str = name) -> Value:
                    return self._hook(module, name, (batch, Plain()), node) or NOTHING

                self._every_batch(node, evaluate)
        self.heap.set(self.state.fields, "grad", before)
        self.set_mode(module, training_=True, node=node, name=module.class_name)
        for name in sorted(frameworks.LIGHTNING.hooks):
            if self._has_hook(module, name):
                self._hook(module, name, (), node)

    def _has_hook(self, module: Module, name: str) -> bool:
        found = module.cls.find(name) if module.cls is not None else None
        return found is not None and isinstance(found[0], FunctionValue)

    def _hook(self, module: Module, name: str, args: Args, node: p.Node) -> Value | None:
        found = module.cls.find(name) if module.cls is not None else None
        if found is None or not isinstance(found[0], FunctionValue):
            return None
        wanted = sum(parameter.kind == "plain" for parameter in found[0].node.parameters) - 1
        return self.call(Bound(found[0], module), args[: max(wanted, 0)], {}, node)

    def drive_trainer(self, thing: Instance, node: p.Node) -> None:
        """What transformers' Trainer does with an overridden `compute_loss`."""
        found = thing.cls.find("compute_loss")
        if found is None or not isinstance(found[0], FunctionValue):
            return
        function = found[0]
        self.emit(Owned, node, framework="transformers")
        model = self.role_module("model")
        optimizer: Optimizer = self.own(Optimizer(None, "", self.inside(model).owners, whole=True))

        def step(batch: Value) -> Value:
            self.set_mode(model, training_=True, node=node, name="model")
            self.emit(ZeroGrad, node, target=optimizer.id, name="optimizer", modules=optimizer.modules, whole=True)
            loss = self.call(Bound(function, thing), (model, batch), {}, node)
            self.backward(loss, node, "loss", through="transformers", keywords={})
            self.stepped(optimizer, node, "optimizer")
            return loss

        self._every_batch(node, step)

    def special_instance(self, cls: ClassValue, args: Args, keywords: Keywords, node: p.Node) -> Value | None:
        """Construct an object of a project class that derives from a library's optimizer, loader or scheduler; else None."""
        names = [layers.canonical(name) for name in cls.libraries()]
        thing: Value | None = None
        if any(training.optimizer_of(name) or name in training.OPTIMIZER_BASES for name in names):
            modules, whole = self.parameters_in(args[:1] or keywords.values())
            thing = self.optimizer(cls.name, modules, node, whole=whole)
        elif any(training.loader_of(name) for name in names):
            thing = self.own(Loader(self.site(node), cls.name))
        elif any(training.scheduler_of(name) or name in training.SCHEDULER_BASES for name in names):
            thing = self.own(
                Tool(self.site(node), "torch.optim.lr_scheduler.LRScheduler", held((*args, *keywords.values())))
            )
        return thing


def _optimizers_in(value: Value) -> list[Optimizer]:
    if isinstance(value, Optimizer):
        return [value]
    if isinstance(value, Sequence):
        return [found for item in value.content.all() for found in _optimizers_in(item)]
    if isinstance(value, Mapping):
        return [found for item in value.values() for found in _optimizers_in(item)]
    return []
