"""The parts of a training loop that are no layers: optimizers, schedulers, scalers, modes, loaders, checkpoints.

Sources: https://docs.pytorch.org/docs/stable/ (optim, amp, data, nn.html#utilities, generated/torch.no_grad.html ...)
All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from torch_doctor.static.libraries.library import Position

# Optimizers ----------------------------------------------------------------------------------------------------------

OPTIMIZERS: frozenset[str] = frozenset(
    (
        # optim.html#algorithms
        *(
            f"torch.optim.{name}"
            for name in words(
                "Adadelta Adafactor Adagrad Adam AdamW Adamax ASGD LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam"
            )
        ),
        "torch.distributed.optim.ZeroRedundancyOptimizer",
        *libraries.every(lambda library: library.optimizers),
    )
)
OPTIMIZER_BASES = frozenset({"torch.optim.Optimizer"})

_OPTIMIZER_PACKAGES = libraries.every(lambda library: library.optimizer_packages)  # each class, but for what follows
_NO_OPTIMIZERS = frozenset(libraries.every(lambda library: library.no_optimizers))

OPTIMIZER_FACTORIES = libraries.table(lambda library: library.optimizer_factories)
"""Functions that build an optimizer, by the position of the model whose parameters it takes."""

OPTIMIZER_WRAPPERS = libraries.table(lambda library: library.optimizer_wrappers)
"""Calls whose result steps the optimizer at this position, which it holds."""


@functools.lru_cache(maxsize=4096)
def optimizer_of(name: str) -> bool:
    """Tell whether this is a class of optimizers."""
    if name in OPTIMIZERS:
        return True
    if not name.startswith(_OPTIMIZER_PACKAGES) or name in _NO_OPTIMIZERS or name in OPTIMIZER_WRAPPERS:
        return False
    return name.rpartition(".")[2][:1].isupper()


OPTIMIZER_STEPS: dict[str, Position] = libraries.table(lambda library: library.optimizer_steps)
"""Functions that step the optimizer at this position."""


# Schedulers ----------------------------------------------------------------------------------------------------------

SCHEDULERS = frozenset(("torch.optim.swa_utils.SWALR", *libraries.every(lambda library: library.schedulers)))
SCHEDULER_BASES = frozenset({"torch.optim.lr_scheduler.LRScheduler"})
SCHEDULER_PAIRS = frozenset(libraries.every(lambda library: library.scheduler_pairs))
"""Functions that return a scheduler and a number of epochs."""
_TORCH_SCHEDULERS = frozenset(
    words(
        """
        ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LambdaLR LinearLR
        LRScheduler MultiplicativeLR MultiStepLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR
        """
    )
)
"""Those of torch; what else is called so is of a fork, and may do anything."""
_SCHEDULER_PACKAGES = tuple(libraries.every(lambda library: library.scheduler_packages))
_SCHEDULER_FUNCTIONS = frozenset(libraries.every(lambda library: library.scheduler_functions))
_SCHEDULES = frozenset(libraries.every(lambda library: library.schedules))


@functools.lru_cache(maxsize=4096)
def scheduler_of(name: str) -> bool:
    """Tell whether this is a class of learning rate schedulers, or a function that returns one."""
    if name in SCHEDULERS:
        return True
    package, _, last = name.rpartition(".")
    if package in _SCHEDULER_FUNCTIONS:
        return last.startswith("get_") and "schedule" in last
    if package == "torch.optim.lr_scheduler":
        return last in _TORCH_SCHEDULERS
    if package in _SCHEDULES:
        return last.endswith("Schedule")
    return name.startswith(_SCHEDULER_PACKAGES) and last[:1].isupper()


# Mixed precision -----------------------------------------------------------------------------------------------------

SCALERS = frozenset(
    {
        "torch.amp.GradScaler",
        "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
        *libraries.every(lambda library: library.scalers),
    }
)
SCALER_CALLS = frozenset(libraries.every(lambda library: library.scaler_calls))
"""Scalers that are called: scaler(loss, optimizer, ...) runs backward, clips, steps; it does not clear."""
AUTOCASTS = frozenset({"torch.autocast"})
SCALED_LOSSES = frozenset(libraries.every(lambda library: library.scaled_losses))
"""Context managers over (loss, optimizer) that give the loss to call backward on."""
PREPARES = frozenset(libraries.every(lambda library: library.prepares))
"""Functions that return the model and the optimizer that they are given, in that order, or the model alone."""

# Gradient modes ------------------------------------------------------------------------------------------------------

GRAD_MODES: dict[str, bool | None] = {
    "torch.no_grad": False,
    "torch.inference_mode": False,  # inference_mode(False) records, even under no_grad
    "torch.enable_grad": True,
    "torch.set_grad_enabled": None,  # its first argument; it acts when it is called, as a context too
}
"""Whether gradients are recorded within; None: as the first argument, `mode`, says."""
GRAD_MODE_SWITCH = {"torch.inference_mode": ("mode", True), "torch.set_grad_enabled": ("mode", None)}
"""The argument at position 0 that decides, and its default."""

# Gradients -----------------------------------------------------------------------------------------------------------

CLIPS: dict[str, Position] = {
    "torch.nn.utils.clip_grad_norm_": 0,
    "torch.nn.utils.clip_grad_norm": 0,
    "torch.nn.utils.clip_grad_value_": 0,
    "torch.nn.utils.clip_grads_with_norm_": 0,
    **libraries.table(lambda library: library.clips),
}
"""Functions that clip gradients, by the position of the parameters."""
DISTRIBUTED_BACKWARD = frozenset({"torch.distributed.autograd.backward"})
BACKWARDS: dict[str, Position] = {"torch.autograd.backward": 0}
AUTOGRAD_GRAD = frozenset({"torch.autograd.grad"})
"""Returns gradients and accumulates none."""

# Data ----------------------------------------------------------------------------------------------------------------

LOADERS = frozenset(("torch.utils.data.DataLoader", *libraries.every(lambda library: library.loaders)))
_LOADER_SUFFIXES = libraries.table(lambda library: library.loader_suffixes)


@functools.lru_cache(maxsize=4096)
def loader_of(name: str) -> bool:
    """Tell whether this is a class of loaders: iterating it gives batches, and each iteration is one pass."""
    if name in LOADERS:
        return True
    return any(name.startswith(start) and name.endswith(ends) for start, ends in _LOADER_SUFFIXES.items())


LOADER_WRAPPERS = libraries.table(lambda library: library.loader_wrappers)
"""Calls that return the loader at this position, wrapped."""

# Checkpoints ---------------------------------------------------------------------------------------------------------

SAVES: dict[str, Position] = {"torch.save": 0, **libraries.table(lambda library: library.saves)}
"""Functions that write an object to a checkpoint, by the position of the object."""
LOADS = frozenset({"torch.load"})
FILE_COPIES = frozenset(
    {*(f"shutil.{name}" for name in ("copy", "copy2", "copyfile", "move")), "os.link", "os.rename", "os.replace"}
)
"""Functions that give a file another name or place, the first argument."""
COPIES = frozenset({"copy.deepcopy", "copy.copy"})
