"""The tables of functions, methods and attributes against torch itself: every entry that can be called is called."""

from __future__ import annotations

import importlib
import itertools
import math
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from torch_doctor.static.tables.functions import ATTRIBUTES, EXP_OF, LOG_OF, METHODS
from torch_doctor.static.tables.torch_functions import FUNCTIONS
from torch_doctor.trace.words import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.tables.function import Function

Arguments: TypeAlias = tuple[object, ...]

pytestmark = pytest.mark.filterwarnings("ignore")

IN_TORCH = sorted(name for name in FUNCTIONS if name.startswith("torch."))
# Called with side effects that outlive a test, or with nothing that a test could give.
UNTRIED_FUNCTIONS = frozenset(
    {
        *(
            "torch.set_num_interop_threads",
            "torch.set_default_tensor_type",
            "torch.set_default_device",
            "torch.from_file",
        ),
        "torch.frombuffer",  # takes its dtype by name only
        "torch.linalg.solve_triangular",  # takes upper by name only
        *("torch.set_num_threads", "torch.set_flush_denormal", "torch.use_deterministic_algorithms"),
        *("torch.set_default_dtype", "torch.set_warn_always", "torch.set_printoptions"),
    }
)
UNTRIED_METHODS = frozenset(
    {"cuda", "xpu", "pin_memory", "share_memory_", "is_pinned", "as_subclass", "__array__", "set_"}
)


def _tensor(*shape: int) -> torch.Tensor:
    """Numbers within (0, 1), with a graph; not a leaf, so that they may change in place."""
    leaf = torch.rand(shape, requires_grad=True)
    return leaf * 0.8 + 0.1


def _square() -> torch.Tensor:
    return _tensor(4, 4) + torch.eye(4) * 4


def _whole(*shape: int) -> torch.Tensor:
    return torch.arange(math.prod(shape)).reshape(shape) % 4


