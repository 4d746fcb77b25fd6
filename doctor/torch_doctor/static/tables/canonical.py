"""One spelling for every name: where a library shows the same thing in several places, the tables know one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from torch_doctor.static import libraries
from torch_doctor.static.libraries.library import Package

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_AUTOCAST = (
    "torch.amp.autocast",
    "torch.amp.autocast_mode.autocast",
    "torch.cpu.amp.autocast",
    "torch.cuda.amp.autocast",
)
_SCALER = (
    "torch.amp.grad_scaler",
    "torch.cpu.amp",
    "torch.cuda.amp",
    "torch.cuda.amp.grad_scaler",
    "torch.cpu.amp.grad_scaler",
)
_GRAD_MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")
_FUNCTIONAL = (
    "softmax",
    "log_softmax",
    "sigmoid",
    "tanh",
    "relu",
    "relu_",
    "logsigmoid",
    "celu",
    "selu",
    "rrelu",
    "prelu",
)
_FULLY_SHARDED = "torch.distributed.fsdp.FullyShardedDataParallel"
_DISTRIBUTED = "torch.distributed.optim"

ALIASES: dict[str, str] = {
    **dict.fromkeys(
        (*_AUTOCAST, "torch.cuda.amp.autocast_mode.autocast", "torch.cpu.amp.autocast_mode.autocast"), "torch.autocast"
    ),
    "torch.autocast_mode.autocast": "torch.autocast",
    **{f"{module}.GradScaler": "torch.amp.GradScaler" for module in _SCALER},
    **{f"torch.autograd.{name}": f"torch.{name}" for name in _GRAD_MODES},
    **{f"torch.autograd.grad_mode.{name}": f"torch.{name}" for name in _GRAD_MODES},
    # torch and torch.special repeat these with the same arguments (torch.dropout and torch.embedding take others).
    **{f"torch.{name}": f"torch.nn.functional.{name}" for name in _FUNCTIONAL if name != "logsigmoid"},
    "torch.special.softmax": "torch.nn.functional.softmax",
    "torch.special.log_softmax": "torch.nn.functional.log_softmax",
    "torch.special.expit": "torch.nn.functional.sigmoid",
    **{f"torch.special.{name}": f"torch.{name}" for name in ("erf", "expm1", "exp2", "log1p", "logsumexp", "round")},
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "torch._tensor.Tensor": "torch.Tensor",
    "torch.serialization.save": "torch.save",
    "torch.serialization.load": "torch.load",
    "torch.random.manual_seed": "torch.manual_seed",
    "torch.concat": "torch.cat",
    "torch.concatenate": "torch.cat",
    "torch.jit._script.script": "torch.jit.script",
    "torch.jit._trace.trace": "torch.jit.trace",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.data_parallel": "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.utils.clip_grad.clip_grad_norm_": "torch.nn.utils.clip_grad_norm_",
    "torch.nn.utils.clip_grad.clip_grad_norm": "torch.nn.utils.clip_grad_norm",
    "torch.nn.utils.clip_grad.clip_grad_value_": "torch.nn.utils.clip_grad_value_",
    "torch.optim.lr_scheduler._LRScheduler": "torch.optim.lr_scheduler.LRScheduler",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": _FULLY_SHARDED,
    "torch.distributed._composable.fsdp.fully_shard": "torch.distributed.fsdp.fully_shard",
    f"{_DISTRIBUTED}.zero_redundancy_optimizer.ZeroRedundancyOptimizer": f"{_DISTRIBUTED}.ZeroRedundancyOptimizer",
    "torch.utils.data.dataset.random_split": "torch.utils.data.random_split",
    "torch.utils.data.dataloader.default_collate": "torch.utils.data.default_collate",
    "torch.utils.data._utils.collate.default_collate": "torch.utils.data.default_collate",
    "torch.utils.tensorboard.writer.SummaryWriter": "torch.utils.tensorboard.SummaryWriter",
    "torch.multiprocessing.spawn.spawn": "torch.multiprocessing.spawn",
    **libraries.table(lambda library: library.aliases),
}
"""Spellings that no rule below covers."""

# Packages whose classes live in submodules and are public at the top.
_PACKAGES: dict[str, Package] = {
    "torch.nn.modules": Package(),
    "torch.nn.parameter": Package(),
    "torch.optim": Package(frozenset({"lr_scheduler", "swa_utils"})),
    "torch.utils.data": Package(frozenset({"datapipes"})),
    "torch.optim.lr_scheduler": Package(),
    **libraries.table(lambda library: library.packages),
}
_NN = frozenset({"torch.nn.modules", "torch.nn.parameter"})  # what these hold is public in torch.nn
_FIRST = frozenset(root.partition(".")[0] for root in _PACKAGES)

_TREES: tuple[tuple[str, str], ...] = (  # a whole tree under another name
    ("torch.functional.", "torch."),
    ("torch.nn.backends.thnn.", "torch.nn."),
    *libraries.every(lambda library: library.trees),
)
_SPELLING = libraries.table(lambda library: library.spelling)


@functools.lru_cache(maxsize=16384)
def canonical(name: str) -> str:
    """Return the one spelling under which the tables know this dotted name, or the name itself."""
    if (alias := ALIASES.get(name)) is not None:
        return alias
    first, dot, _ = name.partition(".")
    if not dot:
        return name
    for tree, public in _TREES:
        if name.startswith(tree):
            return canonical(public + name[len(tree) :])
    if (spelled := _SPELLING.get(first)) is not None:
        return spelled(name)
    return _collapsed(name) if first in _FIRST else name


def among(names: Container[str]) -> Callable[[str], bool]:
    """Return a test whether the one spelling of a dotted name is one of these."""
    return lambda name: canonical(name) in names


def _collapsed(name: str) -> str:
    """Drop the private modules between a package and its class: torch.optim.adam.Adam is torch.optim.Adam."""
    parts = name.split(".")
    for length in (3, 2, 1):
        root = ".".join(parts[:length])
        package = _PACKAGES.get(root)
        if package is None or len(parts) <= length or parts[length] in package.submodules:
            continue
        home = "torch.nn" if root in _NN else root
        for index in range(length, len(parts)):
            if parts[index][:1].isupper():
                return _aliased(home, parts[index:])
        if parts[length] in package.functions_of:
            return f"{root}.{parts[-1]}"
    return name


def _aliased(home: str, rest: list[str]) -> str:
    found = f"{home}.{rest[0]}"
    return ".".join((ALIASES.get(found, found), *rest[1:]))
