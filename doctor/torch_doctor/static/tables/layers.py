"""The layers of torch.nn: what their outputs mean and whether training changes them; and one spelling for every name.

Source: https://docs.pytorch.org/docs/stable/nn.html and the page of each class.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch_doctor.static.tables import words
from torch_doctor.trace.words import Kind

Result: TypeAlias = Literal["tensor", "recurrent", "pair"]


@dataclass(frozen=True, slots=True)
class Argument:
    """A constructor argument that decides; it says yes when it exceeds `above`, or is a module that is so itself."""

    position: int  # counted from 0, without self
    name: str
    default: float | bool  # None is never a default here; False where the argument is required
    above: float = 0
    beside: Argument | None = None  # only together with this one


@dataclass(frozen=True, slots=True)
class Layer:
    """What is known of one class of layers."""

    kind: Kind | None  # what its output's numbers mean; None: what its input's meant
    parameters: bool = False  # as built by default
    mode: bool | Argument = False  # behaves differently in training
    result: Result = "tensor"  # recurrent: (out, (h, c)); pair: (out, h) or (out, weights)


CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"})
PARAMETER_CONTAINERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})
MODULE_BASES = frozenset({"torch.nn.Module", "torch.jit.ScriptModule"})

_DIMENSIONS = ("1d", "2d", "3d")


def _statistics(position: int, *, default: bool) -> Argument:
    return Argument(position, "track_running_stats", default)


def _dropout(position: int, default: float = 0.0) -> Argument:
    return Argument(position, "dropout", default)


def _table() -> dict[str, Layer]:
    scores = Layer(Kind.LOGITS, parameters=True)
    hidden = Layer(Kind.HIDDEN)
    unknown = Layer(Kind.UNKNOWN)
    kept = Layer(None)
    drop = Layer(None, mode=Argument(0, "p", 0.5))

    def recurrent(position: int, result: Result) -> Layer:
        # Dropout acts between layers only: with a single one it does nothing.
        several = Argument(2, "num_layers", 1, above=1)
        dropout = Argument(position, "dropout", 0.0, beside=several)
        return Layer(Kind.HIDDEN, parameters=True, mode=dropout, result=result)

    table: dict[str, Layer] = {
        # Linear layers
        "Linear": scores,
        "LazyLinear": scores,
        "Bilinear": scores,
        "Identity": kept,
        # Activations
        **dict.fromkeys(
            (
                *words(
                    """
                    ELU Hardshrink Hardswish LeakyReLU ReLU ReLU6 SELU CELU GELU SiLU Mish Softplus Softshrink
                    Softsign Tanh Tanhshrink GLU
                    """
                ),
            ),
            hidden,
        ),
        "PReLU": Layer(Kind.HIDDEN, parameters=True),
        "RReLU": Layer(Kind.HIDDEN, mode=True),  # draws its slope while training
        "Hardtanh": unknown,  # Hardtanh(0, 1) is bounded like a sigmoid
        "Threshold": unknown,
        "Sigmoid": Layer(Kind.BOUNDED),
        "Hardsigmoid": Layer(Kind.BOUNDED),
        "LogSigmoid": Layer(Kind.LOG_BOUNDED),
        "Softmax": Layer(Kind.PROBABILITIES),
        "Softmax2d": Layer(Kind.PROBABILITIES),
        "Softmin": Layer(Kind.PROBABILITIES),
        "LogSoftmax": Layer(Kind.LOG_PROBABILITIES),
        "MultiheadAttention": Layer(Kind.LOGITS, parameters=True, mode=_dropout(2), result="pair"),
        # Normalization layers
        "SyncBatchNorm": Layer(Kind.LOGITS, parameters=True, mode=_statistics(4, default=True)),
        "GroupNorm": scores,
        "LayerNorm": scores,
        "RMSNorm": scores,
        "LocalResponseNorm": hidden,
        "CrossMapLRN2d": hidden,
        # Recurrent layers
        "RNN": recurrent(6, "pair"),  # after nonlinearity, which LSTM and GRU lack
        "GRU": recurrent(5, "pair"),
        "LSTM": recurrent(5, "recurrent"),
        "RNNCell": Layer(Kind.HIDDEN, parameters=True),
        "GRUCell": Layer(Kind.HIDDEN, parameters=True),
        "LSTMCell": Layer(Kind.HIDDEN, parameters=True, result="pair"),
        # Transformer layers; encoder and decoder are copies of the layer that they are given
        "Transformer": Layer(Kind.LOGITS, parameters=True, mode=_dropout(5, 0.1)),
        "TransformerEncoderLayer": Layer(Kind.LOGITS, parameters=True, mode=_dropout(3, 0.1)),
        "TransformerDecoderLayer": Layer(Kind.LOGITS, parameters=True, mode=_dropout(3, 0.1)),
        "TransformerEncoder": Layer(Kind.LOGITS, parameters=True, mode=Argument(0, "encoder_layer", default=False)),
        "TransformerDecoder": Layer(Kind.LOGITS, parameters=True, mode=Argument(0, "decoder_layer", default=False)),
        # Dropout layers
        "Dropout": drop,
        "AlphaDropout": drop,
        "FeatureAlphaDropout": drop,
        # Sparse layers
        "Embedding": Layer(Kind.HIDDEN, parameters=True),
        "EmbeddingBag": Layer(Kind.HIDDEN, parameters=True),
        # Distances
        "CosineSimilarity": unknown,
        "PairwiseDistance": unknown,
        # Vision and shuffle layers, utilities: numbers are moved, not changed
        **dict.fromkeys(
            (
                *words(
                    """
                    PixelShuffle PixelUnshuffle ChannelShuffle Flatten Unflatten Unfold Upsample UpsamplingNearest2d
                    UpsamplingBilinear2d
                    """
                ),
            ),
            kept,
        ),
        "Fold": unknown,  # sums what overlaps
        # Pooling layers: an average or a maximum of scores is a score, of bounded numbers is bounded
        "FractionalMaxPool2d": kept,
        "FractionalMaxPool3d": kept,
    }
    for d in _DIMENSIONS:
        for name in ("Conv", "ConvTranspose", "LazyConv", "LazyConvTranspose"):
            table[name + d] = scores
        for name in ("AvgPool", "MaxPool", "MaxUnpool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
            table[name + d] = kept
        for name in ("ReflectionPad", "ReplicationPad", "ZeroPad", "ConstantPad", "CircularPad"):
            table[name + d] = kept
        table["LPPool" + d] = hidden
        table["Dropout" + d] = drop
        table["BatchNorm" + d] = Layer(Kind.LOGITS, parameters=True, mode=_statistics(4, default=True))
        table["LazyBatchNorm" + d] = Layer(Kind.LOGITS, parameters=True, mode=_statistics(3, default=True))
        table["InstanceNorm" + d] = Layer(Kind.LOGITS, mode=_statistics(4, default=False))
        table["LazyInstanceNorm" + d] = table["LazyBatchNorm" + d]  # its defaults are those of a batch norm
    return {f"torch.nn.{name}": layer for name, layer in table.items()}


LAYERS: dict[str, Layer] = _table()
"""Every public layer of torch.nn; losses are in `losses`, AdaptiveLogSoftmaxWithLoss (both at once) is in neither."""


# One spelling for every name -----------------------------------------------------------------------------------------

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
_TRAINERS = ("Trainer", "LightningModule", "LightningDataModule", "Callback", "seed_everything", "Fabric")

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
    **{
        f"tqdm.{module}.tqdm": "tqdm.tqdm"
        for module in ("auto", "std", "notebook", "autonotebook", "rich", "asyncio", "_tqdm", "gui")
    },
    **{f"tqdm.{module}.trange": "tqdm.trange" for module in ("auto", "std", "notebook", "autonotebook", "rich")},
    "tqdm.tqdm_notebook": "tqdm.tqdm",
    "tqdm.tqdm_gui": "tqdm.tqdm",
    "tqdm.tnrange": "tqdm.trange",
    "timm.models.create_model": "timm.create_model",
    "timm.models.factory.create_model": "timm.create_model",
    "timm.models._factory.create_model": "timm.create_model",
    "timm.models.factory.create_optimizer": "timm.optim.create_optimizer",
    "timm.optim.optim_factory.create_optimizer": "timm.optim.create_optimizer",
    "timm.optim.optim_factory.create_optimizer_v2": "timm.optim.create_optimizer_v2",
    "timm.optim._optim_factory.create_optimizer_v2": "timm.optim.create_optimizer_v2",
    "timm.scheduler.scheduler_factory.create_scheduler": "timm.scheduler.create_scheduler",
    "timm.scheduler.scheduler_factory.create_scheduler_v2": "timm.scheduler.create_scheduler_v2",
    "timm.utils.cuda.NativeScaler": "timm.utils.NativeScaler",
    "timm.utils.cuda.ApexScaler": "timm.utils.ApexScaler",
    "accelerate.launchers.notebook_launcher": "accelerate.notebook_launcher",
    "accelerate.utils.set_seed": "accelerate.set_seed",
    "torch.multiprocessing.spawn.spawn": "torch.multiprocessing.spawn",
    "apex.parallel.distributed.DistributedDataParallel": "apex.parallel.DistributedDataParallel",
    "apex.amp.handle.scale_loss": "apex.amp.scale_loss",
    "apex.amp.frontend.initialize": "apex.amp.initialize",
}
"""Spellings that no rule below covers."""

# Packages whose classes live in submodules and are public at the top, with those submodules that are public themselves.
_ROOTS: dict[str, frozenset[str]] = {
    "torch.nn.modules": frozenset(),
    "torch.nn.parameter": frozenset(),
    "torch.optim": frozenset({"lr_scheduler", "swa_utils"}),
    "torch.utils.data": frozenset({"datapipes"}),
    "torch.optim.lr_scheduler": frozenset(),
    "torch_geometric.loader": frozenset(),
    "ignite.engine": frozenset(),
    "accelerate": frozenset({"utils", "state", "tracking"}),
    "transformers": frozenset(),
    "timm.optim": frozenset(),
    "timm.scheduler": frozenset(),
    "torch_optimizer": frozenset(),
    "pytorch_optimizer": frozenset(),
    "bitsandbytes.optim": frozenset(),
    "apex.optimizers": frozenset(),
    "segmentation_models_pytorch": frozenset({"losses", "utils", "metrics", "encoders"}),
    "monai.data": frozenset(),
    "skorch": frozenset(),
    "composer": frozenset({"algorithms", "optim", "loggers", "callbacks"}),
}
_REPEATED = frozenset({"optimization", "trainer_utils"})  # of transformers: their functions too are public at the top
_NN = frozenset({"torch.nn.modules", "torch.nn.parameter"})  # what these hold is public in torch.nn
_FIRST = frozenset(root.partition(".")[0] for root in _ROOTS)

# Public subpackages of torchvision.models; every other module in it is the home of functions that it repeats.
_VISION = ("detection", "segmentation", "video", "quantization", "optical_flow", "feature_extraction")

_TREES: tuple[tuple[str, str], ...] = (  # a whole tree under another name
    ("pytorch_lightning.", "lightning."),
    ("lightning.pytorch.", "lightning."),
    ("lightning_fabric.", "lightning.fabric."),
    ("torch.functional.", "torch."),
    ("torch.nn.backends.thnn.", "torch.nn."),
    ("datasets.load.", "datasets."),
)


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
    if first == "lightning":
        return _lightning(name)
    if first == "torchvision":
        return _vision(name)
    return _collapsed(name) if first in _FIRST else name


def _collapsed(name: str) -> str:
    """Drop the private modules between a package and its class: torch.optim.adam.Adam is torch.optim.Adam."""
    parts = name.split(".")
    for length in (3, 2, 1):
        root = ".".join(parts[:length])
        public = _ROOTS.get(root)
        if public is None or len(parts) == length or parts[length] in public:
            continue
        home = "torch.nn" if root in _NN else root
        for index in range(length, len(parts)):
            if parts[index][0].isupper():
                return _aliased(home, parts[index:])
        if root == "transformers" and parts[1] in _REPEATED:
            return f"transformers.{parts[-1]}"
    return name


def _aliased(home: str, rest: list[str]) -> str:
    found = f"{home}.{rest[0]}"
    return ".".join((ALIASES.get(found, found), *rest[1:]))


def _lightning(name: str) -> str:
    parts = name.split(".")
    for index, part in enumerate(parts):
        if part in _TRAINERS:
            return ".".join(("lightning", *parts[index:]))
    return name


def _vision(name: str) -> str:
    """Drop the module between torchvision.models, or a public package in it, and what it repeats."""
    match name.split("."):
        case [_, "models", package, _, rest, *more] if package in _VISION:
            return ".".join(("torchvision.models", package, rest, *more))
        case [_, "models", module, rest, *more] if module not in _VISION and module[0].islower() and rest[0] != "_":
            return ".".join(("torchvision.models", rest, *more))
        case _:
            return name
