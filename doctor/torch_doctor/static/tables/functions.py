"""Functions of torch and methods of its tensors: what they return, what its numbers mean, whether it carries a graph.

Sources: https://docs.pytorch.org/docs/stable/: torch.html, nn.functional.html, tensors.html, special.html, linalg.html,
fft.html.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from torch_doctor.static.tables import words
from torch_doctor.trace.words import Kind, Source, Tri

Result: TypeAlias = Literal["tensor", "plain", "tuple", "none"]


@dataclass(frozen=True, slots=True)
class Function:
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

_KEPT = Function()  # moves numbers, selects them, averages them
_NUMBERS = Function(kind=Kind.UNKNOWN)  # arithmetic
_OTHER = Function(kind=Kind.UNKNOWN, loss=False)  # what comes out is no loss even if a loss goes in
_HIDDEN = Function(kind=Kind.HIDDEN)
_LOGITS = Function(kind=Kind.LOGITS)
_PROBABILITIES = Function(kind=Kind.PROBABILITIES)
_LOG_PROBABILITIES = Function(kind=Kind.LOG_PROBABILITIES)
_BOUNDED = Function(kind=Kind.BOUNDED)
_LOG_BOUNDED = Function(kind=Kind.LOG_BOUNDED)
_TEST = Function(kind=Kind.UNKNOWN, graph=False, loss=False)  # yes or no, elementwise or as a whole
_LABELS = Function(kind=Kind.LABELS, graph=False, loss=False)
_PLAIN = Function("plain", kind=Kind.UNKNOWN, graph=False, loss=False)
_NONE = Function("none", kind=Kind.UNKNOWN, graph=False, loss=False)
_TUPLE = Function("tuple")
_TUPLE_NUMBERS = Function("tuple", kind=Kind.UNKNOWN)
_REDUCED = Function(scalar=None, keeps_zeros=False)  # a mean of scores is a score, of losses a loss
_SUMMED = Function(kind=Kind.UNKNOWN, scalar=None)
_EXTREME = Function(scalar=None, with_dim="tuple", indices=True, keeps_zeros=False)
_TOP = Function("tuple", indices=True, keeps_zeros=False)
_DATA = Function(kind=Kind.UNKNOWN, graph=False, source=Source.DATA, loss=False)
_NOISE = Function(kind=Kind.NOISE, graph=False, source=Source.NOISE, loss=False)
_STEPS = Function(kind=Kind.UNKNOWN, zero_gradient=True)
_DRAWN = replace(_NOISE, graph=True, zero_gradient=True)
_OVERWRITTEN = replace(_DATA, graph=True, zero_gradient=True, in_place=True)


def _named(*groups: tuple[str, Function]) -> dict[str, Function]:
    return {name: function for names, function in groups for name in names.split()}


# As a function of torch, and as a method of a tensor
_BOTH = _named(
    # Numbers are moved or selected.
    (
        """
        adjoint clone contiguous diagonal diag diag_embed flatten flip fliplr flipud roll rot90 movedim moveaxis
        narrow permute ravel reshape resolve_conj squeeze swapaxes swapdims t take take_along_dim tile transpose
        tril triu unflatten unsqueeze select index_select gather broadcast_to repeat_interleave
        unfold_copy msort
        """,
        _KEPT,
    ),
    ("masked_select", replace(_KEPT, keeps_zeros=False)),
    ("chunk split unbind tensor_split hsplit vsplit dsplit split_with_sizes", _TUPLE),
    # Numbers are computed.
    (
        """
        abs absolute neg negative positive add sub subtract rsub mul multiply div divide true_divide addcmul
        addcdiv lerp clamp clamp_min clamp_max clip where nan_to_num masked_fill masked_scatter scatter
        scatter_add scatter_reduce index_add index_copy index_fill index_put index_reduce slice_scatter
        select_scatter diagonal_scatter float_power pow square sqrt rsqrt reciprocal maximum minimum fmax fmin
        """,
        _NUMBERS,
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
        _OTHER,
    ),
    ("dist dot vdot trace", replace(_OTHER, scalar=True)),
    ("floor ceil round trunc fix sign sgn", _STEPS),
    # Reductions.
    ("mean nanmean", _REDUCED),
    ("sum nansum prod std var norm quantile nanquantile", _SUMMED),
    ("max min median nanmedian", _EXTREME),
    ("amax amin", _REDUCED),
    ("mode kthvalue topk sort cummax cummin", _TOP),
    ("aminmax", _TUPLE),
    # Activations.
    ("softmax", _PROBABILITIES),
    ("log_softmax", _LOG_PROBABILITIES),
    ("sigmoid", _BOUNDED),
    ("relu tanh prelu hardshrink", _HIDDEN),
    # Answers without a graph.
    ("argmax argmin", replace(_LABELS, scalar=None)),
    ("argsort argwhere nonzero searchsorted bucketize", _LABELS),
    (
        """
        eq ne not_equal lt less le less_equal gt greater ge greater_equal isclose isfinite isinf isnan isneginf
        isposinf isreal isin logical_and logical_or logical_xor logical_not signbit bitwise_and bitwise_or
        bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
        """,
        _TEST,
    ),
    ("all any count_nonzero", replace(_TEST, scalar=None)),
    ("bincount histc", _TEST),
    ("allclose equal is_floating_point is_complex is_nonzero is_same_size is_conj is_neg is_inference numel", _PLAIN),
    ("result_type", _PLAIN),
    ("detach", Function(graph=False)),
    # Noise.
    ("bernoulli", _DRAWN),
    ("multinomial", replace(_LABELS, source=Source.NOISE)),
    # Decompositions.
    ("triangular_solve svd qr slogdet lu geqrf frexp", _TUPLE_NUMBERS),
    ("unique unique_consecutive", _KEPT),
)

_NOT_METHODS = frozenset(
    words(
        """
        block_diag cartesian_prod combinations chain_matmul trapezoid vander bucketize result_type searchsorted rsub
        unfold_copy isin imag view_as_real view_as_complex
        """
    )
)
_NOT_FUNCTIONS = frozenset({"contiguous"})

_METHODS_ONLY = _named(
    (
        """
        view view_as reshape_as expand expand_as repeat unfold type_as cpu cuda xpu to type float double half
        bfloat16 pin_memory coalesce to_dense to_sparse as_subclass sum_to_size as_strided cfloat
        """,
        _KEPT,
    ),
    ("int long short char byte bool", Function(graph=False)),
    ("item tolist numpy", _PLAIN),
    (
        """
        size stride dim ndimension nelement element_size data_ptr get_device is_contiguous is_pinned is_shared
        storage_offset
        """,
        _PLAIN,
    ),
    ("is_set_to __len__ __bool__ __int__ __float__ __index__ __str__ __format__ __repr__ __array__", _PLAIN),
    ("storage untyped_storage", _PLAIN),
    ("new_zeros new_ones new_empty new_full new_tensor new_empty_strided new", _DATA),
    ("requires_grad_ share_memory_", Function(in_place=True)),
    ("detach_", Function(graph=False, in_place=True)),
    ("retain_grad", _NONE),
    # In place: what the tensor meant before, it means no more.
    ("zero_ fill_", _OVERWRITTEN),
    ("set_ resize_ resize_as_", replace(_DATA, in_place=True)),
    ("normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ log_normal_ geometric_", replace(_DRAWN, in_place=True)),
    ("copy_", Function(kind=Kind.UNKNOWN, in_place=True)),
    ("squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ tril_ triu_ as_strided_", Function(in_place=True)),
    ("sigmoid_", Function(kind=Kind.BOUNDED, in_place=True)),
    ("relu_ tanh_", Function(kind=Kind.HIDDEN, in_place=True)),
    ("floor_ ceil_ round_ trunc_ fix_ sign_ sgn_", replace(_STEPS, in_place=True)),
    (
        """
        abs_ absolute_ neg_ negative_ add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ addcmul_
        addcdiv_ lerp_ clamp_ clamp_min_ clamp_max_ clip_ nan_to_num_ masked_fill_ masked_scatter_ scatter_
        scatter_add_ scatter_reduce_ index_add_ index_copy_ index_fill_ index_put_ index_reduce_ float_power_
        pow_ square_ sqrt_ rsqrt_ reciprocal_
        """,
        replace(_NUMBERS, in_place=True),
    ),
    (
        """
        fill_diagonal_ floor_divide_ acos_ asin_ atan_ cos_ cosh_ sin_ sinh_ tan_ erf_ erfc_ erfinv_ exp_ exp2_
        expm1_ log_ log10_ log1p_ log2_ logit_ xlogy_ cumsum_ cumprod_ fmod_ remainder_ frac_ renorm_
        addmm_ addmv_ addr_ addbmm_ baddbmm_ atan2_ hypot_ digamma_ lgamma_
        """,
        replace(_OTHER, in_place=True),
    ),
    (
        """
        eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_xor_ logical_not_ bitwise_and_ bitwise_or_
        bitwise_xor_ bitwise_not_
        """,
        replace(_OVERWRITTEN, source=None),
    ),
    ("register_hook register_post_accumulate_grad_hook", _PLAIN),
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
PRODUCTS = frozenset(words("mul multiply div divide true_divide"))
"""Functions and methods that multiply or divide, without what stands in front and the underscore at the end."""

METHODS: dict[str, Function] = {
    **{name: function for name, function in _BOTH.items() if name not in _NOT_METHODS},
    **_METHODS_ONLY,
}
"""Methods of a tensor by their bare names; backward, and what reads a shape, are the witness's own."""

