"""The parts of a training loop that are no layers: optimizers, schedulers, scalers, modes, loaders, library models.

Sources: https://docs.pytorch.org/docs/stable/ (optim, amp, data, nn.html#utilities, generated/torch.no_grad.html ...)
and the documentation of each package named. All names are canonical (`layers.canonical`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeAlias

from torch_doctor.static.tables import words
from torch_doctor.trace.words import Tri  # noqa: TC001 - annotations here can be resolved at run time

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

# Wrappers ------------------------------------------------------------------------------------------------------------

WRAPPERS: dict[str, Position] = {
    "torch.nn.DataParallel": 0,
    "torch.nn.parallel.DistributedDataParallel": 0,
    "torch.nn.parallel.DistributedDataParallelCPU": 0,
    "torch.distributed.fsdp.FullyShardedDataParallel": 0,
    "torch.distributed.fsdp.fully_shard": 0,
    "torch.distributed._composable.replicate": 0,
    "torch.distributed.tensor.parallel.parallelize_module": 0,
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper": 0,
    "torch.compile": 0,
    "torch.jit.script": 0,
    "torch.jit.trace": 0,
    "torch.jit.freeze": 0,
    "torch.jit.optimize_for_inference": 0,
    "torch.fx.symbolic_trace": 0,
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": 0,
    "torch.nn.utils.weight_norm": 0,
    "torch.nn.utils.remove_weight_norm": 0,
    "torch.nn.utils.spectral_norm": 0,
    "torch.nn.utils.remove_spectral_norm": 0,
    "torch.nn.utils.parametrizations.weight_norm": 0,
    "torch.nn.utils.parametrizations.spectral_norm": 0,
    "torch.nn.utils.parametrizations.orthogonal": 0,
    "torch.nn.utils.parametrize.register_parametrization": 0,
    "torch.nn.utils.convert_conv2d_weight_memory_format": 0,
    "torch.ao.quantization.prepare": 0,
    "torch.ao.quantization.prepare_qat": 0,
    "torch.ao.quantization.convert": 0,
    "torch.ao.quantization.quantize_dynamic": 0,
    "torch.quantization.prepare": 0,
    "torch.quantization.prepare_qat": 0,
    "torch.quantization.convert": 0,
    "torch.quantization.quantize_dynamic": 0,
    "torch.ao.quantization.QuantWrapper": 0,
    "apex.parallel.DistributedDataParallel": 0,
    "apex.parallel.convert_syncbn_model": 0,
    "fairscale.nn.FullyShardedDataParallel": 0,
    "fairscale.nn.data_parallel.ShardedDataParallel": 0,
    "fairscale.nn.data_parallel.FullyShardedDataParallel": 0,
    "torch_geometric.nn.DataParallel": 0,
    "torch_geometric.nn.to_hetero": 0,
    "torch_geometric.compile": 0,
    "torch_xla.distributed.fsdp.XlaFullyShardedDataParallel": 0,
    "peft.get_peft_model": 0,
    "peft.prepare_model_for_kbit_training": 0,
    "peft.prepare_model_for_int8_training": 0,
    "transformers.BetterTransformer.transform": 0,
    "optimum.bettertransformer.BetterTransformer.transform": 0,
    "torch2trt.torch2trt": 0,
    "ray.train.torch.prepare_model": 0,
    "opacus.validators.ModuleValidator.fix": 0,
}
"""Calls that return the module at this position, wrapped or changed in place: the same layers in the same mode (peft
freezes most of its parameters and adds its own)."""
LOADER_WRAPPERS: dict[str, Position] = {
    "torch_xla.distributed.parallel_loader.MpDeviceLoader": 0,
    "ray.train.torch.prepare_data_loader": 0,
    "prefetch_generator.BackgroundGenerator": 0,
}
"""Calls that return the loader at this position, wrapped."""

# Averaged copies -----------------------------------------------------------------------------------------------------

AVERAGED: dict[str, Position] = {
    "torch.optim.swa_utils.AveragedModel": 0,
    "timm.utils.ModelEma": 0,
    "timm.utils.ModelEmaV2": 0,
    "timm.utils.ModelEmaV3": 0,
    "timm.utils.model_ema.ModelEma": 0,
    "timm.utils.model_ema.ModelEmaV2": 0,
    "timm.utils.model_ema.ModelEmaV3": 0,
    "ema_pytorch.EMA": 0,
    "diffusers.training_utils.EMAModel": 0,
}
"""Averaged copies of the model at this position: modules of their own, which no optimizer trains."""
BATCH_NORM_RECALIBRATION = frozenset({"torch.optim.swa_utils.update_bn"})
"""Runs the model in training mode on purpose, without gradients, and restores its mode."""

# Models of libraries -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """What is known of a model that a library builds."""

    sensitive: Tri  # it has layers that behave differently in training
    training: Tri  # it is in training mode when it is returned


_SENSITIVE = LibraryModel(sensitive=True, training=True)
_INDIFFERENT = LibraryModel(sensitive=False, training=True)
_UNSURE = LibraryModel(sensitive=None, training=True)  # dropout rates of 0, which arguments raise
_OPAQUE = LibraryModel(sensitive=None, training=None)
_EVALUATING = LibraryModel(sensitive=True, training=False)
_EVALUATING_UNSURE = LibraryModel(sensitive=None, training=False)

# https://docs.pytorch.org/vision/stable/models.html; what batch norm or dropout a builder has was read off its modules
_VISION_SENSITIVE = (
    *words(
        """
        alexnet densenet efficientnet googlenet inception mnasnet mobilenet regnet resnet resnext shufflenet
        squeezenet vgg wide_resnet r3d_18 mc3_18 r2plus1d_18 maxvit s3d
        """
    ),
)
_VISION_UNSURE = (
    "vit_",
    "swin",
    "convnext",
    "mvit",
    "raft_",
)  # only by rates that arguments set; raft_large by batch norm
_VISION_CLASSES = {
    "AlexNet": _SENSITIVE,
    "DenseNet": _SENSITIVE,
    "EfficientNet": _SENSITIVE,
    "GoogLeNet": _SENSITIVE,
    "Inception3": _SENSITIVE,
    "MNASNet": _SENSITIVE,
    "MobileNetV2": _SENSITIVE,
    "MobileNetV3": _SENSITIVE,
    "RegNet": _SENSITIVE,
    "ResNet": _SENSITIVE,
    "ShuffleNetV2": _SENSITIVE,
    "SqueezeNet": _SENSITIVE,
    "VGG": _SENSITIVE,
    "ConvNeXt": _UNSURE,
    "SwinTransformer": _UNSURE,
    "VisionTransformer": _UNSURE,
    "MaxVit": _SENSITIVE,
}
_SEGMENTATION_MODELS = frozenset(
    words("Unet UnetPlusPlus MAnet Linknet FPN PSPNet PAN DeepLabV3 DeepLabV3Plus UPerNet Segformer DPT create_model")
)


def _vision_model(rest: str) -> LibraryModel | None:
    package, _, name = rest.rpartition(".")
    if name.startswith(("get_", "list_")):
        return _OPAQUE if name == "get_model" else None
    if package == "quantization":
        return LibraryModel(sensitive=True, training=None)  # quantize=True returns it evaluating
    if name.startswith(_VISION_UNSURE):
        return _UNSURE
    if package in ("detection", "segmentation", "video", "optical_flow") and name[:1].islower():
        return _SENSITIVE  # detection may freeze its batch norms, but what a detector returns depends on the mode
    if not package and name.startswith(_VISION_SENSITIVE):
        return _SENSITIVE
    return None if package else _VISION_CLASSES.get(name)


@functools.lru_cache(maxsize=4096)
def library_model(name: str) -> LibraryModel | None:
    """Return what is known of the model that a call of this name builds; None: it is no known builder."""
    if (known := MODEL_FACTORIES.get(name)) is not None:
        return known
    first, _, rest = name.partition(".")
    if first == "torchvision":
        return _vision_model(rest.removeprefix("models.")) if rest.startswith("models.") else None
    return _transformers_model(rest) if first == "transformers" else _package_model(first, rest)


_TOKENIZERS = (
    "Tokenizer",
    "TokenizerFast",
    "Config",
    "Processor",
    "FeatureExtractor",
    "ImageProcessor",
    "ProcessorFast",
)
_NO_MODELS = (
    "AutoTokenizer",
    "AutoConfig",
    "GenerationConfig",
    "AutoProcessor",
    "AutoFeatureExtractor",
    "AutoImageProcessor",
)


_HEADS = ("Model", "LM", "Classification", "QuestionAnswering", "ConditionalGeneration", "PreTraining")
# Their configurations set every dropout to 0, or may (whichever model the name stands for).
_WITHOUT_DROPOUT = (
    *words("Llama Mistral Mixtral Qwen Gemma Phi3 Falcon Bloom MPT Mamba Olmo Cohere StableLm Starcoder2 DeepSeek"),
    *words("AutoModelForCausalLM ViT Dinov2 CLIP Siglip Swin ConvNext"),
)


def _transformers_model(rest: str) -> LibraryModel | None:
    # https://huggingface.co/docs/transformers/main_classes/model: from_pretrained returns the model in evaluation mode.
    owner, _, method = rest.rpartition(".")
    if not owner and method.endswith(_HEADS) and not method.startswith(("Auto", "DataCollator")):
        return _UNSURE  # built from a configuration
    if not owner or owner in _NO_MODELS or owner.endswith(_TOKENIZERS):
        return None
    if method == "from_pretrained":
        return _EVALUATING_UNSURE if owner.startswith(_WITHOUT_DROPOUT) else _EVALUATING
    if method in ("from_config", "_from_config") and owner.startswith("AutoModel"):
        return _SENSITIVE
    return None


_DIFFUSERS = ("UNet", "Autoencoder", "ControlNet", "VQModel", "Transformer", "MotionAdapter")


def _package_model(first: str, rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    match first:
        case "segmentation_models_pytorch":
            return _SENSITIVE if last in _SEGMENTATION_MODELS else None
        case "pretrainedmodels" | "efficientnet_pytorch":
            return _SENSITIVE if last.islower() or rest.startswith("EfficientNet") else None
        case "diffusers" if last == "from_pretrained" and any(part in owner for part in _DIFFUSERS):
            return _EVALUATING_UNSURE
        case "pytorch_transformers" | "pytorch_pretrained_bert" if last == "from_pretrained":
            return None if owner.endswith(_TOKENIZERS) else LibraryModel(sensitive=True, training=None)
        case "timm" | "monai":
            function = owner.startswith("models") and last.islower()
            return _UNSURE if function or (owner.startswith("networks.nets") and last[:1].isupper()) else None
        case _:
            return None


MODEL_FACTORIES: dict[str, LibraryModel] = {
    "timm.create_model": _UNSURE,
    "torch.hub.load": _OPAQUE,
    "open_clip.create_model": _OPAQUE,
    "clip.load": LibraryModel(sensitive=None, training=False),  # the first of a pair
    "open_clip.create_model_and_transforms": _OPAQUE,
    "sentence_transformers.SentenceTransformer": LibraryModel(sensitive=True, training=None),
    "ultralytics.YOLO": _OPAQUE,
    "facenet_pytorch.InceptionResnetV1": _SENSITIVE,
    "resnest.torch.resnest50": _SENSITIVE,
    "vit_pytorch.ViT": _UNSURE,
}
"""Builders of models outside torchvision, transformers and segmentation_models_pytorch; see `library_model`."""
