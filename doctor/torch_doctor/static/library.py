"""Calls of libraries: what the tables say of a name is what calling it does."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.iteration import PASSES, UNROLLED, Course
from torch_doctor.static.methods import Methods
from torch_doctor.static.tables import frameworks, functions, layers, libraries, losses, training
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    ClassValue,
    Const,
    Content,
    Context,
    Either,
    FunctionValue,
    Instance,
    Lib,
    Loader,
    Mapping,
    Module,
    Object,
    Optimizer,
    ParameterValue,
    Params,
    Partial,
    Plain,
    Sequence,
    Spread,
    Stream,
    Tensor,
    Tool,
    Unknown,
    Value,
    fresh_symbol,
    held,
    summary,
)
from torch_doctor.trace import (
    BatchTaken,
    Kind,
    LoaderBuilt,
    LoopKind,
    LossCalled,
    ModuleBuilt,
    OptimizerBuilt,
    Saved,
    ScalerBuilt,
    SchedulerBuilt,
    Source,
    Stepped,
)

if TYPE_CHECKING:
    from torch_doctor.static.calls import Args, Keywords

_PLAIN_ROOTS = frozenset(
    [
        "numpy",
        "math",
        "os",
        "time",
        "argparse",
        "json",
        "random",
        "logging",
        "sys",
        "pathlib",
        "yaml",
        "pandas",
        "matplotlib",
        "datetime",
        "collections",
        "itertools",
        "re",
        "sklearn",
        "scipy",
        "warnings",
        "string",
        "glob",
        "csv",
        "pickle",
        "shutil",
        "cv2",
        "PIL",
        "click",
    ]
)
_HELD_OUT = 20


class Library(Methods):
    """The part of the executor that knows libraries."""

    def library(self, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:  # noqa: C901, PLR0911, PLR0912 - one branch per table
        """Call something of a library by its canonical name."""
        if name.startswith("builtins."):
            return self._builtin(name[9:], args, keywords, node, spelling)
        if name in losses.LOSSES:
            if name.startswith(("torch.nn.functional.", "torchvision.ops.")):
                return self.loss(name, args, keywords, node, spelling)
            return self.build_layer(name, args, keywords, node)
        if name in layers.LAYERS or name in layers.CONTAINERS or name in layers.PARAMETER_CONTAINERS:
            return self.build_layer(name, args, keywords, node)
        if name == "torch.nn.Parameter":
            return self.own(ParameterValue(self.site(node), declared=True))
        if name.endswith(".__init__") and args and isinstance(args[0], Module):  # a base initialised by name
            return self._of_base(args[0], "__init__", args[1:], keywords, node, spelling)
        known = functions.FUNCTIONS.get(name)
        if known is not None:
            return self._function(name, known, args, keywords, node)
        if name in training.GRAD_MODES:
            return self._grad_mode(name, args, keywords, node)
        if training.optimizer_of(name):
            return self._optimizer_built(name, args, keywords, node)
        if training.scheduler_of(name):
            return self._scheduler_built(name, args, keywords, node)
        if name in training.SCALERS:
            scaler: Tool = self.own(Tool(self.site(node), name))
            enabled = keywords.get("enabled")
            self.emit(
                ScalerBuilt,
                node,
                scaler=scaler.id,
                enabled=bool(enabled.value) if isinstance(enabled, Const) else None if enabled else True,
            )
            return scaler
        if training.loader_of(name):
            return self._loader_built(name, args, keywords, node)
        if name in training.WRAPPERS:
            return self._wrapped(training.WRAPPERS[name], args, keywords)
        if name in training.CLIPS:
            self.clipped(name, args[:1], node)
            return Tensor()
        if name in training.SAVES:
            return self._saved(training.SAVES[name], args, keywords, node)
        if name in training.COPIES and args:
            return self.copied(args[0], node)
        if name in training.AUTOGRAD_GRAD:
            return self._autograd_grad(args, keywords, node)
        if name in training.BACKWARDS or name in training.DISTRIBUTED_BACKWARD:
            return self._backward_function(name, args, keywords, node)
        if name in training.SCALED_LOSSES and args:
            return args[0]
        if name in training.PREPARES:
            return self.arguments_again(args[:2], node)
        model = training.library_model(name)
        if model is not None:
            return self.library_module(name, model, node)
        launcher = frameworks.LAUNCHERS.get(name)
        if launcher is not None:
            launched = self.launched(launcher, args, keywords, node)
            if launched is not None:
                return launched
        passed = libraries.PASS_THROUGH.get(name)
        if passed is not None:
            return self._passed_through(passed, args, keywords)
        framed = self.framework_call(name, args, keywords, node)
        if framed is not None:
            return framed
        if name in training.OPTIMIZER_WRAPPERS or name in training.LOADER_WRAPPERS:
            position = training.OPTIMIZER_WRAPPERS.get(name, training.LOADER_WRAPPERS.get(name, 0))
            return args[position] if position < len(args) else keywords.get("optimizer", Unknown())
        if name in training.OPTIMIZER_FACTORIES or name in training.AVERAGED:
            return self._made_from_model(name, args, node)
        return self._other(name, args, keywords, node, spelling)

    def _other(self, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:
        if name in libraries.RANGES:
            return Stream(Plain())
        if name == "functools.partial" and args:
            return Partial(args[0], args[1:], keywords)
        if name == "collections.deque":
            return self._deque(args, keywords, node)
        if name in ("collections.defaultdict", "collections.OrderedDict", "collections.Counter"):
            return self._dictionary(args[1:] if name.endswith("defaultdict") else args, keywords, node, args[:1])
        if (name.startswith("torch.cuda.") and name.endswith("is_available")) or name == "torch.cuda.device_count":
            return Plain(("flag", name))
        root = name.partition(".")[0]
        values = [*args, *keywords.values()]
        if root in _PLAIN_ROOTS and libraries.harmless(name):
            return Plain()
        if name.startswith(("torch.utils.data.", "torchvision.datasets")):
            return self.own(Tool(self.site(node), name, args=args, keywords=keywords))
        if name.rpartition(".")[2][:1].isupper() and libraries.harmless(name):
            return self.own(Tool(self.site(node), name, held(values)))
        if name.endswith(".SummaryWriter"):
            return self.own(Tool(self.site(node), name))
        return self.opaque(Lib(name), args, keywords, node, spelling)

    # --- torch's functions ---

    def _function(self, name: str, known: functions.Function, args: Args, keywords: Keywords, node: p.Node) -> Value:
        needs = keywords.get("requires_grad")
        if needs is not None and isinstance(needs, Const) and needs.value:
            flow = Flow(source=known.source or Source.UNKNOWN)
            return self.own(ParameterValue(self.site(node), declared=False, flow=flow))
        if name.rpartition(".")[2].startswith("dropout") and "training" not in keywords and len(args) < 3:  # noqa: PLR2004 - training is the third
            pass
        short = name.rpartition(".")[2]
        dims = len(args) + len(keywords) - 1
        if short in functions.METHODS and functions.METHODS[short].scalar is not None:
            dims = max(0, dims)
        result = self.computed(short if short in ("log", "exp") else name, known, args, keywords, node, dims=dims)
        if isinstance(result, Tensor) and short in ("cat", "concat", "concatenate", "stack", "hstack", "vstack"):
            result = Tensor(
                result.flow, result.kind, result.made_at, result.made_by or name, result.trail, result.scalar
            )
            if result.kind is Kind.UNKNOWN:
                result.made_by = name
        return result

    def loss(
        self, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str, module: Module | None = None
    ) -> Value:
        """Compute one of torch's losses."""
        table = losses.LOSSES[name]
        given = args[table.input] if table.input < len(args) else keywords.get(table.input_name, Unknown())
        target: Value = Unknown()
        if table.target is not None:
            target = args[table.target] if table.target < len(args) else keywords.get(table.target_name, Unknown())
        flow = self.recorded(blend(value.flow for value in (*args, *keywords.values())))
        settings = module.settings if module is not None else keywords
        reduction = settings.get("reduction")
        scalar = (
            None
            if reduction is not None and not (isinstance(reduction, Const) and reduction.value in ("mean", "sum"))
            else True
        )
        output = Tensor(flow, Kind.LOSS, self.site(node), name, (), scalar)
        self.emit(
            LossCalled,
            node,
            loss=name,
            name=spelling,
            expects=table.expects,
            input=self.fact(given, self.text_of_argument(node, table.input)),
            target=self.fact(target),
            output=self.fact(output),
        )
        return output

    def _grad_mode(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
        enabled = training.GRAD_MODES[name]
        switch = training.GRAD_MODE_SWITCH.get(name)
        flag = args[0] if args else keywords.get(switch[0]) if switch else None
        if isinstance(flag, (FunctionValue, Bound)):  # torch.no_grad(function)
            return flag
        if switch is not None and flag is not None:
            enabled = bool(flag.value) if isinstance(flag, Const) else None
            if name == "torch.inference_mode":
                enabled = None if enabled is None else self.grad if not enabled else False
            elif enabled is None and isinstance(flag, Plain):
                assumed = self.decided(flag.symbol)
                enabled = assumed
        if name == "torch.set_grad_enabled":
            before = self.set_grad(name, enabled, node)
            return Context(name, enabled, previous=(before,))
        return Context(name, enabled)

    def grad_context(self, name: str) -> Context | None:
        """The grad-mode context of this name, as a decorator without a call."""
        enabled = training.GRAD_MODES.get(name)
        return Context(name, enabled) if enabled is not None else None

    def _autograd_grad(self, args: Args, keywords: Keywords, node: p.Node) -> Value:
        value = args[0] if args else keywords.get("outputs", Unknown())
        self.backward(value, node, self.text_of_argument(node, 0), through="autograd.grad", keywords=keywords)
        create = keywords.get("create_graph")
        flow = value.flow if create is not None else value.flow.cut()
        return Stream(Tensor(flow, made_by="gradient"))

    def _backward_function(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
        context = name in training.DISTRIBUTED_BACKWARD
        position = 1 if context else 0
        value: Value = args[position] if position < len(args) else Unknown()
        if isinstance(value, Sequence):
            value = Tensor(value.flow, Kind.LOSS)
        self.backward(
            value, node, self.text_of_argument(node, position), through=name, keywords=keywords, context=context
        )
        return NOTHING

    # --- what takes part in training ---

    def _optimizer_built(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
        given = args[:1] or tuple(value for key, value in keywords.items() if key in ("params", "parameters", "**"))
        modules, whole = self.parameters_in(given)
        return self.optimizer(name, modules, node, whole=whole and bool(given))

    def optimizer(self, name: str, modules: frozenset[int], node: p.Node, *, whole: bool) -> Optimizer:
        """Make an optimizer."""
        made: Optimizer = self.own(Optimizer(self.site(node), name, modules, whole=whole))
        self.emit(OptimizerBuilt, node, optimizer=made.id, class_name=name, modules=modules, whole=whole)
        return made

    def _made_from_model(self, name: str, args: Args, node: p.Node) -> Value:
        if name in training.OPTIMIZER_FACTORIES:
            position = training.OPTIMIZER_FACTORIES[name]
            modules, _ = self.parameters_in(args[position : position + 1])
            return self.optimizer(name, modules, node, whole=False)
        return self.copied(args[0], node) if args else Unknown()

    def _scheduler_built(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
        values = [*args, *keywords.values()]
        owner = next((value.id for value in values if isinstance(value, Optimizer)), 0)
        made: Tool = self.own(Tool(self.site(node), name, held(values)))
        self.emit(SchedulerBuilt, node, scheduler=made.id, optimizer=owner, class_name=name)
        return made

    def _loader_built(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
        loader: Loader = self.own(Loader(self.site(node), name))
        for key, value in keywords.items():
            loader.fields[key] = value
        if args:
            loader.fields["dataset"] = args[0]
        shuffle, drop = keywords.get("shuffle"), keywords.get("drop_last")
        self.emit(
            LoaderBuilt,
            node,
            loader=loader.id,
            shuffle=bool(shuffle.value)
            if isinstance(shuffle, Const)
            else None
            if shuffle is not None or "**" in keywords
            else False,
            drop_last=bool(drop.value)
            if isinstance(drop, Const)
            else None
            if drop is not None or "**" in keywords
            else False,
        )
        return loader

    def _wrapped(self, position: int, args: Args, keywords: Keywords) -> Value:
        value = args[position] if position < len(args) else keywords.get("module") or keywords.get("model")
        if isinstance(value, (FunctionValue, Bound, Partial, Module, Either, Unknown)):
            return value
        return Unknown() if value is None else value

    def library_module(self, name: str, model: training.LibraryModel, node: p.Node) -> Module:
        """A model that a library builds."""
        made: Module = self.own(Module(self.site(node), layer=name, sensitive=model.sensitive, name=name))
        made.fields["#mode"] = (0, model.training)
        made.fields["#initialised"] = True
        self.emit(ModuleBuilt, node, module=made.id, class_name=name, sensitive=model.sensitive, parameters=True)
        return made

    def _saved(self, position: int, args: Args, keywords: Keywords, node: p.Node) -> Value:
        value = args[position] if position < len(args) else keywords.get("obj", Unknown())
        found = list(_whole_modules(value))
        self.emit(
            Saved,
            node,
            what=self.text_of_argument(node, position),
            modules=tuple(module.id for _, module in found),
            names=tuple(name for name, _ in found),
        )
        return NOTHING

    def arguments_again(self, args: Args, node: p.Node) -> Value:
        """The arguments as they were given: one alone, several as a tuple."""
        if len(args) == 1 and not isinstance(args[0], Spread):
            return args[0]
        items = tuple(value for value in args if not isinstance(value, Spread))
        rest = next((value.content.rest for value in args if isinstance(value, Spread)), None)
        return self.own(Sequence("tuple", Content(items, rest), self.site(node), self.frame.what))

    def copied(self, value: Value, node: p.Node, seen: dict[int, Value] | None = None) -> Value:
        """`copy.deepcopy`: new objects of the same shape."""
        seen = {} if seen is None else seen
        if isinstance(value, Object) and value.id in seen:
            return seen[value.id]
        if isinstance(value, Module):
            copy: Module = self.own(
                Module(
                    self.site(node),
                    cls=value.cls,
                    layer=value.layer,
                    table=value.table,
                    sensitive=value.sensitive,
                    name=value.name,
                )
            )
            copy.settings = value.settings
            seen[value.id] = copy
            for key, item in value.fields.items():
                if isinstance(item, Content):
                    copy.fields[key] = Content(
                        tuple(self.copied(i, node, seen) for i in item.items),
                        None if item.rest is None else self.copied(item.rest, node, seen),
                    )
                elif isinstance(key, tuple) or not isinstance(item, Value):
                    copy.fields[key] = item
                else:
                    copy.fields[key] = self.copied(item, node, seen)
            if len(seen) == 1:
                copy.fields.pop("#registered", None)
            return copy
        if isinstance(value, ParameterValue):
            leaf: ParameterValue = self.own(ParameterValue(value.born, declared=value.declared))
            seen[value.id] = leaf
            leaf.fields.update(value.fields)
            return leaf
        if isinstance(value, Sequence) and len(seen) < _HELD_OUT:
            content = value.content
            items = tuple(self.copied(item, node, seen) for item in content.items)
            return self.own(Sequence(value.kind, Content(items, content.rest), self.site(node), value.function))
        return value

    # --- Python's own ---

    def _passed_through(self, passed: libraries.PassThrough, args: Args, keywords: Keywords) -> Value:
        if passed.position >= len(args):
            given = keywords.get("iterable") or keywords.get("sequence")
            return self.stream(given) if given is not None else Stream(Plain())
        if passed.style == "zip":
            streams = [self.stream(value) for value in args]
            item = Sequence("tuple", Content(tuple(stream.item for stream in streams)))
            exact = [stream.content for stream in streams]
            content: Content | None = None
            if exact and all(c is not None and c.rest is None for c in exact):
                rows = zip(*(c.items for c in exact if c is not None), strict=False)
                content = Content(tuple(Sequence("tuple", Content(tuple(row))) for row in rows))
            loader = next((stream.loader for stream in streams if stream.loader), 0)
            return Stream(item, content, loader)
        stream = self.stream(args[passed.position])
        if passed.style == "enumerate":
            content = stream.content
            if content is not None and content.rest is None:
                content = Content(
                    tuple(Sequence("tuple", Content((Const(i), item))) for i, item in enumerate(content.items))
                )
            return Stream(Sequence("tuple", Content((Plain(), stream.item))), content, stream.loader)
        return Stream(stream.item, stream.content, stream.loader, endless=passed.style == "cycle")

    def stream(self, value: Value) -> Stream:
        """What a loop over a value goes through."""
        value = self.resolve(value)
        if isinstance(value, Stream):
            return value
        if isinstance(value, Loader):
            return Stream(self.element(value), None, value.id)
        if isinstance(value, (Sequence, Mapping)) or (isinstance(value, Module) and self.listed(value) is not None):
            content = self.content(value)
            everything = content.all()
            return Stream(summary(everything) if everything else Unknown(), content)
        if isinstance(value, Either):
            streams = [self.stream(option) for _, option in value.options]
            return Stream(summary(s.item for s in streams), None, next((s.loader for s in streams if s.loader), 0))
        if isinstance(value, Tool) and value.name.startswith("torch.utils.data."):
            return Stream(Unknown(Flow(source=Source.DATA)))
        item = self.element(value)
        loader = value.flow.loader if isinstance(value, Unknown) else 0
        return Stream(item, None, loader)

    def course(self, over: p.Expr) -> Course:
        """How a `for` goes through something."""
        stream = self.stream(self.evaluate(over))
        text = self.text(over)
        content = stream.content
        batches = bool(stream.loader)
        if content is not None and content.rest is None and len(content.items) <= UNROLLED:
            items = content.items
            return Course(len(items), lambda number: items[number - 1], text)
        kind = LoopKind.BATCHES if batches else LoopKind.PLAIN
        turn = fresh_symbol("turn")

        def item(number: int) -> Value:
            if batches:
                self.emit(BatchTaken, over, loader=stream.loader, name=text)
            return self.renewed(stream.item, (*turn, number))

        passes = PASSES if self.loop_depth < 3 else 1  # noqa: PLR2004 - epochs, batches and one more
        return Course(passes, item, text, kind)

    def renewed(self, item: Value, turn: tuple[Any, ...]) -> Value:
        """A pass's item: its numbers are decided anew in each pass."""
        if isinstance(item, Plain):
            return Plain(turn)
        if isinstance(item, Sequence) and item.kind == "tuple":
            content = item.content
            items = tuple(self.renewed(part, (*turn, i)) for i, part in enumerate(content.items))
            return Sequence("tuple", Content(items, content.rest))
        return item

    def endless(self, node: p.While) -> Course:
        """How a `while` goes."""
        return Course(PASSES, lambda _: NOTHING, self.text(node.test), endless=True)

    def counted(self, course: Course) -> bool:
        """Whether the passes of a course are exactly the loop's items."""
        return course.kind is LoopKind.PLAIN and course.passes < PASSES

    def _deque(self, args: Args, keywords: Keywords, node: p.Node) -> Value:
        content = self.content(args[0]) if args else Content()
        made: Sequence = self.own(Sequence("deque", content, self.site(node), self.frame.what))
        made.bounded = "maxlen" in keywords or len(args) > 1
        return made

    def _dictionary(self, args: Args, keywords: Keywords, node: p.Node, factory: Args = ()) -> Value:
        mapping: Mapping = self.own(Mapping(self.site(node), self.frame.what))
        for value in args:
            if isinstance(value, Mapping):
                mapping.fields.update(value.fields)
            elif isinstance(value, Sequence):
                for item in value.content.all():
                    if (
                        isinstance(item, Sequence)
                        and len(item.content.items) == 2
                        and isinstance(item.content.items[0], Const)
                    ):  # noqa: PLR2004 - key and value
                        mapping.fields["key", item.content.items[0].value] = item.content.items[1]
                    else:
                        mapping.fields["rest"] = self.element(item)
        for key, value in keywords.items():
            mapping.fields["key", key] = value
        if factory and isinstance(factory[0], Lib) and factory[0].name in ("builtins.list", "builtins.dict"):
            empty = (
                Sequence("list", Content(), self.site(node))
                if factory[0].name.endswith("list")
                else Mapping(self.site(node))
            )
            mapping.fields["rest"] = self.own(empty)
        elif factory:
            mapping.fields["rest"] = Plain()
        return mapping

    def _builtin(self, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one branch per function
        first = args[0] if args else NOTHING
        if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed"):
            kind = name if name in ("tuple", "set") else "list"
            if not args:
                return self.own(Sequence(kind, Content(), self.site(node), self.frame.what))
            if isinstance(first, Params):
                return first
            stream = self.stream(first)
            content = stream.content or Content((), stream.item)
            made: Sequence = self.own(Sequence(kind, content, self.site(node), self.frame.what))
            return made
        if name in ("enumerate", "zip"):
            return self._passed_through(libraries.PASS_THROUGH[name], args, keywords)
        if name == "iter":
            return self.stream(first)
        if name == "next":
            stream = self.stream(first)
            if stream.loader:
                self.emit(BatchTaken, node, loader=stream.loader, name=self.text_of_argument(node, 0))
            return stream.item
        if name == "range":
            return self._range(args)
        if name == "dict":
            return self._dictionary(args, keywords, node)
        if name == "isinstance" and len(args) == 2:  # noqa: PLR2004 - its two arguments
            return self._is_instance(first, args[1])
        if name in ("getattr", "hasattr") and len(args) > 1:
            return self._get_attribute(name, args, node)
        if name == "setattr" and len(args) > 2:  # noqa: PLR2004 - its three arguments
            key = args[1]
            attribute = p.Attribute(node.at, p.Const(node.at, None), "")
            text = (
                str(key.value)
                if isinstance(key, Const)
                else f"?{len(first.fields) if isinstance(first, Object) else 0}"
            )
            self.set_attribute(first, text, args[2], node, attribute)
            return NOTHING
        if name in ("map", "filter"):
            return self._mapped(name, args, node)
        if name in ("sum", "max", "min"):
            return self._reduced(name, args, node)
        if name == "len":
            if isinstance(first, Sequence) and first.content.rest is None and not self.loop_depth:
                return Const(len(first.content.items))
            return Plain(("len", first.id)) if isinstance(first, Object) else Plain()
        if name == "type" and len(args) == 1:
            return first.cls if isinstance(first, (Instance, Module)) and first.cls else Plain()
        if name == "id":
            return Plain()
        if name in ("float", "int", "str", "bool", "abs", "round"):
            if isinstance(first, Const):
                try:
                    return Const(getattr(builtins, name)(first.value))
                except (TypeError, ValueError, OverflowError):
                    return Plain()
            if name in ("bool", "int") and isinstance(first, Plain):
                return first
            if name in ("abs", "round") and isinstance(first, Tensor):
                return first
            return Plain()
        if name in ("super", "object"):
            return Unknown()
        if name == "print":
            return NOTHING
        if name in (
            "vars",
            "globals",
            "locals",
            "dir",
            "input",
            "open",
            "repr",
            "format",
            "any",
            "all",
            "hash",
            "callable",
        ):
            return Plain()
        return self.opaque(Lib(f"builtins.{name}"), args, keywords, node, spelling)

    def _range(self, args: Args) -> Value:
        numbers = [value.value for value in args if isinstance(value, Const) and isinstance(value.value, int)]
        if numbers and len(numbers) == len(args) and len(args) <= 3:  # noqa: PLR2004 - start, stop, step
            try:
                counted = range(*numbers)
            except ValueError:
                return Stream(Plain())
            if len(counted) <= PASSES:
                return Stream(Plain(), Content(tuple(Const(number) for number in counted)))
        return Stream(Plain())

    def _is_instance(self, value: Value, cls: Value) -> Value:
        options = cls.content.items if isinstance(cls, Sequence) else (cls,)
        names = [layers.canonical(option.name) if isinstance(option, Lib) else "" for option in options]
        if isinstance(value, (Instance, Module)) and value.cls is not None:
            mro = value.cls.mro()
            libs = [layers.canonical(base.name) for base in mro if isinstance(base, Lib)]
            if any(option in mro for option in options if isinstance(option, ClassValue)) or any(
                n in libs for n in names if n
            ):
                return Const(value=True)
            return Plain() if value.cls.opaque_base() else Const(value=False)
        if isinstance(value, Module) and value.layer:
            if value.layer in names or "torch.nn.Module" in names:
                return Const(value=True)
            if value.table is not None or value.layer in layers.CONTAINERS:
                return Const(value=False)
        if isinstance(value, Module) and "torch.nn.Module" in names:
            return Const(value=True)
        simple = {"builtins.list": "list", "builtins.tuple": "tuple", "builtins.set": "set"}
        if isinstance(value, Sequence) and names:
            return Const(any(simple.get(name) == value.kind for name in names))
        if isinstance(value, Mapping) and names:
            return Const("builtins.dict" in names)
        if isinstance(value, Const) and names and all(n.startswith("builtins.") for n in names):
            return Const(type(value.value).__name__ in [name[9:] for name in names])
        if isinstance(value, Tensor) and "torch.Tensor" in names:
            return Const(value=True)
        return Plain(
            ("isinstance", *([value.symbol] if isinstance(value, (Plain, Unknown)) else [fresh_symbol()]), *names)
        )

    def _get_attribute(self, name: str, args: Args, node: p.Node) -> Value:
        thing, key = args[0], args[1]
        if not isinstance(key, Const) or not isinstance(key.value, str):
            return Plain() if name == "hasattr" else Unknown()
        if name == "hasattr":
            if isinstance(thing, (Instance, Module)) and thing.cls is not None and not thing.cls.opaque_base():
                if key.value in thing.fields or thing.cls.find(key.value):
                    return Const(value=True)
                return Plain() if thing.cls.libraries() else Const(value=False)
            if isinstance(thing, Module) and key.value == "module":
                return Plain(("flag", "wrapped"))
            return Plain()
        return self.attribute(thing, key.value, node)

    def _mapped(self, name: str, args: Args, node: p.Node) -> Value:
        function, *iterables = args
        if not iterables:
            return Unknown()
        stream = self.stream(iterables[0])
        if name == "filter":
            if isinstance(iterables[0], Params):
                return iterables[0]
            return Stream(stream.item, None, stream.loader)
        if (
            stream.content is not None
            and stream.content.rest is None
            and len(iterables) == 1
            and len(stream.content.items) <= UNROLLED
        ):
            items = tuple(self.call(function, (item,), {}, node) for item in stream.content.items)
            return Stream(summary(items) if items else Unknown(), Content(items))
        return Stream(self.call(function, tuple(self.stream(iterable).item for iterable in iterables), {}, node))

    def _reduced(self, name: str, args: Args, node: p.Node) -> Value:
        if name != "sum" and len(args) > 1:
            values: tuple[Value, ...] = args
        else:
            stream = self.stream(args[0]) if args else Stream(Plain())
            values = stream.content.all() if stream.content is not None else (stream.item,)
        if not values or all(isinstance(value, (Const, Plain)) for value in values):
            return Plain()
        result: Value = values[0]
        for value in values[1:]:
            result = self.operate("+", (result, value), node)
        if isinstance(result, Params):
            return Tensor(Flow(graph=self.grad, modules=result.modules))
        return result

    # --- provided elsewhere ---

    def framework_call(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value | None:
        """Call something of a framework; None where the name is none of theirs."""
        raise NotImplementedError


def _whole_modules(value: Value, name: str = "", depth: int = 2) -> Any:  # noqa: ANN401 - pairs of a key and a module
    """The module objects that lie in what is saved."""
    if isinstance(value, Module):
        if value.layer not in losses.LOSSES:
            yield name, value
    elif isinstance(value, Either):
        found = [list(_whole_modules(option, name, depth)) for _, option in value.options]
        if all(found):
            yield from found[0]
    elif depth and isinstance(value, Mapping):
        for key, item in value.fields.items():
            if isinstance(key, tuple):
                yield from _whole_modules(item, str(key[1]), depth - 1)
    elif depth and isinstance(value, Sequence):
        for item in value.content.all():
            yield from _whole_modules(item, name, depth - 1)


__all__ = ["Library", "Stepped"]
