"""What the functions and layers of torch make of dtypes and shapes, by the bare names that functions and methods share.

Sources: https://docs.pytorch.org/docs/stable/torch.html, tensors.html, nn.html, and the page of each name.
"""

from __future__ import annotations

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

SAME: frozenset[str] = frozenset(
    words(
        """
        clone contiguous detach detach_ cpu cuda xpu pin_memory requires_grad_ flip fliplr flipud roll clamp clamp_min
        clamp_max clip abs absolute neg negative positive relu dropout dropout1d dropout2d dropout3d alpha_dropout data
        tril triu cumsum cumprod nan_to_num masked_fill scatter scatter_add index_fill Variable retain_grad to_dense
        coalesce floor ceil round trunc sign fill_ zero_ clamp_ abs_ relu_ relu6 leaky_relu elu selu celu gelu silu mish
        softplus hardtanh zeros_like ones_like empty_like full_like rand_like randn_like randint_like
        normal_ uniform_ random_ bernoulli bernoulli_ share_memory_ resolve_conj copy_ normalize local_response_norm
        add_ sub_ mul_ div_ pow_ clip_ neg_ sqrt_ exp_ log_ sigmoid_ tanh_ floor_ ceil_ round_ masked_fill_ clamp_min_
        clamp_max_ batch_norm layer_norm group_norm instance_norm rms_norm square poisson absolute fix frac conj
        conj_physical nan_to_num masked_scatter index_add index_copy index_put index_reduce scatter_reduce
        select_scatter slice_scatter diagonal_scatter renorm sgn hardshrink hardswish softshrink softsign tanhshrink
        threshold prelu rrelu feature_alpha_dropout feature_dropout channel_shuffle fftshift ifftshift to_sparse
        resolve_neg positive ~ bitwise_not inverse inv matrix_power matrix_exp cholesky
        """
    )
)
"""The result has the dtype and shape of the first argument; a `dtype` that is given decides."""

CUMULATIVE: frozenset[str] = frozenset(("cumsum", "cumprod"))
"""The result has the shape of the first argument, and the dtype of a sum of it."""
FLOATING: frozenset[str] = frozenset(
    words(
        """
        softmax log_softmax softmin gumbel_softmax sigmoid hardsigmoid logsigmoid tanh exp expm1 log log2 log10 log1p
        sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh erf erfc erfinv logit acosh arccos arccosh arcsin
        arcsinh arctan arctanh asinh atanh deg2rad rad2deg digamma lgamma mvlgamma exp2 i0 sinc logcumsumexp expit entr
        erfcx gammaln psi i0e i1 i1e log_ndtr ndtr ndtri
        """
    )
)
"""The result has the shape of the first argument, and fractions."""

ELEMENTWISE: frozenset[str] = frozenset(
    words(
        """
        + - * ** % // add sub subtract mul multiply maximum minimum fmax fmin pow remainder fmod floor_divide atan2
        rsub lerp addcmul addcdiv copysign hypot xlogy xlog1py logaddexp logaddexp2 heaviside arctan2 bitwise_and bitwise_or
        bitwise_xor & | ^
        """
    )
)
"""Arguments are broadcast and their dtypes promoted."""
DISTRIBUTED = "of a distribution"
"""What the numbers are made by that a method of a distribution computes."""
DRAWN = "drawn of a distribution"
"""What those are made by that it draws."""
LOSS = "loss"
"""What a loss is made by that is a single number."""
LOSSES = "losses"
"""What the losses of single elements are made by."""
DIVISIONS: frozenset[str] = frozenset(words("/ div divide true_divide"))
"""The same, with fractions."""
TESTS: frozenset[str] = frozenset(
    words(
        """
        eq ne not_equal lt less le less_equal gt greater ge greater_equal isclose logical_and logical_or logical_xor
        logical_not isnan isinf isfinite isneginf isposinf isreal signbit isin == != < <= > >=
        """
    )
)
"""Arguments are broadcast, the result is yes or no."""

REDUCTIONS: frozenset[str] = frozenset(
    words(
        "sum nansum mean nanmean prod std var norm amax amin median nanmedian max min logsumexp quantile nanquantile all any"
    )
)
"""A dimension (their first argument beside the tensor, or `dim`) is summed up; without one, all are."""
RESHAPING: frozenset[str] = frozenset(
    words(
        """
        squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ resize_ resize_as_ set_ as_strided_ rename_
        requires_grad_ apply_ map_
        """
    )
)
"""Methods that end with an underscore and may change more than numbers."""
INDICES: frozenset[str] = frozenset(words("argmax argmin count_nonzero"))