ATTRIBUTES: dict[str, Function] = {
    **_named(
        ("T mT H mH real", _KEPT),
        ("imag", _OTHER),
        ("data", Function(graph=False)),
        ("grad", Function(kind=Kind.UNKNOWN, graph=False, loss=False)),
        ("shape dtype device ndim layout itemsize nbytes output_nr", _PLAIN),
        (
            "requires_grad is_leaf is_cuda is_cpu is_sparse is_quantized is_meta is_mps is_xpu retains_grad grad_fn",
            _PLAIN,
        ),
    ),
}
"""Attributes of a tensor."""

_TORCH_ONLY = _named(
    ("cat stack hstack vstack dstack column_stack row_stack as_strided", _KEPT),
    ("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bilinear", _LOGITS),
    ("einsum tensordot cdist cosine_similarity pairwise_distance bilinear threshold", _OTHER),
    ("stft istft complex polar cumulative_trapezoid", _OTHER),
    ("batch_norm layer_norm group_norm instance_norm rms_norm", _LOGITS),
    ("embedding celu selu rrelu hardshrink relu_ selu_ celu_ rrelu_", _HIDDEN),
    ("dropout feature_dropout alpha_dropout feature_alpha_dropout dropout_", _KEPT),
    (
        "pixel_shuffle pixel_unshuffle channel_shuffle avg_pool1d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d",
        _KEPT,
    ),
    ("std_mean var_mean", _TUPLE_NUMBERS),
    ("meshgrid broadcast_tensors", _TUPLE),
    ("atleast_1d atleast_2d atleast_3d", _KEPT),  # of several tensors: a tuple
    (
        """
        tensor from_numpy zeros ones empty full arange range linspace logspace eye zeros_like
        ones_like empty_like full_like tril_indices triu_indices frombuffer from_file scalar_tensor
        sparse_coo_tensor sparse_csr_tensor empty_strided hann_window hamming_window blackman_window
        bartlett_window kaiser_window from_dlpack
        """,
        _DATA,
    ),
    ("get_rng_state", _DATA),
    (
        "as_tensor asarray Tensor FloatTensor DoubleTensor HalfTensor",
        replace(_DATA, kind=None, graph=True),
    ),  # of a tensor: that tensor
    ("unravel_index", replace(_LABELS, result="tuple")),
    ("randn rand randint randn_like rand_like randint_like", _NOISE),
    ("normal poisson", _DRAWN),
    ("randperm", replace(_LABELS, source=Source.NOISE)),
    ("is_tensor is_storage is_grad_enabled is_inference_mode_enabled is_autocast_enabled get_default_dtype", _PLAIN),
    (
        "initial_seed manual_seed seed get_num_threads finfo iinfo Size device dtype Generator promote_types can_cast",
        _PLAIN,
    ),
    ("get_default_device get_float32_matmul_precision are_deterministic_algorithms_enabled broadcast_shapes", _PLAIN),
    (
        """
        set_rng_state set_num_threads set_default_dtype set_default_device set_default_tensor_type
        set_printoptions set_float32_matmul_precision use_deterministic_algorithms set_num_interop_threads
        set_flush_denormal set_warn_always
        """,
        _NONE,
    ),
    ("LongTensor IntTensor ShortTensor ByteTensor BoolTensor", _DATA),
)

