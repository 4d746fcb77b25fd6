"""Functions of torch and methods of its tensors: what they return, what its numbers mean, whether it carries a graph.

Sources: https://docs.pytorch.org/docs/stable/: torch.html, nn.functional.html, tensors.html, special.html, linalg.html,
fft.html.
"""

from __future__ import annotations

from msgspec.structs import replace

from torch_doctor.static.tables import words
from torch_doctor.static.tables.function import (
    BOUNDED,
    COMPARED,
    DATA,
    DRAWN,
    EXTREME,
    HIDDEN,
    KEPT,
    LABELS,
    LOG_PROBABILITIES,
    NONE,
    NUMBERS,
    OTHER,
    OVERWRITTEN,
    PICKED,
    PLAIN,
    PROBABILITIES,
    PRODUCT,
    REDUCED,
    SPREAD,
    STEPS,
    SUMMED,
    TEST,
    TOP,
    TUPLE,
    TUPLE_NUMBERS,
    Function,
    named,
)
from torch_doctor.static.tables.kinds import Effect
from torch_doctor.trace.words import Kind, Source

LOGS = frozenset({"log", "log2", "log10", "log_", "log2_", "log10_"})
"""Logarithms: of 0 they are minus infinity."""
LOG_OF = {Kind.PROBABILITIES: Kind.LOG_PROBABILITIES, Kind.BOUNDED: Kind.LOG_BOUNDED}
"""What a log makes of a kind; of every other: UNKNOWN."""
REACH_ZERO = frozenset((*LOG_OF, Kind.HIDDEN))
"""Kinds of numbers of which some may be 0."""
EXP_OF = {kind: source for source, kind in LOG_OF.items()}
"""What an exp makes of a kind; of every other: UNKNOWN."""


_WITH_VALUES = ((0, "input"), (3, "src"))
"""Where functions that replace numbers along a dimension find them, and the others."""


ARITHMETIC = (
    ("clamp clip", Function(effect=Effect.CLIPPED)),
    ("clamp_min", Function(effect=Effect.CLIPPED)),
    ("clamp_max", Function(effect=Effect.CLIPPED, operands=((0, "input"), (9, ""), (1, "max")))),
    ("nan_to_num positive", KEPT),
    ("neg negative", Function(effect=Effect.NEGATED)),
    ("add", Function(effect=Effect.ADDED)),
    ("sub subtract", Function(effect=Effect.SUBTRACTED)),
    ("rsub", Function(effect=Effect.SUBTRACTED, operands=((1, "other"), (0, "input")))),
    ("mul multiply", Function(effect=Effect.MULTIPLIED)),
    ("div divide true_divide", Function(effect=Effect.DIVIDED)),
    ("floor_divide", Function(effect=Effect.QUOTIENT)),
    ("remainder fmod", Function(effect=Effect.REMAINDER)),
    ("maximum minimum fmax fmin", Function(effect=Effect.MERGED)),
    ("lerp", Function(effect=Effect.MERGED, operands=((0, "input"), (1, "end")))),
    ("where", Function(effect=Effect.MERGED, operands=((1, "input"), (2, "other")))),
    ("masked_fill", Function(effect=Effect.MERGED, operands=((0, "input"), (2, "value")))),
    ("masked_scatter", Function(effect=Effect.MERGED, operands=((0, "input"), (2, "source")))),
    ("scatter", Function(effect=Effect.MERGED, operands=_WITH_VALUES)),
    ("index_fill", Function(effect=Effect.MERGED, operands=((0, "input"), (3, "value")))),
    ("index_copy", Function(effect=Effect.MERGED, operands=((0, "input"), (3, "source")))),
    ("index_put", Function(effect=Effect.MERGED, operands=((0, "input"), (2, "values")))),
    (
        "slice_scatter select_scatter diagonal_scatter",
        Function(effect=Effect.MERGED, operands=((0, "input"), (1, "src"))),
    ),
    (
        """
        abs absolute addcmul addcdiv scatter_add scatter_reduce index_add index_reduce float_power pow square sqrt rsqrt
        reciprocal
        """,
        NUMBERS,
    ),
)
"""Arithmetic: what it keeps of a kind hangs on its operands."""

