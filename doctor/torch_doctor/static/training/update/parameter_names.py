"""The names of parameters, for loops that tell by them which ones are frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.iteration import WALKED
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import words
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    Const,
    Content,
    Module,
    OneOfTexts,
    ParameterValue,
    Params,
    Sequence,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_WITH_BIAS: Final = ("weight", "bias")
_ATTENTION: Final = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
_OWN: Final = {
    **dict.fromkeys(
        (
            f"torch.nn.{name}"
            for name in words(
                """
                Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d
                BatchNorm3d SyncBatchNorm GroupNorm LayerNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d
                """
            )
        ),
        _WITH_BIAS,
    ),
    **dict.fromkeys((f"torch.nn.{name}" for name in words("Embedding EmbeddingBag PReLU RMSNorm")), ("weight",)),
    "torch.nn.TransformerEncoderLayer": (
        *(f"self_attn.{name}" for name in _ATTENTION),
        *(f"{part}.{name}" for part in words("linear1 linear2 norm1 norm2") for name in _WITH_BIAS),
    ),
    "torch.nn.MultiheadAttention": (
        *_ATTENTION,
        *words("q_proj_weight k_proj_weight v_proj_weight bias_k bias_v"),
    ),
}
"""All names that the parameters of a layer itself may have."""
FEW: Final = 32
"""So many parameters are told apart by their names."""


def items(run: Run, over: Value, body: tuple[p.Stmt, ...]) -> tuple[Value, ...] | None:
    """What a loop over the named parameters of a module gets, layer by layer, where it tells which of them require gradients.

    One by one where it chooses by their names which of few to add up. None where it does something else, or where not every name
    is known: then one item stands for all.
    """
    module = run.objects.get(over.named) if isinstance(over, Params) and over.named else None
    flags = sets_flags(body)
    if not isinstance(module, Module) or not (flags or _adds_up_by_names(body)):
        return None
    names: dict[int, tuple[str, ...]] = {}
    if not _collect(run, module, "", names) or len(names) > WALKED:
        return None
    if not flags:
        each = [(number, name) for number, own in names.items() for name in own]
        if len(each) > FEW:
            return None
        single = [
            (name, Params(frozenset((number,)), single=True, bias=name.endswith("bias"))) for number, name in each
        ]
        return tuple(Sequence("tuple", Content((Const(name), one))) for name, one in single)
    return tuple(
        Sequence("tuple", Content((OneOfTexts(own), Params(frozenset((number,)), single=True))))
        for number, own in names.items()
    )


def _adds_up_by_names(body: tuple[p.Stmt, ...]) -> bool:
    """Whether a loop with this body adds something up, and tests for a text."""
    if not any(isinstance(each, p.Augment) or _appends_some(each) for each in walk(*body)):
        return False
    tests = (each.test for each in walk(*body) if isinstance(each, (p.If, p.Choice)))
    return any(isinstance(part, p.Const) and isinstance(part.value, str) for test in tests for part in walk(test))


def _appends_some(node: p.Node) -> bool:
    """Whether it appends what a test chooses, and nothing else: where all are appended somewhere, one stands for all."""
    return isinstance(node, p.If) and not node.other and any(map(_appends, walk(*node.body)))


def _appends(node: p.Node) -> bool:
    return isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name == "append"


def sets_flags(body: tuple[p.Stmt, ...]) -> bool:
    """Whether a loop with this body tells which parameters require gradients."""
    return any(map(_sets_flag, walk(*body)))


def _sets_flag(node: p.Node) -> bool:
    if isinstance(node, p.Assign):
        return any(isinstance(target, p.Attribute) and target.name == "requires_grad" for target in node.targets)
    return isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name == "requires_grad_"


def _collect(run: Run, module: Module, path: str, names: dict[int, tuple[str, ...]]) -> bool:
    """Note what the parameters in a module are called; False where that is not known of all. A shared one has its first name."""
    if module.id in names:
        return True
    has = module_parts.has_parameters(run, module)
    own = _OWN.get(module.layer) if module.cls is None else None
    if own is not None:
        names[module.id] = tuple(f"{path}{name}" for name in own)
    elif has is not False and module.cls is None:
        return False  # a library's, or a layer with other names
    parts = module_parts.named(module)
    if parts is None or len(names) > WALKED:
        return False
    for name, part in parts:
        if isinstance(part, ParameterValue):
            names.setdefault(part.id, (f"{path}{name}",))
        elif not _collect(run, part, f"{path}{name}.", names):
            return False
    return True