# https://docs.pytorch.org/docs/stable/nn.functional.html, losses apart
_FUNCTIONAL = _named(
    ("softmax softmin gumbel_softmax", _PROBABILITIES),
    ("log_softmax", _LOG_PROBABILITIES),
    ("sigmoid hardsigmoid", _BOUNDED),
    ("logsigmoid", _LOG_BOUNDED),
    (
        """
        relu relu6 elu selu celu leaky_relu prelu rrelu glu gelu silu mish softplus softsign tanh tanhshrink
        hardshrink softshrink hardswish embedding embedding_bag local_response_norm lp_pool1d lp_pool2d
        lp_pool3d
        """,
        _HIDDEN,
    ),
    ("relu_ elu_ selu_ celu_ leaky_relu_ rrelu_", Function(kind=Kind.HIDDEN, in_place=True)),
    (
        "hardtanh threshold normalize cosine_similarity pairwise_distance pdist fold scaled_dot_product_attention",
        _OTHER,
    ),
    ("hardtanh_ threshold_", replace(_OTHER, in_place=True)),
    ("linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", _LOGITS),
    ("batch_norm instance_norm layer_norm group_norm rms_norm", _LOGITS),
    ("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout", _KEPT),
    ("pad interpolate upsample upsample_nearest upsample_bilinear grid_sample unfold", _KEPT),
    ("pixel_shuffle pixel_unshuffle channel_shuffle", _KEPT),
    ("avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d", _KEPT),
    ("max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", _KEPT),
    ("fractional_max_pool2d fractional_max_pool3d max_unpool1d max_unpool2d max_unpool3d", _KEPT),
    ("max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices", _TOP),
    ("affine_grid", _OTHER),
    ("one_hot", _TEST),
    ("multi_head_attention_forward", Function("tuple", kind=Kind.LOGITS)),
)

