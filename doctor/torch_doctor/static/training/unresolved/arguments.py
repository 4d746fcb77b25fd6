"""What arguments are that nobody in sight gives: by how they are used, as what they are annotated, how they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import commands
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import layers, losses, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.methods import MODULE_METHODS
from torch_doctor.static.training.module import module_classes
from torch_doctor.static.training.unresolved import roles, typed_shapes, usage
from torch_doctor.static.values import (
    Call,
    ClassValue,
    Fact,
    FunctionValue,
    Lib,
    Loader,
    Module,
    Optimizer,
    Plain,
    Tensor,
    Unknown,
    Value,
    fresh_symbol,
)
from torch_doctor.static.values.functions import Frame, top_frame
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


_SETTING_NAME = pattern(
    r"^(args|cfg|conf|config|configs|hparams|hps|params|flags|options?|settings|epochs?|device|lr|seed|path|name|mode|phase|split"
    r"|verbose|step|steps|iteration|rank|gpu|batch_size|num_\w+|n_\w+|max_\w+|min_\w+|\w+_(path|dir|size|interval|freq|rate|steps?|epochs?|file))$"
)
_PLAIN_TYPES = frozenset(f"builtins.{name}" for name in ("int", "float", "str", "bool", "bytes", "dict"))
_TENSOR_USES = frozenset(
    (
        *(
            "unsqueeze",
            "permute",
            "contiguous",
            "masked_fill",
            "masked_fill_",
            "clamp",
            "clamp_",
            "detach",
            "expand_as",
        ),
        *("requires_grad", "is_cuda", "scatter_", "index_select", "view_as", "new_zeros", "new_ones", "float", "long"),
    )
)
"""Attributes that tensors have, and no arrays; modules have some of them, but these are called."""
_OPTIONAL = frozenset(("Optional", "Union", "Annotated", "Final"))


class Guessing(Knowledge):
    """Whether modules are not to be built: while one is built of which the arguments are guessed, or where a caller has one."""

    building: bool = per_run(bool)


def argument_for(run: Run, parameter: p.Parameter, function: FunctionValue) -> Value:
    """What a parameter is when nobody says."""
    value = commands.given(run, function, parameter.name) or _guessed(run, parameter, function)
    if isinstance(value, (Loader, Module)):
        value.facts[Fact.HANDED_IN] = True  # not logged: it was made for this parameter
    return value


def _guessed(run: Run, parameter: p.Parameter, function: FunctionValue) -> Value:
    name = parameter.name
    uses = usage.of_variable(run, name, function)
    with run.override(frame=frame_for(run, function)):
        annotated = _annotated(run, parameter, uses)
        guessed = annotated or roles.role(run, name, Unknown(), uses)
    if guessed is None and roles.is_called_model(name, function.node.calls, uses):
        guessed = roles.module_by_role(run, name)
    if isinstance(guessed, Module) and guessed.cls is None and not guessed.layer:
        only = _only_model(run, function)
        beside = run.resolve(function.closure.globals.fields.get(name, guessed))
        if isinstance(beside, Module) and beside is not guessed and only is not None and beside.cls is not only.cls:
            return guessed  # the file has another model of that name
        return only if only is not None and _fits(only, name, uses, function) else guessed
    if guessed is not None:
        return guessed
    if uses & _TENSOR_USES and name not in function.node.calls:
        return Tensor(Flow(graph=None))
    if _SETTING_NAME.match(name) or _is_literal(parameter.default):
        return Plain(fresh_symbol("flag"))
    return Unknown(Flow(graph=None), symbol=fresh_symbol("flag"))


def given(run: Run, value: Value, parameter: p.Parameter, function: FunctionValue) -> Value:
    """An argument; one that is not known becomes what the function uses it as, the same thing in every call."""
    if not isinstance(value, Unknown) or value.holds or value.flow.forwards or value.flow.source is not Source.UNKNOWN:
        return value
    found = roles.played(run, value)
    if found is None:
        with run.override(frame=frame_for(run, function)):
            if (typed := typed_shapes.stated(run, parameter.annotation, value.flow)) is not None:
                return typed
            found = roles.role(run, parameter.name, value, usage.of_variable(run, parameter.name, function))
        if found is not None:
            found = roles.play(run, value, found)
    return found or value


def frame_for(run: Run, function: FunctionValue) -> Frame:
    """A frame in which a function's parameters can be looked at."""
    frame = Frame(function.unit, function.closure.globals, function.closure)
    frame.what = function
    return frame


def _is_literal(default: p.Expr | None) -> bool:
    """Whether a default tells that a parameter is a number, a string or a flag."""
    return isinstance(default, p.Const) and default.value is not None