CASTS: dict[str, str] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
"""Methods that change the dtype."""

DTYPES: dict[str, str] = {
    **{f"torch.{name}": name for name in words("float16 bfloat16 float32 float64 int8 uint8 int16 int32 int64 bool")},
    **{f"torch.{name}": dtype for name, dtype in CASTS.items() if name not in ("char", "byte")},
    **libraries.table(lambda library: library.dtypes),
    **{f"builtins.{name}": dtype for name, dtype in (("float", "float64"), ("int", "int64"), ("bool", "bool"))},
    **{
        f"torch.{place}{name}Tensor": dtype
        for place in ("", "cuda.")
        for name, dtype in (
            ("", "float32"),
            ("Float", "float32"),
            ("Double", "float64"),
            ("Half", "float16"),
            ("Long", "int64"),
            ("Int", "int32"),
            ("Short", "int16"),
            ("Byte", "uint8"),
            ("Bool", "bool"),
        )
    },
}
"""The dtype that a name of torch stands for."""

MAKERS: dict[str, str] = {
    **dict.fromkeys(words("rand randn zeros ones empty new_zeros new_ones new_empty new_full"), "float32"),
    "randperm": "int64",
}
"""Functions whose arguments are the sizes of what they make, with its dtype."""

LAYERS_SAME: frozenset[str] = frozenset(
    words(
        """
        Identity Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout BatchNorm1d BatchNorm2d
        BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d InstanceNorm1d InstanceNorm2d
        InstanceNorm3d GroupNorm LayerNorm RMSNorm LocalResponseNorm ELU Hardshrink Hardswish LeakyReLU ReLU ReLU6 SELU
        CELU GELU SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink PReLU RReLU Hardtanh Threshold Sigmoid
        Hardsigmoid LogSigmoid Softmax Softmax2d Softmin LogSoftmax MultiheadAttention TransformerEncoderLayer
        TransformerDecoderLayer TransformerEncoder TransformerDecoder CrossMapLRN2d ChannelShuffle
        """
    )
)
"""Layers that leave the shape as it is."""
LAYERS_LAST: dict[str, tuple[int, str]] = {
    "Linear": (1, "out_features"),
    "LazyLinear": (0, "out_features"),
    "Bilinear": (2, "out_features"),
}
"""Layers that change the last dimension, with the constructor argument that says to what."""
LAYERS_CHANNELS: dict[str, tuple[int, str]] = {
    **{f"Conv{d}d": (1, "out_channels") for d in (1, 2, 3)},
    **{f"ConvTranspose{d}d": (1, "out_channels") for d in (1, 2, 3)},
    **{f"LazyConv{d}d": (0, "out_channels") for d in (1, 2, 3)},
    **{f"LazyConvTranspose{d}d": (0, "out_channels") for d in (1, 2, 3)},
}
"""Convolutions: batch, channels, and as many further dimensions as the digit says."""
LAYERS_POOLS: frozenset[str] = frozenset(
    f"{kind}Pool{d}d" for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax", "LP") for d in (1, 2, 3)
)
"""Pooling layers: only what comes after the channels changes."""
LAYERS_RECURRENT: frozenset[str] = frozenset(("RNN", "GRU", "LSTM"))
LAYERS_CELLS: frozenset[str] = frozenset(f"{name}Cell" for name in LAYERS_RECURRENT)
LAYERS_PADS: frozenset[str] = frozenset(
    f"{kind}Pad{d}d" for kind in ("Reflection", "Replication", "Zero", "Constant", "Circular") for d in (1, 2, 3)
)
LAYERS_RANKS: dict[str, int] = {
    **{
        f"{kind}{d}d": d + 2 for kind in ("Conv", "ConvTranspose", "BatchNorm", "MaxPool", "AvgPool") for d in (1, 2, 3)
    },
    **{f"{kind}2d": 4 for kind in ("AdaptiveAvgPool", "AdaptiveMaxPool", "Dropout", "InstanceNorm")},
    **dict.fromkeys((*LAYERS_RECURRENT, "MultiheadAttention", "TransformerEncoderLayer", "TransformerEncoder"), 3),
}
"""Dimensions of what layers take, a batch among them. (Some take a single sample without one, which scripts hardly do.)"""
del LAYERS_RANKS["BatchNorm1d"]  # of rows, or of sequences

ALLOCATORS: frozenset[str] = frozenset(
    words("zeros ones empty full zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full")
)
"""Functions that make room for numbers, which are put there later: https://docs.pytorch.org/docs/stable/torch.html#creation-ops."""
