"""The parts of a training loop that are no layers: optimizers, schedulers, scalers, modes, loaders, checkpoints.

Sources: https://docs.pytorch.org/docs/stable/ (optim, amp, data, nn.html#utilities, generated/torch.no_grad.html ...)
and the documentation of each package named. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools
from typing import TypeAlias

from torch_doctor.static.tables import words

Position: TypeAlias = int

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
        "transformers.AdamW",
        "transformers.Adafactor",
        "transformers.BertAdam",
        "pytorch_transformers.AdamW",
        "pytorch_transformers.optimization.AdamW",
        "pytorch_pretrained_bert.BertAdam",
        "pytorch_pretrained_bert.optimization.BertAdam",
        "pytorch_pretrained_bert.OpenAIAdam",
        "deepspeed.ops.adam.FusedAdam",
        "deepspeed.ops.adam.DeepSpeedCPUAdam",
        "deepspeed.ops.lamb.FusedLamb",
        "deepspeed.ops.lion.FusedLion",
        "fairscale.optim.OSS",
        "fairscale.optim.oss.OSS",
        "lion_pytorch.Lion",
        "lion_pytorch.lion_pytorch.Lion",
        "adabelief_pytorch.AdaBelief",
        "adabound.AdaBound",
        "adamp.AdamP",
        "adamp.SGDP",
        "adan_pytorch.Adan",
        "adan_pytorch.adan.Adan",
        "came_pytorch.CAME",
        "galore_torch.GaLoreAdamW",
        "galore_torch.GaLoreAdamW8bit",
        "galore_torch.GaLoreAdafactor",
        "madgrad.MADGRAD",
        "madgrad.MirrorMADGRAD",
        "prodigyopt.Prodigy",
        "pytorch_lamb.Lamb",
        "radam.RAdam",
        "ranger.Ranger",
        "ranger21.Ranger21",
        "composer.optim.DecoupledAdamW",
        "composer.optim.DecoupledSGDW",
        "mup.MuAdam",
        "mup.MuAdamW",
        "mup.MuSGD",
        "geoopt.optim.RiemannianAdam",
        "geoopt.optim.RiemannianSGD",
        "geoopt.RiemannianAdam",
        "geoopt.RiemannianSGD",
    )
)
OPTIMIZER_BASES = frozenset({"torch.optim.Optimizer"})

_OPTIMIZER_PACKAGES = (  # every class of these is an optimizer, but for what follows
    *words(
        """
        torch_optimizer. pytorch_optimizer. bitsandbytes.optim. apex.optimizers. apex.contrib.optimizers.
        timm.optim. dadaptation. schedulefree. optimi. heavyball. torchao.optim. colossalai.nn.optimizer.
        """
    ),
)
_NO_OPTIMIZERS = frozenset(
    {
        "bitsandbytes.optim.GlobalOptimManager",
        "timm.optim.Lookahead",
        "torch_optimizer.Lookahead",
        "pytorch_optimizer.Lookahead",
    }
)

OPTIMIZER_FACTORIES: dict[str, Position] = {
    "timm.optim.create_optimizer": 1,
    "timm.optim.create_optimizer_v2": 0,
}
"""Functions that build an optimizer, by the position of the model whose parameters it takes."""

OPTIMIZER_WRAPPERS: dict[str, Position] = {
    "horovod.torch.DistributedOptimizer": 0,
    "timm.optim.Lookahead": 0,
    "torch_optimizer.Lookahead": 0,
    "pytorch_optimizer.Lookahead": 0,
    "opacus.optimizers.DPOptimizer": 0,
    "apex.fp16_utils.FP16_Optimizer": 0,
    "apex.contrib.optimizers.FP16_Optimizer": 0,
    "apex.parallel.LARC": 0,
    "apex.parallel.LARC.LARC": 0,
}
"""Calls whose result steps the optimizer at this position, which it holds."""

OPTIMIZER_STEPS: dict[str, Position] = {
    "torch_xla.core.xla_model.optimizer_step": 0,
}
"""Functions that step the optimizer at this position."""


@functools.lru_cache(maxsize=4096)
def optimizer_of(name: str) -> bool:
    """Tell whether this is a class of optimizers."""
    if name in OPTIMIZERS:
        return True
    if not name.startswith(_OPTIMIZER_PACKAGES) or name in _NO_OPTIMIZERS or name in OPTIMIZER_WRAPPERS:
        return False
    return name.rpartition(".")[2][:1].isupper()


# Schedulers ----------------------------------------------------------------------------------------------------------

SCHEDULERS: frozenset[str] = frozenset(
    (
        "torch.optim.swa_utils.SWALR",
        "diffusers.optimization.get_scheduler",
        "transformers.get_scheduler",
        "warmup_scheduler.GradualWarmupScheduler",
        "cosine_annealing_warmup.CosineAnnealingWarmupRestarts",
        "pl_bolts.optimizers.lr_scheduler.LinearWarmupCosineAnnealingLR",
        "flash.core.optimizers.LinearWarmupCosineAnnealingLR",
        "deepspeed.runtime.lr_schedules.WarmupLR",
        "deepspeed.runtime.lr_schedules.WarmupDecayLR",
    )
)
SCHEDULER_BASES = frozenset({"torch.optim.lr_scheduler.LRScheduler"})
SCHEDULER_PAIRS = frozenset({"timm.scheduler.create_scheduler", "timm.scheduler.create_scheduler_v2"})
"""Factories that return (scheduler, number of epochs)."""
_SCHEDULER_PACKAGES = ("torch.optim.lr_scheduler.", "timm.scheduler.", "pytorch_warmup.", "diffusers.optimization.get_")


@functools.lru_cache(maxsize=4096)
def scheduler_of(name: str) -> bool:
    """Tell whether this is a class of learning rate schedulers, or a function that returns one."""
    if name in SCHEDULERS:
        return True
    package, _, last = name.rpartition(".")
    if package in ("transformers", "diffusers.optimization", "pytorch_transformers"):
        return last.startswith("get_") and "schedule" in last
    if package in ("pytorch_transformers.optimization", "pytorch_pretrained_bert.optimization"):
        return last.endswith("Schedule")
    return name.startswith(_SCHEDULER_PACKAGES) and last[:1].isupper()


# Mixed precision -----------------------------------------------------------------------------------------------------

SCALERS = frozenset(
    {
        "torch.amp.GradScaler",
        "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
        "fairscale.optim.grad_scaler.ShardedGradScaler",
    }
)
SCALER_CALLS = frozenset({"timm.utils.NativeScaler", "timm.utils.ApexScaler"})
"""Scalers that are called: scaler(loss, optimizer, ...) runs backward, clips, steps; it does not clear."""
AUTOCASTS = frozenset({"torch.autocast"})
SCALED_LOSSES = frozenset({"apex.amp.scale_loss"})
"""Context managers over (loss, optimizer) that give the loss to call backward on."""
PREPARES = frozenset({"apex.amp.initialize", "intel_extension_for_pytorch.optimize"})
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
    "timm.utils.dispatch_clip_grad": 0,
    "timm.utils.clip_grad.dispatch_clip_grad": 0,
    "timm.utils.adaptive_clip_grad": 0,
    "timm.utils.agc.adaptive_clip_grad": 0,
}
"""Functions that clip gradients, by the position of the parameters."""
DISTRIBUTED_BACKWARD = frozenset({"torch.distributed.autograd.backward"})
BACKWARDS: dict[str, Position] = {"torch.autograd.backward": 0}
AUTOGRAD_GRAD = frozenset({"torch.autograd.grad"})
"""Returns gradients and accumulates none."""
FUNCTIONAL_GRADS = frozenset(
    (
        *(
            f"torch.func.{name}"
            for name in words("grad grad_and_value vjp jvp jacrev jacfwd hessian vmap functional_call")
        ),
        *(f"torch.autograd.functional.{name}" for name in words("vjp jvp jacobian hessian hvp vhp")),
    )
)
"""Transforms that accumulate no gradient in any parameter."""

# Data ----------------------------------------------------------------------------------------------------------------

LOADERS: frozenset[str] = frozenset(
    (
        "torch.utils.data.DataLoader",
        "monai.data.DataLoader",
        "monai.data.ThreadDataLoader",
        "torch_geometric.data.DataLoader",
        "torch_geometric.data.DataListLoader",
        "torch_geometric.data.NeighborSampler",
        "torch_geometric.data.ClusterLoader",
        "dgl.dataloading.DataLoader",
        "dgl.dataloading.GraphDataLoader",
        "dgl.dataloading.NodeDataLoader",
        "dgl.dataloading.EdgeDataLoader",
        "dgl.dataloading.pytorch.NodeDataLoader",
        "dgl.dataloading.pytorch.EdgeDataLoader",
        "dgl.dataloading.pytorch.GraphDataLoader",
        "torchtext.data.BucketIterator",
        "torchtext.data.Iterator",
        "torchtext.data.BPTTIterator",
        "torchtext.legacy.data.BucketIterator",
        "torchtext.legacy.data.Iterator",
        "torchtext.legacy.data.BPTTIterator",
        "torchdata.dataloader2.DataLoader2",
        "torchdata.stateful_dataloader.StatefulDataLoader",
        "torchdata.nodes.Loader",
        "webdataset.WebLoader",
        "ffcv.loader.Loader",
        "ffcv.Loader",
        "torchio.SubjectsLoader",
        "torchio.data.SubjectsLoader",
        "timm.data.create_loader",
        "timm.data.loader.create_loader",
        "nvidia.dali.plugin.pytorch.DALIClassificationIterator",
        "nvidia.dali.plugin.pytorch.DALIGenericIterator",
        "prefetch_generator.BackgroundGenerator",
        "chemprop.data.MoleculeDataLoader",
        "schnetpack.data.AtomsLoader",
    )
)
_LOADER_SUFFIXES = ("Loader", "Sampler", "DataLoader")


@functools.lru_cache(maxsize=4096)
def loader_of(name: str) -> bool:
    """Tell whether this is a class of loaders: iterating it gives batches, and each iteration is one pass."""
    if name in LOADERS:
        return True
    return name.startswith("torch_geometric.loader.") and name.endswith(_LOADER_SUFFIXES)


LOADER_WRAPPERS: dict[str, Position] = {
    "torch_xla.distributed.parallel_loader.MpDeviceLoader": 0,
    "ray.train.torch.prepare_data_loader": 0,
}
"""Calls that return the loader at this position, wrapped."""

# Checkpoints ---------------------------------------------------------------------------------------------------------

SAVES: dict[str, Position] = {
    "torch.save": 0,
    "accelerate.utils.save": 0,
    "torch_xla.core.xla_model.save": 0,
}
"""Functions that write an object to a checkpoint, by the position of the object."""
PICKLES: dict[str, Position] = {
    "torch.jit.save": 0,
    "joblib.dump": 0,
    "pickle.dump": 0,
    "dill.dump": 0,
    "cloudpickle.dump": 0,
}
"""Functions that write an object to a file, by its position, and are no checkpoint of torch's."""
LOADS = frozenset({"torch.load"})
DOWNLOADS = frozenset({"torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url"})
"""Return a state dict of somebody else's."""
UNPICKLES = frozenset({"torch.jit.load", "joblib.load", "pickle.load", "dill.load", "cloudpickle.load"})
COPIES = frozenset({"copy.deepcopy", "copy.copy"})