# Argument lists by name; of a method the first is the tensor itself.
SAMPLES: dict[str, Callable[[], Arguments]] = {
    "max": lambda: (_tensor(4, 4),),
    "to": lambda: (_tensor(4, 4), torch.float64),
    "type": lambda: (_tensor(4, 4), torch.float64),
    "einsum": lambda: ("ij,jk->ik", _tensor(4, 4), _tensor(4, 4)),
    "where": lambda: (_tensor(4, 4) > 0, _tensor(4, 4), _tensor(4, 4)),
    "one_hot": lambda: (_whole(4), 4),
    "bincount": lambda: (_whole(4),),
    "quantile": lambda: (_tensor(4, 4), 0.5),
    "nanquantile": lambda: (_tensor(4, 4), 0.5),
    "index_select": lambda: (_tensor(4, 4), 0, _whole(2)),
    "index_add": lambda: (_tensor(4, 4), 0, _whole(4), _tensor(4, 4)),
    "index_copy": lambda: (_tensor(4, 4), 0, _whole(4), _tensor(4, 4)),
    "index_fill": lambda: (_tensor(4, 4), 0, _whole(4), 0.5),
    "index_put": lambda: (_tensor(4, 4), (_whole(4),), _tensor(4, 4)),
    "index_reduce": lambda: (_tensor(4, 4), 0, _whole(4), _tensor(4, 4), "mean"),
    "gather": lambda: (_tensor(4, 4), 0, _whole(4, 4)),
    "take": lambda: (_tensor(4, 4), _whole(4)),
    "take_along_dim": lambda: (_tensor(4, 4), _whole(4, 4), 0),
    "scatter": lambda: (_tensor(4, 4), 0, _whole(4, 4), _tensor(4, 4)),
    "scatter_add": lambda: (_tensor(4, 4), 0, _whole(4, 4), _tensor(4, 4)),
    "scatter_reduce": lambda: (_tensor(4, 4), 0, _whole(4, 4), _tensor(4, 4), "sum"),
    "select_scatter": lambda: (_tensor(4, 4), _tensor(4), 0, 1),
    "slice_scatter": lambda: (_tensor(4, 4), _tensor(4, 4)),
    "diagonal_scatter": lambda: (_tensor(4, 4), _tensor(4)),
    "masked_select": lambda: (_tensor(4, 4), _tensor(4, 4) > 0),
    "masked_fill": lambda: (_tensor(4, 4), _tensor(4, 4) > 0, 0.5),
    "masked_scatter": lambda: (_tensor(4, 4), _tensor(4, 4) > 0, _tensor(4, 4)),
    "renorm": lambda: (_tensor(4, 4), 2.0, 0, 1.0),
    "embedding": lambda: (_tensor(4, 4), _whole(4)),
    "F.embedding": lambda: (_whole(4), _tensor(4, 4)),
    "F.embedding_bag": lambda: (_whole(2, 4), _tensor(4, 4)),
    "unflatten": lambda: (_tensor(4, 4), 0, (2, 2)),
    "prelu": lambda: (_tensor(4, 4), torch.tensor([0.25])),
    "F.prelu": lambda: (_tensor(4, 4), torch.tensor([0.25])),
    "svd": lambda: (_square(),),
    "lu_solve": lambda: (_tensor(4, 2), *torch.linalg.lu_factor(_square())),
    "linalg.lu_solve": lambda: (*torch.linalg.lu_factor(_square()), _tensor(4, 2)),
    "linalg.ldl_factor": lambda: (_square() + _square().T,),
    "linalg.multi_dot": lambda: ([_tensor(4, 4), _tensor(4, 4)],),
    "linalg.cross": lambda: (_tensor(4, 3), _tensor(4, 3)),
    "linalg.tensorinv": lambda: (_square().reshape(2, 2, 4),),
    "polygamma": lambda: (1, _tensor(4)),
    "cross": lambda: (_tensor(4, 3), _tensor(4, 3), 1),
    "new_full": lambda: (_tensor(4), (4, 4), 0.5),
    "float_power_": lambda: (_tensor(4).double(), 2),
    "triangular_solve": lambda: (_tensor(4, 2), _square().triu()),
    "F.linear": lambda: (_tensor(4, 4), _tensor(2, 4)),
    "F.bilinear": lambda: (_tensor(4, 4), _tensor(4, 4), _tensor(2, 4, 4)),
    "F.fold": lambda: (_tensor(1, 4, 1), (2, 2), (2, 2)),
    "F.unfold": lambda: (_tensor(1, 4, 4, 4), 2),
    "F.affine_grid": lambda: (_tensor(1, 2, 3), (1, 1, 4, 4)),
    "F.grid_sample": lambda: (_tensor(1, 1, 4, 4), _tensor(1, 4, 4, 2)),
    "F.scaled_dot_product_attention": lambda: (_tensor(1, 4, 4),) * 3,
    "F.local_response_norm": lambda: (_tensor(1, 4, 4), 2),
    "batch_norm": lambda: (_tensor(4, 4), None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5, False),
    "instance_norm": lambda: (_tensor(2, 4, 4), None, None, None, None, True, 0.1, 1e-5, False),
    "F.batch_norm": lambda: (_tensor(4, 4), torch.zeros(4), torch.ones(4)),
    "F.instance_norm": lambda: (_tensor(2, 4, 4),),
    "layer_norm": lambda: (_tensor(4, 4), (4,)),
    "rms_norm": lambda: (_tensor(4, 4), (4,)),
    "group_norm": lambda: (_tensor(4, 4), 2),
    "multi_head_attention_forward": lambda: (
        *(
            _tensor(3, 2, 4),
            _tensor(3, 2, 4),
            _tensor(3, 2, 4),
            4,
            2,
            _tensor(12, 4),
            torch.zeros(12),
            None,
            None,
            False,
            0.0,
        ),
        *(_tensor(4, 4), torch.zeros(4)),
    ),
    "from_numpy": lambda: (_whole(4).numpy(),),
    "from_dlpack": lambda: (torch.zeros(4),),
    "sparse_coo_tensor": lambda: ([[0, 1], [1, 0]], [1.0, 2.0]),
    "sparse_csr_tensor": lambda: ([0, 1, 2], [0, 1], [1.0, 2.0]),
    "empty_strided": lambda: ((4, 4), (4, 1)),
    "new_empty_strided": lambda: (_tensor(4), (4, 4), (4, 1)),
    "as_strided": lambda: (_tensor(4, 4), (2, 2), (1, 2)),
    "stft": lambda: (_tensor(16), 4, None, None, None, True, "reflect", False, True, True),
    "istft": lambda: (torch.stft(_tensor(16), 4, return_complex=True), 4),
    "complex": lambda: (_tensor(4), _tensor(4)),
    "polar": lambda: (_tensor(4), _tensor(4)),
    "view_as_complex": lambda: (_tensor(4, 2),),
    "view_as_real": lambda: (torch.complex(_tensor(4), _tensor(4)),),
    "view_as": lambda: (_tensor(4, 4), _tensor(16)),
    "imag": lambda: (torch.complex(_tensor(4), _tensor(4)),),
    "can_cast": lambda: (torch.float32, torch.float64),
    "promote_types": lambda: (torch.float32, torch.float64),
    "result_type": lambda: (_tensor(4), 1),
    "set_rng_state": lambda: (torch.get_rng_state(),),
    "set_float32_matmul_precision": lambda: ("highest",),
    "broadcast_shapes": lambda: ((4, 1), (1, 4)),
    "is_set_to": lambda: (_tensor(4), _tensor(4)),
    "iinfo": lambda: (torch.int32,),
    "finfo": lambda: (torch.float32,),
    "device": lambda: ("cpu",),
    "dtype": lambda: (),
    "meshgrid": lambda: (_tensor(4), _tensor(4)),
    "unravel_index": lambda: (_whole(4), (4, 4)),
    "cartesian_prod": lambda: (_tensor(4), _tensor(4)),
    "numpy": lambda: (_tensor(4).detach(),),
    "register_hook": lambda: (_tensor(4), print),
    "register_post_accumulate_grad_hook": lambda: (torch.zeros(4, requires_grad=True), print),
    "item": lambda: (_tensor(1),),
    "__bool__": lambda: (_tensor(1),),
    "__int__": lambda: (_tensor(1),),
    "__index__": lambda: (torch.tensor(1),),
    "__float__": lambda: (_tensor(1),),
    "__format__": lambda: (_tensor(1).detach(), ""),
    "is_nonzero": lambda: (_tensor(1),),
    "untyped_storage": lambda: (_tensor(4),),
    "coalesce": lambda: (torch.eye(4).to_sparse(),),
    "smm": lambda: (torch.eye(4).to_sparse(), _tensor(4, 4)),
    "sspaddmm": lambda: (torch.eye(4).to_sparse(), torch.eye(4).to_sparse(), _tensor(4, 4)),
    "chain_matmul": lambda: (_tensor(4, 4), _tensor(4, 4)),
    "tensor": lambda: ([1.0, 2.0],),
    "scalar_tensor": lambda: (1.0,),
    "max_unpool1d": lambda: (*F.max_pool1d(_tensor(1, 4, 4), 2, return_indices=True), 2),
    "max_unpool2d": lambda: (*F.max_pool2d(_tensor(1, 4, 4, 4), 2, return_indices=True), 2),
    "max_unpool3d": lambda: (*F.max_pool3d(_tensor(1, 4, 4, 4, 4), 2, return_indices=True), 2),
    "fractional_max_pool2d": lambda: (_tensor(1, 4, 6, 6), 2, 3),
    "fractional_max_pool3d": lambda: (_tensor(1, 4, 6, 6, 6), 2, 3),
    "pack_padded_sequence": lambda: (_tensor(4, 2, 4), torch.tensor([4, 3])),
    "pack_sequence": lambda: ([_tensor(4, 4), _tensor(3, 4)],),
    "pad_sequence": lambda: ([_tensor(4, 4), _tensor(3, 4)],),
    "pad_packed_sequence": lambda: (torch.nn.utils.rnn.pack_sequence([_tensor(4, 4), _tensor(3, 4)]),),
    "parameters_to_vector": lambda: ([_tensor(4, 4), _tensor(3, 4)],),
    "ormqr": lambda: (*torch.geqrf(_tensor(4, 4)), _tensor(4, 4)),
    "orgqr": lambda: torch.geqrf(_tensor(4, 4)),
    "householder_product": lambda: torch.geqrf(_tensor(4, 4)),
    "isin": lambda: (_whole(4).float(), _tensor(4).detach()),
    "resize_": lambda: (torch.zeros(4), 2),
    "resize_as_": lambda: (torch.zeros(4), torch.zeros(2)),
    "detach_": lambda: (_tensor(4, 4),),
    "requires_grad_": lambda: (_tensor(4, 4),),
    "bucketize": lambda: (_tensor(4), torch.arange(4.0)),
    "searchsorted": lambda: (torch.arange(4.0), _tensor(4)),
    "arange": lambda: (4,),
    "range": lambda: (0, 4),
    "full": lambda: ((4, 4), 0.5),
    "cumulative_trapezoid": lambda: (_tensor(4, 4),),
    "fftfreq": lambda: (4,),
    "rfftfreq": lambda: (4,),
    "Generator": lambda: (),
    "Size": lambda: ([4],),
    "Variable": lambda: (_tensor(4),),
    "swapdims": lambda: (_tensor(4, 4), 0, 1),
    "clone": lambda: (_tensor(4, 4),),
    "new": lambda: (_tensor(4),),
    "__len__": lambda: (_tensor(4),),
}
METHOD_SAMPLES = frozenset({"where", "polygamma"})
SAMPLES["x.where"] = lambda: (_tensor(4), _tensor(4) > 0, _tensor(4))
SAMPLES["x.polygamma"] = lambda: (_tensor(4), 1)
SAMPLES["index_put_"] = SAMPLES["index_put"]
for _name in ("add", "copy", "fill", "reduce"):
    SAMPLES[f"index_{_name}_"] = SAMPLES[f"index_{_name}"]
