"""Functions of torch and methods of its tensors: what they return, what its numbers mean, whether it carries a graph.

Sources: https://docs.pytorch.org/docs/stable/: torch.html, nn.functional.html, tensors.html, special.html, linalg.html,
fft.html.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static.tables import words
from torch_doctor.trace.words import Kind, Source, Tri

Result: TypeAlias = Literal["tensor", "plain", "tuple", "none"]


class Function(Struct, frozen=True):
    """What is known of one function or method."""

    result: Result = "tensor"  # plain: a Python number, string, list or array; tuple: of tensors; none: nothing
    kind: Kind | None = None  # of the result; None: that of the first tensor argument is kept
    graph: bool = True  # False: the result has no graph, whatever goes in
    scalar: Tri = False  # True: always a single number; None: where it is called without a dim
    source: Source | None = None  # of what it makes; None: that of its arguments
    with_dim: Result = "tensor"  # the result where a dim is given
    indices: bool = False  # the last item of its tuple holds indices, without a graph
    in_place: bool = False  # changes its first argument (a method: its tensor) and returns it
    loss: bool = True  # a loss is still a loss behind it (its half, its sum, its weighted mean)
    zero_gradient: bool = False  # it has a graph and the gradient through it is zero
    keeps_zeros: bool = (
        True  # False: an average, an extreme or a selection, which need not reach 0 where its argument does
    )

    def of(self, kind: Kind) -> Kind:
        """Return the kind of the result for a first tensor argument of this kind."""
        if kind is Kind.LOSS and self.loss and self.kind in (None, Kind.UNKNOWN):
            return kind
        return kind if self.kind is None else self.kind


LOGS = frozenset({"log", "log2", "log10", "log_", "log2_", "log10_"})
"""Logarithms: of 0 they are minus infinity."""
LOG_OF = {Kind.PROBABILITIES: Kind.LOG_PROBABILITIES, Kind.BOUNDED: Kind.LOG_BOUNDED}
"""What a log makes of a kind; of every other: UNKNOWN."""
EXP_OF = {kind: source for source, kind in LOG_OF.items()}
"""What an exp makes of a kind; of every other: UNKNOWN."""

KEPT = Function()  # moves numbers, selects them, averages them
NUMBERS = Function(kind=Kind.UNKNOWN)  # arithmetic
OTHER = Function(kind=Kind.UNKNOWN, loss=False)  # what comes out is no loss even if a loss goes in
HIDDEN = Function(kind=Kind.HIDDEN)
LOGITS = Function(kind=Kind.LOGITS)
PROBABILITIES = Function(kind=Kind.PROBABILITIES)
LOG_PROBABILITIES = Function(kind=Kind.LOG_PROBABILITIES)
BOUNDED = Function(kind=Kind.BOUNDED)
LOG_BOUNDED = Function(kind=Kind.LOG_BOUNDED)
TEST = Function(kind=Kind.UNKNOWN, graph=False, loss=False)  # yes or no, elementwise or as a whole
LABELS = Function(kind=Kind.LABELS, graph=False, loss=False)
PLAIN = Function("plain", kind=Kind.UNKNOWN, graph=False, loss=False)
NONE = Function("none", kind=Kind.UNKNOWN, graph=False, loss=False)
TUPLE = Function("tuple")
TUPLE_NUMBERS = Function("tuple", kind=Kind.UNKNOWN)
REDUCED = Function(scalar=None, keeps_zeros=False)  # a mean of scores is a score, of losses a loss
SUMMED = Function(kind=Kind.UNKNOWN, scalar=None)
EXTREME = Function(scalar=None, with_dim="tuple", indices=True, keeps_zeros=False)
TOP = Function("tuple", indices=True, keeps_zeros=False)
DATA = Function(kind=Kind.UNKNOWN, graph=False, source=Source.DATA, loss=False)
NOISE = Function(kind=Kind.NOISE, graph=False, source=Source.NOISE, loss=False)
STEPS = Function(kind=Kind.UNKNOWN, zero_gradient=True)
DRAWN = replace(NOISE, graph=True, zero_gradient=True)
OVERWRITTEN = replace(DATA, graph=True, zero_gradient=True, in_place=True)


def named(*groups: tuple[str, Function]) -> dict[str, Function]:
    """A table of groups of names."""
    return {name: function for names, function in groups for name in names.split()}


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
    ("masked_select", replace(KEPT, keeps_zeros=False)),
    ("chunk split unbind tensor_split hsplit vsplit dsplit split_with_sizes", TUPLE),
    # Numbers are computed.
    (
        """
        abs absolute neg negative positive add sub subtract rsub mul multiply div divide true_divide addcmul
        addcdiv lerp clamp clamp_min clamp_max clip where nan_to_num masked_fill masked_scatter scatter
        scatter_add scatter_reduce index_add index_copy index_fill index_put index_reduce slice_scatter
        select_scatter diagonal_scatter float_power pow square sqrt rsqrt reciprocal maximum minimum fmax fmin
        """,
        NUMBERS,
    ),
    (
        """
        acos arccos acosh arccosh asin arcsin asinh arcsinh atan arctan atanh arctanh atan2 arctan2 cos cosh sin
        sinh sinc tan deg2rad rad2deg digamma lgamma mvlgamma polygamma erf erfc erfinv exp exp2 expm1 i0 log
        log10 log1p log2 logit xlogy logaddexp logaddexp2 ldexp hypot fmod remainder frac cumsum cumprod
        logcumsumexp diff renorm cov corrcoef copysign inner outer ger kron cross mm bmm matmul mv
        addmm addmv addr addbmm baddbmm addmm chain_matmul matrix_power cholesky cholesky_inverse cholesky_solve
        det logdet inverse pinverse ormqr orgqr lu_solve floor_divide logsumexp view_as_real view_as_complex
        conj conj_physical imag angle heaviside igamma igammac smm sspaddmm trapezoid vander block_diag
        cartesian_prod combinations
        """,
        OTHER,
    ),
    ("dist dot vdot trace", replace(OTHER, scalar=True)),
    ("floor ceil round trunc fix sign sgn", STEPS),
    # Reductions.
    ("mean nanmean", REDUCED),
    ("sum nansum prod std var norm quantile nanquantile", SUMMED),
    ("max min median nanmedian", EXTREME),
    ("amax amin", REDUCED),
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
        eq ne not_equal lt less le less_equal gt greater ge greater_equal isclose isfinite isinf isnan isneginf
        isposinf isreal isin logical_and logical_or logical_xor logical_not signbit bitwise_and bitwise_or
        bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
        """,
        TEST,
    ),
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
    ("int long short char byte bool", Function(graph=False)),
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
    ("copy_", Function(kind=Kind.UNKNOWN, in_place=True)),
    ("squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ tril_ triu_ as_strided_", Function(in_place=True)),
    ("sigmoid_", Function(kind=Kind.BOUNDED, in_place=True)),
    ("relu_ tanh_", Function(kind=Kind.HIDDEN, in_place=True)),
    ("floor_ ceil_ round_ trunc_ fix_ sign_ sgn_", replace(STEPS, in_place=True)),
    (
        """
        abs_ absolute_ neg_ negative_ add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ addcmul_
        addcdiv_ lerp_ clamp_ clamp_min_ clamp_max_ clip_ nan_to_num_ masked_fill_ masked_scatter_ scatter_
        scatter_add_ scatter_reduce_ index_add_ index_copy_ index_fill_ index_put_ index_reduce_ float_power_
        pow_ square_ sqrt_ rsqrt_ reciprocal_
        """,
        replace(NUMBERS, in_place=True),
    ),
    (
        """
        fill_diagonal_ floor_divide_ acos_ asin_ atan_ cos_ cosh_ sin_ sinh_ tan_ erf_ erfc_ erfinv_ exp_ exp2_
        expm1_ log_ log10_ log1p_ log2_ logit_ xlogy_ cumsum_ cumprod_ fmod_ remainder_ frac_ renorm_
        addmm_ addmv_ addr_ addbmm_ baddbmm_ atan2_ hypot_ digamma_ lgamma_
        """,
        replace(OTHER, in_place=True),
    ),
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

METHODS: dict[str, Function] = {
    **{name: function for name, function in BOTH.items() if name not in _NOT_METHODS},
    **_METHODS_ONLY,
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