def _annotated(run: Run, parameter: p.Parameter, uses: set[str]) -> Value | None:
    if (typed := typed_shapes.stated(run, parameter.annotation)) is not None:
        return typed
    annotation = _meant(parameter.annotation)
    if annotation is None:
        return None
    found = run.evaluate(annotation)
    if isinstance(found, ClassValue):
        return _object_of(run, found)
    if not isinstance(found, Lib):
        return None
    name = canonical(found.name)
    if name in _PLAIN_TYPES or name.startswith("numpy."):
        return Plain(fresh_symbol("flag"))
    if name in layers.MODULE_BASES:
        return roles.loss_or_module(run, parameter.name, uses) or roles.module_by_role(run, parameter.name)
    if name in losses.CLASSES:
        return roles.loss_by_role(run, parameter.name, name)
    if training.loader_of(name):
        return run.own(Loader(None, parameter.name))
    if name in training.OPTIMIZER_BASES or training.optimizer_of(name):
        return run.own(Optimizer(None, "", frozenset(), whole=False))
    if name == "torch.Tensor":
        return Unknown(Flow(graph=None, source=Source.UNKNOWN))
    return None


def _meant(annotation: p.Expr | None) -> p.Name | p.Attribute | None:
    """The name of the type that an annotation speaks of, where it may be missing as well."""
    if isinstance(annotation, p.Index):
        inner = annotation.value
        word = inner.name if isinstance(inner, p.Attribute) else inner.id if isinstance(inner, p.Name) else ""
        annotation = annotation.key if word in _OPTIONAL else None
        if isinstance(annotation, p.Display):
            annotation = annotation.items[0] if annotation.items else None
    if isinstance(annotation, p.Operation) and annotation.op == "|":
        annotation = annotation.operands[0]
    if isinstance(annotation, p.Const) and isinstance(annotation.value, str) and annotation.value.isidentifier():
        return p.Name(annotation.at, annotation.value)
    return annotation if isinstance(annotation, (p.Name, p.Attribute)) else None


def _only_model(run: Run, function: FunctionValue) -> Module | None:
    """A module of the only class of the file that can be the model: no other consists of it or derives from it."""
    values = function.closure.globals.fields
    defined = function.unit.program.classes
    classes = [value for name in defined if isinstance(value := values.get(name), ClassValue)]
    modules = [cls for cls in classes if module_classes.is_surely_module(run, cls) and cls.find("forward") is not None]
    parts = {
        name for cls in modules for each in cls.node.body if isinstance(each, p.Define) for name in each.function.calls
    }
    parts |= {base.id for cls in modules for base in cls.node.bases if isinstance(base, p.Name)}
    whole = [cls for cls in modules if cls.name not in parts and not roles.may_be_loss(cls.name)]
    return _object_of(run, whole[0]) if len(whole) == 1 else None


def _fits(module: Module, name: str, uses: set[str], function: FunctionValue) -> bool:
    """Whether all that a function does with a parameter can be done with this module.

    A call that gives `**batch` may be of any model: it tells nothing of this one.
    """
    found = module.cls.find("forward") if module.cls is not None else None
    if module.cls is None or found is None or not isinstance(found[0], FunctionValue):
        return False
    attributes = {use for use in uses if use.isidentifier()} - MODULE_METHODS - {"training", "module"}
    if any(use not in module.fields and module.cls.find(use) is None for use in attributes):
        return False
    taken = found[0].node.parameters
    kinds = [each.kind for each in taken]
    for call in walk(function.node.body):
        if not isinstance(call, p.Call) or not isinstance(call.func, p.Name) or call.func.id != name:
            continue
        given = {key for key, _ in call.keywords}
        count = 1 + sum(not isinstance(each, p.Star) for each in call.args)
        if None in given or ("kwargs" not in kinds and not given <= {each.name for each in taken}):
            return False
        if "args" not in kinds and count > kinds.count("plain"):
            return False
    return True


def _object_of(run: Run, cls: ClassValue) -> Module | None:
    """A module of a class of the project, built with arguments of which only the role is known."""
    guessing = run.of(Guessing)
    if guessing.building or not module_classes.is_module_class(run, cls):
        return None
    found = cls.find("__init__")
    with guessing.override(building=True):
        args: tuple[Value, ...] = ()
        if found is not None and isinstance(found[0], FunctionValue):
            plain = [parameter for parameter in found[0].node.parameters if parameter.kind == "plain"]
            args = tuple(argument_for(run, parameter, found[0]) for parameter in plain[1:])
        with run.override(frame=top_frame(cls.unit, run.frame.globals)):
            thing = run.call(cls, Call(args, {}, cls.node, cls.name))
    return thing if isinstance(thing, Module) else None