for _name in ("scatter", "scatter_add", "scatter_reduce", "masked_fill", "masked_scatter", "renorm"):
    SAMPLES[f"{_name}_"] = SAMPLES[_name]


def _same(value: object) -> object:
    return value


def _guesses() -> list[Callable[[], Arguments]]:
    """Argument lists to try, the simple ones first."""
    four: list[Callable[[], object]] = [
        lambda: _tensor(4, 4),
        lambda: _tensor(4),
        lambda: _tensor(4, 4, 4),
        _square,
        lambda: _whole(4, 4),
        lambda: _whole(4),
        lambda: _tensor(4, 4) > 0.5,
    ]
    others: list[Callable[[], object]] = [
        *four,
        *(partial(_same, value) for value in (0, 1, 2, -1, 0.5, (4, 4), (0, 1), [4, 4], [2, 2], torch.float32)),
    ]
    images: list[Callable[[], object]] = [partial(_tensor, 1, 4, *(4,) * n) for n in (1, 2, 3)]
    kernels: list[Callable[[], object]] = [partial(_tensor, 4, 4, *(2,) * n) for n in (1, 2, 3)]
    windows: list[Callable[[], object]] = [lambda: 2, lambda: (1, 1), lambda: (2,)]
    numbers: list[Arguments] = [([4, 4],), (4,), (2, 2), (), (0.0, 1.0, 4), (0, 4, (4, 4)), (4, (4, 4))]
    made: list[tuple[Callable[[], object], ...]] = [
        *((first,) for first in four),
        *itertools.product(four, others),
        (lambda: [_tensor(4, 4), _tensor(4, 4)],),
        *((first, second, second) for first, second in itertools.product(four, others)),
        *itertools.product(images, windows),
        *zip(images, kernels, strict=True),
        *((image, lambda: 2.0, lambda: 2) for image in images),
        (four[0], lambda: 0.5, lambda: True),
        (four[0], lambda: 0, lambda: 0, lambda: 1),
        (four[0], lambda: 0, lambda: 2, lambda: 1),
        (four[0], four[0], four[1]),
        (four[1], four[0], four[1]),
        (four[0], *(partial(_tensor, 2, 4, 4),) * 2),
        (partial(_tensor, 2, 4, 4),) * 3,
    ]
    return [
        *(partial(_made, makers) for makers in made),
        *(partial(tuple, given) for given in numbers),
    ]


