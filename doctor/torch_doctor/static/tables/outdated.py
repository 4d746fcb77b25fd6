"""What torch has removed, warns of, or marks as outdated in its documentation, and what takes its place.

Checked against torch itself by tests/static/tables/test_outdated.py. Where the documentation of a version marks a name
(`deprecated`, "in favor of", "it is recommended to use ... instead"), the successor is the one that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from torch_doctor.trace import Version


class Outdated(Struct, frozen=True):
    """The successor as a user writes it, the version that has it, and its dotted names, for which torch is asked.

    `warns` is the first version that warns when the old name runs, None where it works in silence; `gone` the first version
    that does not have it any more, or in which it does nothing (`idle`). `dropped`: an argument that is left out, and whose
    purpose the successor serves elsewhere.
    """

    instead: str
    since: Version
    names: tuple[str, ...]
    warns: Version | None = None
    gone: Version | None = None
    idle: bool = False
    dropped: bool = False


def _called(name: str, since: Version, warns: Version | None = None, gone: Version | None = None) -> Outdated:
    return Outdated(name, since, (name,), warns, gone)


_AUTOCAST = ("torch.autocast",)
_SCALER = ("torch.amp.GradScaler",)
_TENSOR = Outdated("torch.Tensor", (0, 4), ("torch.Tensor", "torch.Tensor.requires_grad_"))
_VOLATILE = Outdated("torch.no_grad()", (0, 4), ("torch.no_grad",), warns=(0, 4), gone=(0, 4), idle=True)
_DETACH = Outdated("detach() or no_grad()", (0, 4), ("torch.Tensor.detach", "torch.no_grad"))
_RESIZE = _called("torch.nn.functional.interpolate", (1, 0))
_RESIZE_LOUD = replace(_RESIZE, warns=(1, 0))
_PARALLEL = Outdated("DistributedDataParallel", (0, 4), ("torch.nn.parallel.DistributedDataParallel",))
_CUDA_AUTOCAST = Outdated('torch.autocast("cuda")', (1, 10), _AUTOCAST, (2, 4))
_CPU_AUTOCAST = Outdated('torch.autocast("cpu")', (1, 10), _AUTOCAST, (2, 4))
_CUDA_SCALER = Outdated('torch.amp.GradScaler("cuda")', (2, 3), _SCALER, (2, 4))
_CPU_SCALER = Outdated('torch.amp.GradScaler("cpu")', (2, 3), _SCALER, (2, 4))
_COMPILED = Outdated("torch.export or torch.compile", (2, 1), ("torch.export.export", "torch.compile"), (2, 10))
_INIT = (
    *("uniform", "normal", "constant", "eye", "dirac", "orthogonal", "sparse"),
    *("xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"),
)
_TRANSFORMS = ("vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize")

NAMES: dict[str, Outdated] = {
    # https://docs.pytorch.org/docs/stable/amp.html
    "torch.cuda.amp.autocast": _CUDA_AUTOCAST,
    "torch.cuda.amp.autocast_mode.autocast": _CUDA_AUTOCAST,
    "torch.cpu.amp.autocast": _CPU_AUTOCAST,
    "torch.cpu.amp.autocast_mode.autocast": _CPU_AUTOCAST,
    "torch.cuda.amp.GradScaler": _CUDA_SCALER,
    "torch.cuda.amp.grad_scaler.GradScaler": _CUDA_SCALER,
    "torch.cpu.amp.GradScaler": _CPU_SCALER,
    "torch.cpu.amp.grad_scaler.GradScaler": _CPU_SCALER,
    **{f"torch.cuda.amp.{name}": _called(f"torch.amp.{name}", (2, 4), (2, 4)) for name in ("custom_fwd", "custom_bwd")},
    "torch.get_autocast_gpu_dtype": _called("torch.get_autocast_dtype", (2, 4), (2, 4)),
    "torch.set_autocast_gpu_dtype": _called("torch.set_autocast_dtype", (2, 4), (2, 4)),
    "torch.is_autocast_cpu_enabled": _called("torch.is_autocast_enabled", (1, 10), (2, 4)),
    # https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated
    "torch.autograd.Variable": _TENSOR,
    "torch.autograd.variable.Variable": _TENSOR,
    "torch.autograd.variable": _called("torch.tensor", (0, 4), gone=(0, 4)),
    # https://docs.pytorch.org/docs/stable/nn.functional.html
    **{f"torch.nn.functional.{name}": _called(f"torch.{name}", (0, 4)) for name in ("tanh", "sigmoid")},
    **{f"torch.nn.functional.upsample{how}": _RESIZE_LOUD for how in ("", "_nearest", "_bilinear")},
    # https://docs.pytorch.org/docs/stable/nn.html
    **{f"torch.nn.{name}": _RESIZE for name in ("UpsamplingNearest2d", "UpsamplingBilinear2d")},
    "torch.nn.NLLLoss2d": _called("torch.nn.NLLLoss", (0, 4), (0, 4)),
    "torch.nn.DataParallel": _PARALLEL,
    "torch.nn.parallel.DataParallel": _PARALLEL,
    "torch.nn.parallel.data_parallel.DataParallel": _PARALLEL,
    "torch.nn.parallel.DistributedDataParallelCPU": replace(_PARALLEL, warns=(1, 4)),
    "torch.nn.utils.weight_norm": _called("torch.nn.utils.parametrizations.weight_norm", (2, 1), (2, 1)),
    "torch.nn.utils.clip_grad_norm": _called("torch.nn.utils.clip_grad_norm_", (0, 4), (0, 4)),
    "torch.nn.utils.clip_grad.clip_grad_norm": _called("torch.nn.utils.clip_grad_norm_", (0, 4), (0, 4)),
    "torch.nn.utils.stateless.functional_call": _called("torch.func.functional_call", (2, 0), (2, 0)),
    **{f"torch.nn.init.{name}": _called(f"torch.nn.init.{name}_", (0, 4), (0, 4)) for name in _INIT},
    # https://docs.pytorch.org/docs/stable/torch.html
    "torch.range": _called("torch.arange", (0, 4), (0, 4)),
    "torch.ger": _called("torch.outer", (1, 7)),
    "torch.norm": _called("torch.linalg.vector_norm", (1, 7)),
    "torch.set_default_tensor_type": Outdated(
        "torch.set_default_dtype and set_default_device",
        (2, 0),
        ("torch.set_default_dtype", "torch.set_default_device"),
        (2, 1),
    ),
    "torch.chain_matmul": _called("torch.linalg.multi_dot", (1, 8), (1, 9)),
    "torch.functional.norm": _called("torch.linalg.vector_norm", (1, 7)),
    "torch.cholesky": _called("torch.linalg.cholesky", (1, 8), (1, 9)),
    "torch.qr": _called("torch.linalg.qr", (1, 8), (1, 9)),
    "torch.svd": _called("torch.linalg.svd", (1, 8)),
    "torch.symeig": _called("torch.linalg.eigh", (1, 8), (1, 9), (2, 0)),
    "torch.eig": _called("torch.linalg.eig", (1, 9), (1, 9), (1, 13)),
    "torch.lstsq": _called("torch.linalg.lstsq", (1, 9), (1, 9), (1, 13)),
    "torch.solve": _called("torch.linalg.solve", (1, 8), (1, 9), (1, 13)),
    "torch.matrix_rank": _called("torch.linalg.matrix_rank", (1, 8), (1, 9), (1, 13)),
    "torch.lu": _called("torch.linalg.lu_factor", (1, 11), (1, 11)),
    "torch.lu_solve": _called("torch.linalg.lu_solve", (1, 13), (1, 13)),
    "torch.triangular_solve": _called("torch.linalg.solve_triangular", (1, 11), (1, 11)),
    # https://docs.pytorch.org/docs/stable/cuda.html and what stands beside it
    "torch.cuda.memory_cached": _called("torch.cuda.memory_reserved", (1, 4), (1, 4)),
    "torch.cuda.max_memory_cached": _called("torch.cuda.max_memory_reserved", (1, 4), (1, 4)),
    "torch.backends.cuda.sdp_kernel": _called("torch.nn.attention.sdpa_kernel", (2, 3), (2, 3)),
    "torch.distributed.reduce_op": _called("torch.distributed.ReduceOp", (1, 0), (1, 0)),
    "torch.distributed.checkpoint.save_state_dict": _called("torch.distributed.checkpoint.save", (2, 2), (2, 2)),
    "torch.distributed.checkpoint.load_state_dict": _called("torch.distributed.checkpoint.load", (2, 2), (2, 2)),
    "torch.testing.assert_allclose": _called("torch.testing.assert_close", (1, 9), (1, 12)),
    "torch.utils.model_zoo.load_url": _called("torch.hub.load_state_dict_from_url", (1, 1)),
    "torch.jit.script": _COMPILED,
    "torch.jit.trace": _COMPILED,
    **{f"functorch.{name}": _called(f"torch.func.{name}", (2, 0), (2, 0)) for name in _TRANSFORMS},
}
"""What has a successor by its dotted name, under each spelling that reaches it."""

OF_TENSORS: dict[str, Outdated] = {
    "data": _DETACH,
    "volatile": _VOLATILE,
}
"""Attributes of a tensor (https://docs.pytorch.org/docs/stable/notes/autograd.html)."""

OF_SINGLE_NUMBERS: dict[str, Outdated] = {
    "[]": Outdated("item()", (0, 4), ("torch.Tensor.item",), (0, 4), (1, 0)),
}
"""What a tensor without dimensions can do (https://github.com/pytorch/pytorch/releases/tag/v0.4.0): a loss has none."""

OF_MODULES: dict[str, Outdated] = {
    "register_backward_hook": Outdated(
        "register_full_backward_hook", (1, 8), ("torch.nn.Module.register_full_backward_hook",), (1, 8)
    ),
}
"""Methods of a module."""

_REDUCTION = Outdated("reduction=", (1, 0), ("torch.nn.MSELoss",))
OF_LOSSES: dict[str, Outdated] = {"size_average": _REDUCTION, "reduce": _REDUCTION}
"""Arguments of torch's losses. A notice says that they "will be deprecated": they are not, and mean what they meant."""

OF_VARIABLES: dict[str, Outdated] = {"volatile": _VOLATILE}
"""Arguments of `Variable`."""

OF_SCHEDULERS: dict[str, Outdated] = {
    "verbose": replace(
        _called("torch.optim.lr_scheduler.LRScheduler.get_last_lr", (1, 4), (2, 2), (2, 7)),
        instead="get_last_lr()",
        dropped=True,
    ),
}
"""Arguments of torch's learning-rate schedulers."""

SUCCESSORS = frozenset(
    name.rpartition(".")[2]
    for table in (NAMES, OF_TENSORS, OF_SINGLE_NUMBERS, OF_MODULES, OF_LOSSES, OF_VARIABLES, OF_SCHEDULERS)
    for known in table.values()
    for name in known.names
)
"""Names of which only an old torch has none: who asks for one asks for the version."""
