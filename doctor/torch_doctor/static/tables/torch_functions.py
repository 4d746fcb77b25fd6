"""What functions return, those of torch and some of libraries close to it.

Sources: https://docs.pytorch.org/docs/stable/: torch.html, nn.functional.html, special.html, linalg.html, fft.html.
"""

from __future__ import annotations

from msgspec.structs import replace

from torch_doctor.static import libraries
from torch_doctor.static.tables import words
from torch_doctor.static.tables.function import (
    BOUNDED,
    DATA,
    DRAWN,
    HIDDEN,
    KEPT,
    LABELS,
    LOG_BOUNDED,
    LOG_PROBABILITIES,
    LOGITS,
    NOISE,
    NONE,
    OTHER,
    PLAIN,
    PROBABILITIES,
    PRODUCT,
    SPREAD,
    TEST,
    TOP,
    TUPLE,
    TUPLE_NUMBERS,
    Function,
    named,
)
from torch_doctor.static.tables.functions import BOTH, NOT_FUNCTIONS
from torch_doctor.trace.words import Kind, Source

_TORCH_ONLY = named(
    ("cat stack hstack vstack dstack column_stack row_stack as_strided", KEPT),
    ("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bilinear", LOGITS),
    ("einsum tensordot", PRODUCT),
    ("cdist cosine_similarity pairwise_distance bilinear threshold", OTHER),
    ("stft istft complex polar cumulative_trapezoid", OTHER),
    ("batch_norm layer_norm group_norm instance_norm rms_norm", LOGITS),
    ("embedding celu selu rrelu hardshrink relu_ selu_ celu_ rrelu_", HIDDEN),
    ("dropout feature_dropout alpha_dropout feature_alpha_dropout dropout_", KEPT),
    (
        "pixel_shuffle pixel_unshuffle channel_shuffle avg_pool1d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d",
        KEPT,
    ),
    ("std_mean var_mean", TUPLE_NUMBERS),
    ("meshgrid broadcast_tensors", TUPLE),
    ("atleast_1d atleast_2d atleast_3d", KEPT),  # of several tensors: a tuple
    (
        """
        tensor from_numpy zeros ones empty full arange range linspace logspace eye zeros_like
        ones_like empty_like full_like tril_indices triu_indices frombuffer from_file scalar_tensor
        sparse_coo_tensor sparse_csr_tensor empty_strided hann_window hamming_window blackman_window
        bartlett_window kaiser_window from_dlpack
        """,
        DATA,
    ),
    ("get_rng_state", DATA),
    (
        "as_tensor asarray Tensor FloatTensor DoubleTensor HalfTensor",
        replace(DATA, kind=None, graph=True),
    ),  # of a tensor: that tensor
    ("unravel_index", replace(LABELS, result="tuple")),
    ("randn rand randint randn_like rand_like randint_like", NOISE),
    ("normal poisson", DRAWN),
    ("randperm", replace(LABELS, source=Source.NOISE)),
    ("is_tensor is_storage is_grad_enabled is_inference_mode_enabled is_autocast_enabled get_default_dtype", PLAIN),
    (
        "initial_seed manual_seed seed get_num_threads finfo iinfo Size device dtype Generator promote_types can_cast",
        PLAIN,
    ),
    ("get_default_device get_float32_matmul_precision are_deterministic_algorithms_enabled broadcast_shapes", PLAIN),
    (
        """
        set_rng_state set_num_threads set_default_dtype set_default_device set_default_tensor_type
        set_printoptions set_float32_matmul_precision use_deterministic_algorithms set_num_interop_threads
        set_flush_denormal set_warn_always
        """,
        NONE,
    ),
    ("LongTensor IntTensor ShortTensor ByteTensor BoolTensor", DATA),
)