def _made(makers: tuple[Callable[[], object], ...]) -> Arguments:
    return tuple(make() for make in makers)


GUESSES = _guesses()


def _called(call: Callable[..., object], *keys: str) -> tuple[Arguments, object]:
    torch.manual_seed(0)
    for key in keys:
        if key in SAMPLES:
            given = SAMPLES[key]()
            return given, call(*given)
    for guess in GUESSES:
        given = guess()
        try:
            return given, call(*given)
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, AssertionError, NotImplementedError):
            continue
    pytest.fail(f"nothing to call {keys[0]} with")


def _found(name: str) -> Callable[..., object]:
    module, _, last = name.rpartition(".")
    found: Callable[..., object] = getattr(importlib.import_module(module), last)
    return found


def _tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return [value.data]
    if isinstance(value, (tuple, list)):
        return list(itertools.chain.from_iterable(map(_tensors, value)))
    return []


def _agrees(function: Function, given: Arguments, out: object) -> None:
    """Compare what is declared with one call."""
    tensors = _tensors(out)
    assert _is(function.result, out)
    assert out is given[0] if function.in_place else True
    fed = any(tensor.requires_grad for tensor in _tensors(given))
    if not function.graph:
        assert not any(tensor.requires_grad for tensor in tensors)
    elif fed and not function.in_place:
        assert any(tensor.requires_grad for tensor in tensors)
        if function.indices and function.result == "tuple":
            assert not tensors[-1].requires_grad
            assert not tensors[-1].is_floating_point()
        if function.zero_gradient:
            first = _tensors(given)[0]
            gradients: tuple[torch.Tensor | None, ...] = torch.autograd.grad(tensors[0].sum(), first, allow_unused=True)
            assert not any(gradient.any() for gradient in gradients if gradient is not None)
    if function.scalar is not False:
        assert all(tensor.ndim == 0 for tensor in tensors)