# As a function of torch, and as a method of a tensor
BOTH = named(
    # Numbers are moved or selected.
    (
        """
        adjoint clone contiguous diagonal diag diag_embed flatten flip fliplr flipud roll rot90 movedim moveaxis
        narrow permute ravel reshape resolve_conj squeeze swapaxes swapdims t take take_along_dim tile transpose
        tril triu unflatten unsqueeze select index_select gather broadcast_to repeat_interleave
        unfold_copy msort
        """,
        KEPT,
    ),
    ("masked_select", PICKED),
    ("chunk split unbind tensor_split hsplit vsplit dsplit split_with_sizes", TUPLE),
    # Numbers are computed.
    *ARITHMETIC,
    (
        """
        acos arccos acosh arccosh asin arcsin asinh arcsinh atan arctan atanh arctanh atan2 arctan2 cos cosh sin
        sinh sinc tan deg2rad rad2deg digamma lgamma mvlgamma polygamma erf erfc erfinv exp exp2 expm1 i0 log
        log10 log1p log2 logit xlogy logaddexp logaddexp2 ldexp hypot frac cumsum cumprod
        logcumsumexp diff renorm cov corrcoef copysign outer ger kron cross addr matrix_power cholesky
        cholesky_inverse cholesky_solve det logdet inverse pinverse ormqr orgqr lu_solve logsumexp view_as_real
        view_as_complex
        conj conj_physical imag angle heaviside igamma igammac trapezoid vander block_diag
        cartesian_prod combinations
        """,
        OTHER,
    ),
    ("inner mm bmm matmul mv addmm addmv addbmm baddbmm chain_matmul smm sspaddmm", PRODUCT),
    ("dot vdot", replace(PRODUCT, scalar=True)),
    ("dist trace", replace(OTHER, scalar=True)),
    ("floor ceil round trunc fix sign sgn", STEPS),
    # Reductions.
    ("mean nanmean", REDUCED),
    ("sum nansum", SUMMED),
    ("prod std var norm quantile nanquantile", SPREAD),
    ("max min median nanmedian", EXTREME),
    ("amax amin", replace(PICKED, scalar=None)),
    ("mode kthvalue topk sort cummax cummin", TOP),
    ("aminmax", TUPLE),
    # Activations.
    ("softmax", PROBABILITIES),
    ("log_softmax", LOG_PROBABILITIES),
    ("sigmoid", BOUNDED),
    ("relu tanh prelu hardshrink", HIDDEN),
    # Answers without a graph.
    ("argmax argmin", replace(LABELS, scalar=None)),
    ("argsort argwhere nonzero searchsorted bucketize", LABELS),
    (
        """
        isclose isfinite isinf isnan isneginf
        isposinf isreal isin logical_and logical_or logical_xor logical_not signbit bitwise_and bitwise_or
        bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
        """,
        TEST,
    ),
    ("eq ne not_equal lt less le less_equal gt greater ge greater_equal", COMPARED),
    ("all any count_nonzero", replace(TEST, scalar=None)),
    ("bincount histc", TEST),
    ("allclose equal is_floating_point is_complex is_nonzero is_same_size is_conj is_neg is_inference numel", PLAIN),
    ("result_type", PLAIN),
    ("detach", Function(graph=False)),
    # Noise.
    ("bernoulli", DRAWN),
    ("multinomial", replace(LABELS, source=Source.NOISE)),
    # Decompositions.
    ("triangular_solve svd qr slogdet lu geqrf frexp", TUPLE_NUMBERS),
    ("unique unique_consecutive", KEPT),
)

IN_PLACE = words(
    """
    tril triu sigmoid relu tanh floor ceil round trunc fix sign sgn abs absolute neg negative add sub subtract mul multiply
    div divide true_divide floor_divide fmod remainder addcmul addcdiv lerp clamp clamp_min clamp_max clip nan_to_num
    masked_fill masked_scatter scatter scatter_add scatter_reduce index_add index_copy index_fill index_put index_reduce
    float_power pow square sqrt rsqrt reciprocal acos asin atan cos cosh sin sinh tan erf erfc erfinv exp exp2 expm1 log
    log10 log1p log2 logit xlogy cumsum cumprod frac renorm addmm addmv addr addbmm baddbmm atan2 hypot digamma lgamma
    """
)
"""Functions of which a method with an underscore at its end changes its tensor in place."""

_NOT_METHODS = frozenset(
    words(
        """
        block_diag cartesian_prod combinations chain_matmul trapezoid vander bucketize result_type searchsorted rsub
        unfold_copy isin imag view_as_real view_as_complex
        """
    )
)
NOT_FUNCTIONS = frozenset({"contiguous"})