_ELSEWHERE = {
    # special.html
    **{
        f"torch.special.{name}": _OTHER
        for name in words(
            "entr erfc erfcx erfinv gammaln digamma psi logit xlogy xlog1py zeta i0 i0e i1 i1e ndtr ndtri sinc"
        )
    },
    "torch.special.log_ndtr": _OTHER,
    # linalg.html
    **{
        f"torch.linalg.{name}": _OTHER
        for name in words(
            """
            inv pinv det cholesky solve matmul multi_dot matrix_exp matrix_power cross vecdot diagonal svdvals
            eigvalsh eigvals cond lu_solve solve_triangular householder_product tensorinv tensorsolve
            """
        )
    },
    **{
        f"torch.linalg.{name}": _TUPLE_NUMBERS
        for name in words("svd qr eig eigh slogdet lstsq lu lu_factor ldl_factor")
    },
    **{f"torch.linalg.{name}": _SUMMED for name in ("norm", "vector_norm")},
    "torch.linalg.matrix_norm": _OTHER,
    "torch.linalg.matrix_rank": _TEST,
    # fft.html
    **{
        f"torch.fft.{name}": _OTHER
        for name in words("fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft")
    },
    **{f"torch.fft.{name}": _KEPT for name in ("fftshift", "ifftshift")},
    **{f"torch.fft.{name}": _DATA for name in ("fftfreq", "rfftfreq")},
    # nn.html#utilities
    "torch.nn.utils.rnn.pad_sequence": _KEPT,
    "torch.nn.utils.rnn.pack_padded_sequence": _KEPT,
    "torch.nn.utils.rnn.pack_sequence": _KEPT,
    "torch.nn.utils.rnn.pad_packed_sequence": _TUPLE,
    "torch.nn.utils.parameters_to_vector": _OTHER,
    # A Variable is the tensor itself, without its graph (tried on torch 2.13).
    "torch.autograd.Variable": Function(graph=False),
    "torch.clip_": replace(_NUMBERS, in_place=True),
    # vision/stable/ops.html
    **{f"torchvision.ops.{name}": _LABELS for name in ("nms", "batched_nms")},
    **{
        f"torchvision.ops.{name}": _OTHER
        for name in ("box_iou", "generalized_box_iou", "box_convert", "roi_align", "roi_pool")
    },
    # https://einops.rocks
    "einops.rearrange": _KEPT,
    "einops.repeat": _KEPT,
    "einops.reduce": _OTHER,
    "einops.einsum": _OTHER,
}

FUNCTIONS: dict[str, Function] = {
    **{f"torch.{name}": function for name, function in _BOTH.items() if name not in _NOT_FUNCTIONS},
    **{f"torch.{name}": function for name, function in _TORCH_ONLY.items()},
    **{f"torch.nn.functional.{name}": function for name, function in _FUNCTIONAL.items()},
    **_ELSEWHERE,
}
"""Functions by canonical name."""