def _is(result: str, out: object) -> bool:
    match result:
        case "plain":
            return out is not None and not _tensors(out)
        case "none":
            return out is None
        case "tensor":
            return isinstance(out, (torch.Tensor, torch.nn.utils.rnn.PackedSequence))
        case _:
            return isinstance(out, (tuple, list))


@pytest.mark.parametrize("name", [name for name in IN_TORCH if name not in UNTRIED_FUNCTIONS])
def test_functions(name: str) -> None:
    call = _found(name)
    last = name.rpartition(".")[2]
    short = name.removeprefix("torch.").replace("nn.functional.", "F.")
    if name == "torch.dtype":
        return
    given, out = _called(call, short, last)
    _agrees(FUNCTIONS[name], given, out)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - UNTRIED_METHODS))
def test_methods(name: str) -> None:
    def call(*given: object) -> object:
        assert isinstance(given[0], torch.Tensor)
        return getattr(given[0], name)(*given[1:])

    given, out = _called(call, name) if name not in METHOD_SAMPLES else _called(call, f"x.{name}")
    _agrees(METHODS[name], given, out)


@pytest.mark.parametrize("name", sorted(UNTRIED_METHODS))
def test_untried_methods_exist(name: str) -> None:
    assert hasattr(torch.Tensor, name)


@pytest.mark.parametrize("name", sorted(UNTRIED_FUNCTIONS))
def test_untried_functions_exist(name: str) -> None:
    assert callable(_found(name))


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_attributes(name: str) -> None:
    if name == "imag":
        return
    given = _square()
    given.retain_grad()
    torch.autograd.backward(given.sum())
    out = getattr(given, name)
    function = ATTRIBUTES[name]
    assert isinstance(out, torch.Tensor) == (function.result == "tensor")
    if isinstance(out, torch.Tensor):
        assert out.requires_grad == function.graph


