"""What models of libraries return: raw scores, unless a layer of the project's took the place of their last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.tables import models
from torch_doctor.static.training.module import library_models
from torch_doctor.static.values import MISSING, NOWHERE, Call, Const, Either, Fact, Module, Tensor, Unknown, Value
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run

_FEATURES = frozenset(("features_only", "aux_params", "**"))
"""Settings that make a model of pictures return features, or something beside its scores."""


def library_output(run: Run, module: Module, flow: Flow, node: p.Node) -> Value:
    """What a call of a library's model gives, whose input and parameters have this flow."""
    model = library_models.library_model(run, module.layer)
    told = model.kind if model is not None else None
    head = library_models.head_of(run, module.layer)
    if _gives_features(module):
        return Unknown(flow)
    if models.segments(module.layer):
        activation = module.settings.get("activation", Const(None))
        told = models.ACTIVATIONS.get(activation.value) if isinstance(activation, Const) else None
        if told is None:
            return Unknown(flow)
    if head is not None and "forward" not in module.fields:
        return _of_classifier(run, module, head, told or Kind.LOGITS, flow, node)
    given = {name or "**" for name, _ in node.keywords} if isinstance(node, p.Call) else set()
    if told is not None and not module.fields and not any(name.startswith(("return_", "**")) for name in given):
        return Tensor(flow, told, NOWHERE.by(module.layer, None if told is Kind.LOGITS else module.born))
    return Unknown(flow)


def _gives_features(module: Module) -> bool:
    """Whether a model is built to give something else than scores, or may be."""
    given = module.settings
    classes = given.get("num_classes")
    return bool(_FEATURES & set(given)) or (isinstance(classes, Const) and not classes.value)


def _of_classifier(run: Run, module: Module, head: tuple[str, int], kind: Kind, flow: Flow, node: p.Node) -> Value:
    name, last = head
    own = run.resolve(module.fields.get(name, MISSING))
    if own is MISSING:
        return Tensor(flow, kind, NOWHERE.by(module.layer, None if kind is Kind.LOGITS else module.born))
    if isinstance(own, Module) and own.fact(
        Fact.BY_NAME
    ):  # a part of the library's, whose last part may be the project's
        parts = dict(own.fields)
        behind = parts.pop("-1", None)
        own = run.resolve(parts.pop(str(last), None) or behind or MISSING)
        if parts.keys() - {str(number) for number in range(last)} or (
            isinstance(own, Module) and own.fact(Fact.BY_NAME)
        ):
            return Unknown(flow)
    if isinstance(own, (Module, Either)):
        return _called(run, module, own, flow, node)
    return Unknown(flow)


def _called(run: Run, module: Module, last: Value, flow: Flow, node: p.Node) -> Value:
    """What the layer returns for features of the library's."""
    run.position.modules_called += (module,)
    value = run.call(last, Call((Unknown(flow),), {}, node))
    run.position.modules_called = run.modules_called[:-1]
    return value