# https://docs.pytorch.org/docs/stable/nn.functional.html, losses apart
_FUNCTIONAL = named(
    ("softmax softmin gumbel_softmax", PROBABILITIES),
    ("log_softmax", LOG_PROBABILITIES),
    ("sigmoid hardsigmoid", BOUNDED),
    ("logsigmoid", LOG_BOUNDED),
    (
        """
        relu relu6 elu selu celu leaky_relu prelu rrelu glu gelu silu mish softplus softsign tanh tanhshrink
        hardshrink softshrink hardswish embedding embedding_bag local_response_norm lp_pool1d lp_pool2d
        lp_pool3d
        """,
        HIDDEN,
    ),
    ("relu_ elu_ selu_ celu_ leaky_relu_ rrelu_", Function(kind=Kind.HIDDEN, in_place=True)),
    (
        "hardtanh threshold normalize cosine_similarity pairwise_distance pdist fold scaled_dot_product_attention",
        OTHER,
    ),
    ("hardtanh_ threshold_", replace(OTHER, in_place=True)),
    ("linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", LOGITS),
    ("batch_norm instance_norm layer_norm group_norm rms_norm", LOGITS),
    ("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout", KEPT),
    ("pad interpolate upsample upsample_nearest upsample_bilinear grid_sample unfold", KEPT),
    ("pixel_shuffle pixel_unshuffle channel_shuffle", KEPT),
    ("avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d", KEPT),
    ("max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", KEPT),
    ("fractional_max_pool2d fractional_max_pool3d max_unpool1d max_unpool2d max_unpool3d", KEPT),
    ("max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices", TOP),
    ("affine_grid", OTHER),
    ("one_hot", TEST),
    ("multi_head_attention_forward", Function("tuple", kind=Kind.LOGITS)),
)

_ELSEWHERE = {
    # special.html
    **{
        f"torch.special.{name}": OTHER
        for name in words(
            "entr erfc erfcx erfinv gammaln digamma psi logit xlogy xlog1py zeta i0 i0e i1 i1e ndtr ndtri sinc"
        )
    },
    "torch.special.log_ndtr": OTHER,
    # linalg.html
    **{
        f"torch.linalg.{name}": OTHER
        for name in words(
            """
            inv pinv det cholesky solve matrix_exp matrix_power cross vecdot diagonal svdvals
            eigvalsh eigvals cond lu_solve solve_triangular householder_product tensorinv tensorsolve
            """
        )
    },
    **{
        f"torch.linalg.{name}": TUPLE_NUMBERS for name in words("svd qr eig eigh slogdet lstsq lu lu_factor ldl_factor")
    },
    **{f"torch.linalg.{name}": SPREAD for name in ("norm", "vector_norm")},
    **{f"torch.linalg.{name}": PRODUCT for name in ("matmul", "multi_dot")},
    **dict.fromkeys(("torch.spmm", "torch.dsmm", "torch.sparse.mm"), PRODUCT),
    "torch.linalg.matrix_norm": OTHER,
    "torch.linalg.matrix_rank": TEST,
    # fft.html
    **{
        f"torch.fft.{name}": OTHER
        for name in words("fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft")
    },
    **{f"torch.fft.{name}": KEPT for name in ("fftshift", "ifftshift")},
    **{f"torch.fft.{name}": DATA for name in ("fftfreq", "rfftfreq")},
    # nn.html#utilities
    "torch.nn.utils.rnn.pad_sequence": KEPT,
    "torch.nn.utils.rnn.pack_padded_sequence": KEPT,
    "torch.nn.utils.rnn.pack_sequence": KEPT,
    "torch.nn.utils.rnn.pad_packed_sequence": TUPLE,
    "torch.nn.utils.parameters_to_vector": OTHER,
    # A Variable is the tensor itself, without its graph (tried on torch 2.13):
    # https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated
    "torch.autograd.Variable": Function(graph=False),
    "torch.clip_": replace(BOTH["clip"], in_place=True),
}

FUNCTIONS: dict[str, Function] = {
    **{f"torch.{name}": function for name, function in BOTH.items() if name not in NOT_FUNCTIONS},
    **{f"torch.{name}": function for name, function in _TORCH_ONLY.items()},
    **{f"torch.nn.functional.{name}": function for name, function in _FUNCTIONAL.items()},
    **_ELSEWHERE,
    **libraries.table(lambda library: library.functions),
}
"""Functions by canonical name."""