@pytest.mark.parametrize(
    "name", [name for name in IN_TORCH if FUNCTIONS[name].kind in (Kind.PROBABILITIES, Kind.LOG_PROBABILITIES)]
)
def test_probabilities_sum_to_one(name: str) -> None:
    scores = torch.randn(4, 5) * 3
    out = _found(name)(scores, dim=-1)
    assert isinstance(out, torch.Tensor)
    if FUNCTIONS[name].kind is Kind.LOG_PROBABILITIES:
        out = out.exp()
    assert torch.allclose(out.sum(-1), torch.ones(4))


@pytest.mark.parametrize(
    "name", [name for name in IN_TORCH if FUNCTIONS[name].kind in (Kind.BOUNDED, Kind.LOG_BOUNDED)]
)
def test_bounded_is_bounded(name: str) -> None:
    out = _found(name)(torch.linspace(-8, 8, 100))
    assert isinstance(out, torch.Tensor)
    if FUNCTIONS[name].kind is Kind.LOG_BOUNDED:
        out = out.exp()
    assert 0 <= out.min() < 0.01
    assert 0.99 < out.max() <= 1


@pytest.mark.parametrize("name", sorted(name for name in METHODS if METHODS[name].with_dim == "tuple"))
def test_reductions_with_a_dim_return_pairs(name: str) -> None:
    values, indices = getattr(_tensor(4, 4), name)(dim=1)
    assert values.requires_grad
    assert not indices.requires_grad
    assert getattr(torch, name)(_tensor(4, 4), 1)[1].dtype is torch.int64


@pytest.mark.parametrize("name", sorted(name for name in METHODS if METHODS[name].scalar is None))
def test_reductions_with_a_dim_are_no_single_number(name: str) -> None:
    given = (0.5, 1) if "quantile" in name else (2, 1) if name == "norm" else (1,)
    out = getattr(_tensor(4, 4), name)(*given)
    assert all(tensor.ndim == 1 for tensor in _tensors(out))


@pytest.mark.parametrize("name", sorted(name for name in IN_TORCH if FUNCTIONS[name].source is Source.NOISE))
def test_noise_is_drawn(name: str) -> None:
    call = _found(name)
    sample = torch.full((64,), 0.5)
    given: dict[str, Arguments] = {
        "randn": (64,),
        "rand": (64,),
        "randint": (100, (64,)),
        "randint_like": (sample, 100),
        "normal": (sample, sample),
        "randperm": (64,),
        "multinomial": (sample, 32),
    }
    arguments = given.get(name.removeprefix("torch."), (sample,))
    one, other = call(*arguments), call(*arguments)
    assert isinstance(one, torch.Tensor)
    assert isinstance(other, torch.Tensor)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("view", Kind.LOGITS, Kind.LOGITS),
        ("mean", Kind.LOSS, Kind.LOSS),
        ("sum", Kind.LOSS, Kind.LOSS),
        ("sum", Kind.PROBABILITIES, Kind.UNKNOWN),
        ("mul", Kind.LOSS, Kind.LOSS),
        ("mul", Kind.LOGITS, Kind.UNKNOWN),
        ("exp", Kind.LOSS, Kind.UNKNOWN),
        ("softmax", Kind.LOGITS, Kind.PROBABILITIES),
        ("argmax", Kind.PROBABILITIES, Kind.LABELS),
        ("item", Kind.LOSS, Kind.UNKNOWN),
        ("detach", Kind.LOSS, Kind.LOSS),
        ("cpu", Kind.LOSS, Kind.LOSS),
    ],
)
def test_kind_of_a_result(name: str, kind: Kind, expected: Kind) -> None:
    assert METHODS[name].of(kind) is expected


def test_log_and_exp_are_inverse() -> None:
    assert {EXP_OF[LOG_OF[kind]] for kind in LOG_OF} == LOG_OF.keys()
