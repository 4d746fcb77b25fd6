"""Calls: project functions are entered, classes instantiated, and what is out of sight is said to be so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.expressions import Expressions
from torch_doctor.static.flow import UNSEEN, blend
from torch_doctor.static.frame import Frame, Landing
from torch_doctor.static.machine import DEPTH, RECURSIONS
from torch_doctor.static.statements import Suspended
from torch_doctor.static.tables import frameworks, layers, libraries
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    ClassValue,
    Content,
    Context,
    Either,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Method,
    Module,
    Namespace,
    Optimizer,
    ParameterValue,
    Partial,
    Plain,
    Sequence,
    Spread,
    Super,
    Tensor,
    Tool,
    Unknown,
    Value,
    fresh_symbol,
    held,
    join,
    summary,
)
from torch_doctor.trace import CallEntered, CallExited, Handed, Kind, Scope, ScopeKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.values import Facts

Args = tuple[Value, ...]
Keywords = dict[str, Value]


class Calls(Expressions):
    """The part of the executor that calls."""

    def evaluate_call(self, node: p.Call) -> Value:
        """A call in the source."""
        self.spend()
        if isinstance(node.func, p.Name) and node.func.id == "super" and self.frame.holder("super") is None:
            return self._super(node)
        func = self.evaluate(node.func)
        args: list[Value] = []
        for argument in node.args:
            if isinstance(argument, p.Star):
                content = self.content(self.evaluate(argument.value))
                if content.rest is None:
                    args.extend(content.items)
                else:
                    args.append(Spread(content))
            else:
                args.append(self.resolve(self.evaluate(argument)))
        keywords: Keywords = {}
        for name, expression in node.keywords:
            value = self.resolve(self.evaluate(expression))
            if name is not None:
                keywords[name] = value
            elif isinstance(value, Mapping):
                for key, item in value.fields.items():
                    if isinstance(key, tuple) and isinstance(key[1], str):
                        keywords[key[1]] = self.resolve(item)
                if "rest" in value.fields:
                    keywords["**"] = value.fields["rest"]
            else:
                keywords["**"] = Unknown(value.flow, held((value,)))
        return self.resolve(self.call(func, tuple(args), keywords, node, self.text(node.func)))

    def call(  # noqa: C901, PLR0911, PLR0912 - one branch per sort of callable
        self, func: Value, args: Args, keywords: Keywords, node: p.Node, name: str = ""
    ) -> Value:
        """Call a value; `name` is the user's spelling of it."""
        func = self.resolve(func)
        if isinstance(func, FunctionValue):
            return self._called(func, args, keywords, node)
        if isinstance(func, Bound):
            if func.function.node.name == "forward" and isinstance(func.self, Module) and not self.modules_called:
                return self.forward(func.self, args, keywords, node, name)
            return self._called(func.function, (func.self, *args), keywords, node)
        if isinstance(func, Module):
            return self.forward(func, args, keywords, node, name)
        if isinstance(func, Lib):
            return self.library(layers.canonical(func.name), args, keywords, node, name)
        if isinstance(func, Method):
            return self.method(func.of, func.name, args, keywords, node, name)
        if isinstance(func, ClassValue):
            return self.instantiate(func, args, keywords, node)
        if isinstance(func, Partial):
            return self.call(func.func, (*func.args, *args), {**func.keywords, **keywords}, node, name)
        if isinstance(func, Either):
            return self._any_of(func, args, keywords, node, name)
        if isinstance(func, Instance):
            found = func.cls.find("__call__")
            if found is not None and isinstance(found[0], FunctionValue):
                return self._called(found[0], (func, *args), keywords, node)
        if isinstance(func, Tool):
            return self.method(func, "__call__", args, keywords, node, name)
        if isinstance(func, Context):  # a grad-mode context used as a decorator by hand
            return args[0] if args else Unknown()
        return self.opaque(func, args, keywords, node, name)

    def _super(self, node: p.Call) -> Value:
        frame: Frame | None = self.frame
        if len(node.args) >= 2:  # noqa: PLR2004 - super(Class, self)
            cls = self.resolve(self.evaluate(node.args[0]))
            self_value = self.resolve(self.evaluate(node.args[1]))
            return Super(cls, self_value) if isinstance(cls, ClassValue) else Unknown()
        if node.args:
            return Plain()  # super(Class) alone is bound to nothing
        while frame is not None and (frame.what is None or frame.what.owner is None):
            frame = frame.closure
        if frame is None or frame.what is None or frame.what.owner is None or frame.self is None:
            return Unknown()
        return Super(frame.what.owner, frame.self)

    def _any_of(self, func: Either, args: Args, keywords: Keywords, node: p.Node, name: str) -> Value:
        """Call each option on its own path."""
        (facts, option), *others = func.options
        if not others:
            return self.call(option, args, keywords, node, name)
        results: list[Value] = []
        symbol = next(iter(facts))[0] if len(facts) == 1 else fresh_symbol("option")
        arm = dict(facts).get(symbol, True)

        def first() -> bool:
            results.append(self.call(option, args, keywords, node, name))
            return True

        def second() -> bool:
            rest = others[0][1] if len(others) == 1 else Either(tuple(others))
            results.append(self.call(rest, args, keywords, node, name))
            return True

        self.fork((({symbol: arm}, first), ({symbol: not arm}, second)), node, symbol)
        left, right = results if arm else reversed(results)
        joined: Value = join(left, right, symbol)
        return joined

    # --- project functions ---

    def _called(self, function: FunctionValue, args: Args, keywords: Keywords, node: p.Node) -> Value:
        if function.style == "contextmanager":
            return Suspended(function, args, keywords)
        return self.enter(function, args, keywords, node)

    def enter(
        self,
        function: FunctionValue,
        args: Args,
        keywords: Keywords,
        node: p.Node,
        on_yield: Callable[[Value], Value] | None = None,
    ) -> Value:
        """Execute a project function; what it returns, or an unknown value where it is not followed."""
        self.spend()
        repeated = sum(1 for entered in self.stack if entered.node is function.node)
        if len(self.stack) >= DEPTH or repeated >= RECURSIONS:
            self.give_up(
                node, f"`{function.node.name}` calls itself" if repeated else "too many calls inside each other"
            )
            return Unknown(
                blend(value.flow for value in (*args, *keywords.values())), held((*args, *keywords.values()))
            )
        self.entered.add(function.node)
        frame = Frame(function.unit, function.closure.globals, function.closure)
        frame.what = function
        frame.on_yield = on_yield
        frame.loops_before = self.loop_depth
        if function.owner is not None and args and function.style != "static":
            frame.self = args[0]
        if function.node.name == "__init__" and isinstance(frame.self, Module):
            self.heap.set(frame.self.fields, "#constructor", function)
        self._bind_parameters(frame, function, args, keywords)
        outer = (self.frame, self.scope, self.assumed, self.guards, self._iteration, self._loop)
        quiet = bool(self.modules_called)
        where = function.unit.site(function.node.name_at)
        if not quiet:
            self.emit(CallEntered, node, function=function.node.name, function_site=where)
            self.scope = Scope(kind=ScopeKind.CALL, site=where, parent=outer[1], name=function.node.name)
        self.frame = frame
        self._iteration = self._loop = None
        grad = self.grad
        for context in function.contexts:
            if isinstance(context, Context):
                self.set_grad(context.name, context.enabled, function.node)
        self.stack.append(function)
        frame.returns = Landing(self.heap.mark(), self.fork_depth, self.loop_depth)
        falls_through = self.block(function.node.body)
        alive = self.land(frame.returns, alive=falls_through or frame.returns.direct)
        self.stack.pop()
        if function.contexts and alive:
            self.set_grad("decorator", grad, function.node, leave=True)
        self.frame, self.scope, self.assumed, self.guards, self._iteration, self._loop = outer
        if not quiet:
            self.emit(CallExited, node, function=function.node.name)
        if function.node.generator and on_yield is None:
            items = Content((), summary(frame.yielded) if frame.yielded else Unknown())
            return self.own(Sequence("list", items, self.site(node), function))
        return self._result(frame, falls_through=falls_through)

    def _result(self, frame: Frame, *, falls_through: bool) -> Value:
        """What a function returns: one value, or one of a few that are told apart by what each path assumed."""
        returned = list(frame.returned)
        if falls_through:
            returned.append((frozenset(self.assumed.items()), NOTHING))
        if not returned:
            return NOTHING
        before = frozenset(self.assumed.items())
        result: Value | None = None
        for facts, value in reversed(returned):
            if result is None:
                result = value
                continue
            own: Facts = facts - before
            symbol, arm = min(own, key=repr) if len(own) == 1 else (fresh_symbol("returned"), True)
            result = join(value, result, symbol) if arm else join(result, value, symbol)
        assert result is not None
        return self.resolve(result)

    def _bind_parameters(self, frame: Frame, function: FunctionValue, args: Args, keywords: Keywords) -> None:
        fields = frame.fields
        positional = list(args)
        spread: Value | None = None
        if positional and isinstance(positional[-1], Spread):
            content = positional.pop().content  # type: ignore[attr-defined]  # checked just above
            positional.extend(content.items)
            spread = content.rest
        left = dict(keywords)
        open_ = left.pop("**", None)
        for parameter in function.node.parameters:
            name = parameter.name
            if parameter.kind == "args":
                rest = spread
                fields[name] = self.own(Sequence("tuple", Content(tuple(positional), rest)))
                positional = []
            elif parameter.kind == "kwargs":
                mapping: Mapping = self.own(Mapping())
                for key, value in left.items():
                    mapping.fields["key", key] = value
                if open_ is not None:
                    mapping.fields["rest"] = open_
                fields[name] = mapping
            elif parameter.kind == "plain" and positional:
                fields[name] = positional.pop(0)
            elif name in left:
                fields[name] = left.pop(name)
            elif spread is not None and parameter.kind == "plain":
                fields[name] = spread
            elif parameter.default is not None and open_ is None:
                outer, self.frame = self.frame, Frame(function.unit, function.closure.globals, function.closure)
                fields[name] = self.evaluate(parameter.default)
                self.frame = outer
            else:
                fields[name] = self.argument(parameter, function) if open_ is None else Unknown()

    # --- classes ---

    def instantiate(self, cls: ClassValue, args: Args, keywords: Keywords, node: p.Node) -> Value:
        """Construct an object of a project class."""
        if self.module_class(cls):
            return self.build_module(cls, args, keywords, node)
        special = self.special_instance(cls, args, keywords, node)
        if special is not None:
            return special
        thing: Instance = self.own(Instance(cls, self.site(node)))
        self.initialise(thing, cls, args, keywords, node)
        return thing

    def initialise(
        self, thing: Instance | Module, cls: ClassValue, args: Args, keywords: Keywords, node: p.Node
    ) -> None:
        """Run the constructor that a class finds."""
        found = cls.find("__init__")
        if found is not None and isinstance(found[0], FunctionValue):
            self.enter(found[0], (thing, *args), keywords, node)
            return
        if any(isinstance(base, ClassValue) and base.dataclass for base in cls.mro()):
            self._fill_dataclass(thing, cls, args, keywords)
            after = cls.find("__post_init__")
            if after is not None and isinstance(after[0], FunctionValue):
                self.enter(after[0], (thing,), {}, node)

    def _fill_dataclass(self, thing: Instance | Module, cls: ClassValue, args: Args, keywords: Keywords) -> None:
        names: list[str] = []
        for base in reversed(cls.mro()):
            if isinstance(base, ClassValue):
                names += [key[1] for key in base.fields if isinstance(key, tuple) and key[1] not in names]
        given = dict(zip(names, args, strict=False)) | keywords
        for name in names:
            default = cls.find(name)
            value = given.get(name) or (default[0] if default else Unknown())
            self.heap.set(thing.fields, name, value)

    # --- what is out of sight ---

    def opaque(self, func: Value, args: Args, keywords: Keywords, node: p.Node, name: str) -> Value:
        """A call that cannot be followed: what it gets is handed over, what it returns may hold on to all of it."""
        values = [*args, *keywords.values()]
        holders = [*values, func]
        holds = held(holders)
        library = layers.canonical(func.name) if isinstance(func, Lib) else ""
        harmless = bool(library) and libraries.harmless(library)
        flows = blend(value.flow for value in values)
        if not harmless:
            self.hand_over(name or library, holders, values, node)
            for value in values:
                self.call_back(value, node)
        if isinstance(func, (Unknown, Lib)) and flows.graph is False and self.grad is not False and holds:
            flows = replace(flows, graph=None)
        if flows.graph is True:
            flows = replace(flows, graph=None)
        flows = self.recorded(flows) if flows.graph is not False else flows
        if not values and isinstance(func, Unknown):
            flows = blend((func.flow, UNSEEN))
        return Unknown(
            flows if flows.graph is not False or flows.forwards or flows.source.value != "unknown" else UNSEEN, holds
        )

    def hand_over(self, to: str, holders: list[Value], values: list[Value], node: p.Node) -> None:
        """Write that what these values hold went out of sight."""
        reached = held(holders)
        optimizers = frozenset(number for number in reached if isinstance(self.objects.get(number), Optimizer))
        modules = frozenset(
            number for number in reached if isinstance(self.objects.get(number), (Module, ParameterValue))
        )
        losses = [value for value in values if optimizers or _may_go_backward(value)]
        forwards = frozenset[int]().union(*(value.flow.forwards for value in losses))
        kept = frozenset[int]().union(*(value.flow.kept for value in values))
        if optimizers or modules or forwards or kept:
            self.emit(
                Handed,
                node,
                to=to,
                optimizers=optimizers,
                modules=self.with_parts(modules),
                forwards=forwards,
                kept=kept,
            )

    def call_back(self, value: Value, node: p.Node) -> None:
        """A project function was handed out: it is run once, in a grad mode that nobody knows."""
        value = self.resolve(value)
        function = value.function if isinstance(value, Bound) else value
        if not isinstance(function, FunctionValue) or function.node in self.entered:
            return
        mode = self.grad
        self.heap.set(self.state.fields, "grad", None)
        self.enter(function, (value.self,) if isinstance(value, Bound) else (), {}, node)
        self.heap.set(self.state.fields, "grad", mode)

    # --- decorators ---

    def decorated(self, function: Value, decorator: p.Expr) -> Value:
        """What a decorator makes of a function; one that is not in sight is taken to keep what the function does."""
        applied = self.resolve(self.evaluate(decorator))
        if isinstance(function, FunctionValue):
            name = layers.canonical(applied.name) if isinstance(applied, Lib) else ""
            if name in _STYLES:
                return _styled(function, style=_STYLES[name])
            if isinstance(decorator, p.Attribute) and decorator.name in ("setter", "getter", "deleter"):
                return function
            if isinstance(applied, Context):
                return _styled(function, context=applied)
            context = self.grad_context(name) if name else None
            if context is not None:
                return _styled(function, context=context)
        if isinstance(applied, FunctionValue) and applied.node is not getattr(function, "node", None):
            wrapped = self.call(applied, (function,), {}, decorator)
            return wrapped if isinstance(wrapped, (FunctionValue, Partial, Bound, ClassValue)) else function
        if isinstance(applied, Method) and isinstance(applied.of, Tool):
            self.method(applied.of, applied.name, (function,), {}, decorator, "")
        return function

    def launched(self, launcher: frameworks.Launcher, args: Args, keywords: Keywords, node: p.Node) -> Value | None:
        """A function of a library that runs the user's function; None when there is none to run."""
        function: Value | None = keywords.get(launcher.name)
        if function is None and launcher.function is not None and launcher.function < len(args):
            function = args[launcher.function]
        if function is None:
            return None
        passed: Value | None = keywords.get(launcher.args_name)
        if passed is None and launcher.args is not None and launcher.args < len(args):
            passed = args[launcher.args]
        given = self.content(passed).items if isinstance(passed, Sequence) else ()
        target = function.function if isinstance(function, Bound) else function
        if not isinstance(target, FunctionValue):
            return self.call(function, given, {}, node) if isinstance(function, Partial) else None
        extra = tuple(Plain(fresh_symbol("flag")) for _ in range(launcher.prepended))
        wanted = sum(parameter.kind == "plain" for parameter in target.node.parameters)
        return self.call(
            function, (extra + given)[:wanted] if not isinstance(function, Bound) else extra + given, {}, node
        )

    # --- provided elsewhere ---

    def forward(self, module: Module, args: Args, keywords: Keywords, node: p.Node, name: str) -> Value:
        """Call a module."""
        raise NotImplementedError

    def library(self, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:
        """Call something of a library by its canonical name."""
        raise NotImplementedError

    def method(self, of: Value, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:
        """Call a method of something whose class is not the project's."""
        raise NotImplementedError

    def module_class(self, cls: ClassValue) -> bool:
        """Whether a project class is a module."""
        raise NotImplementedError

    def build_module(self, cls: ClassValue, args: Args, keywords: Keywords, node: p.Node) -> Value:
        """Construct a project module."""
        raise NotImplementedError

    def special_instance(self, cls: ClassValue, args: Args, keywords: Keywords, node: p.Node) -> Value | None:
        """Construct an object of a project class that derives from a library's optimizer, loader, …; else None."""
        raise NotImplementedError

    def argument(self, parameter: p.Parameter, function: FunctionValue) -> Value:
        """What a parameter is when nobody says: the role that its use, annotation and name tell."""
        raise NotImplementedError

    def with_parts(self, modules: frozenset[int]) -> frozenset[int]:
        """These modules and all in them that owns parameters."""
        raise NotImplementedError

    def grad_context(self, name: str) -> Context | None:
        """The grad-mode context of this name, as a decorator without a call."""
        raise NotImplementedError

    def namespace_of(self, value: Namespace, name: str) -> Any:  # noqa: ANN401 - a value or nothing
        """A name of a project file."""
        raise NotImplementedError


_STYLES = {
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "contextlib.contextmanager": "contextmanager",
}


def _styled(function: FunctionValue, style: str = "", context: Value | None = None) -> FunctionValue:
    contexts = function.contexts if context is None else (context, *function.contexts)
    return FunctionValue(
        function.node, function.unit, function.closure, function.owner, style or function.style, contexts
    )


def _may_go_backward(value: Value) -> bool:
    """Whether a function that gets this value may call backward on it: a loss, or something that is not known."""
    if value.flow.graph is False:
        return False
    if isinstance(value, Tensor):
        return value.kind is Kind.LOSS or value.scalar is True
    if isinstance(value, (Sequence, Mapping)):
        values = value.content.all() if isinstance(value, Sequence) else value.values()
        return any(_may_go_backward(item) for item in values)
    return isinstance(value, Unknown) and value.flow.source.value != "loader" and bool(value.flow.forwards)