_METHODS_ONLY = named(
    (
        """
        view view_as reshape_as expand expand_as repeat unfold type_as cpu cuda xpu to type float double half
        bfloat16 pin_memory coalesce to_dense to_sparse as_subclass sum_to_size as_strided cfloat
        """,
        KEPT,
    ),
    ("int long short char byte bool", Function(effect=Effect.CUT, graph=False)),
    ("item tolist numpy", PLAIN),
    (
        """
        size stride dim ndimension nelement element_size data_ptr get_device is_contiguous is_pinned is_shared
        storage_offset
        """,
        PLAIN,
    ),
    ("is_set_to __len__ __bool__ __int__ __float__ __index__ __str__ __format__ __repr__ __array__", PLAIN),
    ("storage untyped_storage", PLAIN),
    ("new_zeros new_ones new_empty new_full new_tensor new_empty_strided new", DATA),
    ("requires_grad_ share_memory_", Function(in_place=True)),
    ("detach_", Function(graph=False, in_place=True)),
    ("retain_grad", NONE),
    # In place: what the tensor meant before, it means no more.
    ("zero_ fill_", OVERWRITTEN),
    ("set_ resize_ resize_as_", replace(DATA, in_place=True)),
    ("normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ log_normal_ geometric_", replace(DRAWN, in_place=True)),
    ("copy_", Function(operands=((1, "src"),), in_place=True)),
    ("squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ as_strided_", Function(in_place=True)),
    (
        """
        eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_xor_ logical_not_ bitwise_and_ bitwise_or_
        bitwise_xor_ bitwise_not_
        """,
        replace(OVERWRITTEN, source=None),
    ),
    ("register_hook register_post_accumulate_grad_hook", PLAIN),
)

PACKS = frozenset(f"torch.nn.utils.rnn.{name}" for name in ("pack_padded_sequence", "pack_sequence"))
"""Functions that return a `PackedSequence`, which is a named tuple; what the tables say of them is true of its data."""

READING = frozenset({"item", "tolist", "numpy", "__float__", "__array__"})
"""Methods of a tensor that return its numbers outside of torch."""

ALIKE = frozenset(
    words(
        """
        item tolist numpy __float__ __array__ detach detach_ cpu cuda to float double half type clone data squeeze unsqueeze
        view reshape flatten contiguous mean stack cat concat tensor as_tensor FloatTensor Tensor nan_to_num
        """
    ),
)
"""Functions and methods whose result has the numbers of what they are given, or is the mean of one number."""

SELECTING = frozenset(
    words(
        """
        select take squeeze squeeze_ take_along_dim index_select gather masked_select diagonal unfold narrow tensordot
        einsum item unique split_with_sizes
        """
    )
)
"""Functions that may take a single number out of several."""
DIFFERENCES = frozenset(("-", "sub", "subtract"))
"""The operator, the functions and the methods that take one tensor from another."""
PRODUCTS = frozenset(words("mul multiply div divide true_divide"))
"""Functions and methods that multiply or divide, without what stands in front and the underscore at the end."""

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
"""Arguments that torch also takes by the names that they have in NumPy."""
INPUT_LATER = frozenset(("torch.where", "torch.searchsorted"))
"""Functions whose `input` is not their first argument."""

METHODS: dict[str, Function] = {
    **{name: function for name, function in BOTH.items() if name not in _NOT_METHODS},
    **{f"{name}_": replace(BOTH[name], in_place=True) for name in IN_PLACE},
    **_METHODS_ONLY,
    "where": replace(BOTH["where"], operands=((0, "self"), (2, "other"))),
}
"""Methods of a tensor by their bare names; backward, and what reads a shape, are the witness's own."""

ATTRIBUTES: dict[str, Function] = {
    **named(
        ("T mT H mH real", KEPT),
        ("imag", OTHER),
        ("data", Function(graph=False)),
        ("grad", Function(kind=Kind.UNKNOWN, graph=False, loss=False)),
        ("shape dtype device ndim layout itemsize nbytes output_nr", PLAIN),
        (
            "requires_grad is_leaf is_cuda is_cpu is_sparse is_quantized is_meta is_mps is_xpu retains_grad grad_fn",
            PLAIN,
        ),
    ),
}
"""Attributes of a tensor."""
