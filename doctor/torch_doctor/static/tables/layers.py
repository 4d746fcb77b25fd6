"""The layers of torch.nn: what their outputs mean and whether training changes them.

Source: https://docs.pytorch.org/docs/stable/nn.html and the page of each class.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from torch_doctor.static.tables import words
from torch_doctor.trace.words import Kind

RECURRENT = frozenset(f"torch.nn.{name}" for name in ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"))
"""Layers that go through a sequence step by step."""
Result: TypeAlias = Literal["tensor", "recurrent", "pair"]


class Argument(Struct, frozen=True):
    """A constructor argument that decides; it says yes when it exceeds `above`, or is a module that is so itself."""

    position: int  # counted from 0, without self
    name: str
    default: float | bool  # None is never a default here; False where the argument is required
    above: float = 0
    beside: Argument | None = None  # only together with this one


class Layer(Struct, frozen=True):
    """What is known of one class of layers."""

    kind: Kind | None  # what its output's numbers mean; None: what its input's meant
    parameters: bool = False  # as built by default
    mode: bool | Argument = False  # in training a row's result hangs on chance or on the other rows
    result: Result = "tensor"  # recurrent: (out, (h, c)); pair: (out, h) or (out, weights)


CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"})
PARAMETER_CONTAINERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})
MODULE_BASES = frozenset({"torch.nn.Module", "torch.jit.ScriptModule"})

WEIGHT_ALONE = frozenset(f"torch.nn.{name}" for name in ("Embedding", "EmbeddingBag", "PReLU", "RMSNorm"))
"""Layers that have a `weight` and no other parameter."""

_DIMENSIONS = ("1d", "2d", "3d")


def _statistics(position: int, *, default: bool) -> Argument:
    return Argument(position, "track_running_stats", default)


def _dropout(position: int, default: float = 0.0) -> Argument:
    return Argument(position, "dropout", default)


def _recurrent(position: int, result: Result) -> Layer:
    # Dropout acts between layers only: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
    several = Argument(2, "num_layers", 1, above=1)
    dropout = Argument(position, "dropout", 0.0, beside=several)
    return Layer(Kind.HIDDEN, parameters=True, mode=dropout, result=result)


_SCORES = Layer(Kind.LOGITS, parameters=True)
_HIDDEN = Layer(Kind.HIDDEN)
_UNKNOWN = Layer(Kind.UNKNOWN)
_KEPT = Layer(None)
_DROP = Layer(None, mode=Argument(0, "p", 0.5))

_SINGLE: dict[str, Layer] = {
    # Linear layers
    "Linear": _SCORES,
    "LazyLinear": _SCORES,
    "Bilinear": _SCORES,
    "Identity": _KEPT,
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
        _HIDDEN,
    ),
    "PReLU": Layer(Kind.HIDDEN, parameters=True),
    "RReLU": Layer(Kind.HIDDEN, mode=True),  # draws its slope while training
    "Hardtanh": _UNKNOWN,  # Hardtanh(0, 1) is bounded like a sigmoid
    "Threshold": _UNKNOWN,
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
    "GroupNorm": _SCORES,
    "LayerNorm": _SCORES,
    "RMSNorm": _SCORES,
    "LocalResponseNorm": _HIDDEN,
    "CrossMapLRN2d": _HIDDEN,
    # Recurrent layers
    "RNN": _recurrent(6, "pair"),  # after nonlinearity, which LSTM and GRU lack
    "GRU": _recurrent(5, "pair"),
    "LSTM": _recurrent(5, "recurrent"),
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
    "Dropout": _DROP,
    "AlphaDropout": _DROP,
    "FeatureAlphaDropout": _DROP,
    # Sparse layers
    "Embedding": Layer(Kind.HIDDEN, parameters=True),
    "EmbeddingBag": Layer(Kind.HIDDEN, parameters=True),
    # Distances
    "CosineSimilarity": _UNKNOWN,
    "PairwiseDistance": _UNKNOWN,
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
        _KEPT,
    ),
    "Fold": _UNKNOWN,  # sums what overlaps
    # Pooling layers: an average or a maximum of scores is a score, of bounded numbers is bounded
    "FractionalMaxPool2d": _KEPT,
    "FractionalMaxPool3d": _KEPT,
}
"""Layers that exist once."""


def _in_dimensions() -> dict[str, Layer]:
    """The layers that exist for one, two and three dimensions."""
    table: dict[str, Layer] = {}
    for d in _DIMENSIONS:
        for name in ("Conv", "ConvTranspose", "LazyConv", "LazyConvTranspose"):
            table[name + d] = _SCORES
        for name in ("AvgPool", "MaxPool", "MaxUnpool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
            table[name + d] = _KEPT
        for name in ("ReflectionPad", "ReplicationPad", "ZeroPad", "ConstantPad", "CircularPad"):
            table[name + d] = _KEPT
        table["LPPool" + d] = _HIDDEN
        table["Dropout" + d] = _DROP
        table["BatchNorm" + d] = Layer(Kind.LOGITS, parameters=True, mode=_statistics(4, default=True))
        table["LazyBatchNorm" + d] = Layer(Kind.LOGITS, parameters=True, mode=_statistics(3, default=True))
        # In training mode each sample is normalised by itself, whatever is tracked: that is no mistake in evaluation.
        # https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html
        table["InstanceNorm" + d] = Layer(Kind.LOGITS)
        table["LazyInstanceNorm" + d] = Layer(Kind.LOGITS, parameters=True)
    return table


LAYERS: dict[str, Layer] = {f"torch.nn.{name}": layer for name, layer in (_SINGLE | _in_dimensions()).items()}
"""Every public layer of torch.nn; losses are in `losses`, AdaptiveLogSoftmaxWithLoss (both at once) is in neither."""
BATCH_NORMS = frozenset(name for name in LAYERS if "BatchNorm" in name)
"""Layers that gather statistics of batches."""
NORMALISING = frozenset((*(f"torch.nn.InstanceNorm{d}" for d in _DIMENSIONS), "torch.nn.LocalResponseNorm"))
"""Layers without weights of their own that normalise."""
