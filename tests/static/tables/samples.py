"""Arguments with which the functions and methods of torch can be called: every one that the tables name."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments: TypeAlias = tuple[object, ...]


def tensor(*shape: int) -> torch.Tensor:
    """Numbers within (0, 1), with a graph; not a leaf, so that they may change in place."""
    leaf = torch.rand(shape, requires_grad=True)
    return leaf * 0.8 + 0.1


def square() -> torch.Tensor:
    return tensor(4, 4) + torch.eye(4) * 4


def _whole(*shape: int) -> torch.Tensor:
    return torch.arange(math.prod(shape)).reshape(shape) % 4


# Argument lists by name; of a method the first is the tensor itself.
SAMPLES: dict[str, Callable[[], Arguments]] = {
    "max": lambda: (tensor(4, 4),),
    "to": lambda: (tensor(4, 4), torch.float64),
    "type": lambda: (tensor(4, 4), torch.float64),
    "einsum": lambda: ("ij,jk->ik", tensor(4, 4), tensor(4, 4)),
    "where": lambda: (tensor(4, 4) > 0, tensor(4, 4), tensor(4, 4)),
    "one_hot": lambda: (_whole(4), 4),
    "bincount": lambda: (_whole(4),),
    "quantile": lambda: (tensor(4, 4), 0.5),
    "nanquantile": lambda: (tensor(4, 4), 0.5),
    "index_select": lambda: (tensor(4, 4), 0, _whole(2)),
    "index_add": lambda: (tensor(4, 4), 0, _whole(4), tensor(4, 4)),
    "index_copy": lambda: (tensor(4, 4), 0, _whole(4), tensor(4, 4)),
    "index_fill": lambda: (tensor(4, 4), 0, _whole(4), 0.5),
    "index_put": lambda: (tensor(4, 4), (_whole(4),), tensor(4, 4)),
    "index_reduce": lambda: (tensor(4, 4), 0, _whole(4), tensor(4, 4), "mean"),
    "gather": lambda: (tensor(4, 4), 0, _whole(4, 4)),
    "take": lambda: (tensor(4, 4), _whole(4)),
    "take_along_dim": lambda: (tensor(4, 4), _whole(4, 4), 0),
    "scatter": lambda: (tensor(4, 4), 0, _whole(4, 4), tensor(4, 4)),
    "scatter_add": lambda: (tensor(4, 4), 0, _whole(4, 4), tensor(4, 4)),
    "scatter_reduce": lambda: (tensor(4, 4), 0, _whole(4, 4), tensor(4, 4), "sum"),
    "select_scatter": lambda: (tensor(4, 4), tensor(4), 0, 1),
    "slice_scatter": lambda: (tensor(4, 4), tensor(4, 4)),
    "diagonal_scatter": lambda: (tensor(4, 4), tensor(4)),
    "masked_select": lambda: (tensor(4, 4), tensor(4, 4) > 0),
    "masked_fill": lambda: (tensor(4, 4), tensor(4, 4) > 0, 0.5),
    "masked_scatter": lambda: (tensor(4, 4), tensor(4, 4) > 0, tensor(4, 4)),
    "renorm": lambda: (tensor(4, 4), 2.0, 0, 1.0),
    "embedding": lambda: (tensor(4, 4), _whole(4)),
    "F.embedding": lambda: (_whole(4), tensor(4, 4)),
    "F.embedding_bag": lambda: (_whole(2, 4), tensor(4, 4)),
    "unflatten": lambda: (tensor(4, 4), 0, (2, 2)),
    "prelu": lambda: (tensor(4, 4), torch.tensor([0.25])),
    "F.prelu": lambda: (tensor(4, 4), torch.tensor([0.25])),
    "svd": lambda: (square(),),
    "lu_solve": lambda: (tensor(4, 2), *torch.linalg.lu_factor(square())),
    "linalg.lu_solve": lambda: (*torch.linalg.lu_factor(square()), tensor(4, 2)),
    "linalg.ldl_factor": lambda: (square() + square().T,),
    "linalg.multi_dot": lambda: ([tensor(4, 4), tensor(4, 4)],),
    "linalg.cross": lambda: (tensor(4, 3), tensor(4, 3)),
    "linalg.tensorinv": lambda: (square().reshape(2, 2, 4),),
    "polygamma": lambda: (1, tensor(4)),
    "cross": lambda: (tensor(4, 3), tensor(4, 3), 1),
    "new_full": lambda: (tensor(4), (4, 4), 0.5),
    "float_power_": lambda: (tensor(4).double(), 2),
    "triangular_solve": lambda: (tensor(4, 2), square().triu()),
    "F.linear": lambda: (tensor(4, 4), tensor(2, 4)),
    "F.bilinear": lambda: (tensor(4, 4), tensor(4, 4), tensor(2, 4, 4)),
    "F.fold": lambda: (tensor(1, 4, 1), (2, 2), (2, 2)),
    "F.unfold": lambda: (tensor(1, 4, 4, 4), 2),
    "F.affine_grid": lambda: (tensor(1, 2, 3), (1, 1, 4, 4)),
    "F.grid_sample": lambda: (tensor(1, 1, 4, 4), tensor(1, 4, 4, 2)),
    "F.scaled_dot_product_attention": lambda: (tensor(1, 4, 4),) * 3,
    "F.local_response_norm": lambda: (tensor(1, 4, 4), 2),
    "batch_norm": lambda: (tensor(4, 4), None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5, False),
    "instance_norm": lambda: (tensor(2, 4, 4), None, None, None, None, True, 0.1, 1e-5, False),
    "F.batch_norm": lambda: (tensor(4, 4), torch.zeros(4), torch.ones(4)),
    "F.instance_norm": lambda: (tensor(2, 4, 4),),
    "layer_norm": lambda: (tensor(4, 4), (4,)),
    "rms_norm": lambda: (tensor(4, 4), (4,)),
    "group_norm": lambda: (tensor(4, 4), 2),
    "multi_head_attention_forward": lambda: (
        *(
            tensor(3, 2, 4),
            tensor(3, 2, 4),
            tensor(3, 2, 4),
            4,
            2,
            tensor(12, 4),
            torch.zeros(12),
            None,
            None,
            False,
            0.0,
        ),
        *(tensor(4, 4), torch.zeros(4)),
    ),
    "from_numpy": lambda: (_whole(4).numpy(),),
    "from_dlpack": lambda: (torch.zeros(4),),
    "sparse_coo_tensor": lambda: ([[0, 1], [1, 0]], [1.0, 2.0]),
    "sparse_csr_tensor": lambda: ([0, 1, 2], [0, 1], [1.0, 2.0]),
    "empty_strided": lambda: ((4, 4), (4, 1)),
    "new_empty_strided": lambda: (tensor(4), (4, 4), (4, 1)),
    "as_strided": lambda: (tensor(4, 4), (2, 2), (1, 2)),
    "stft": lambda: (tensor(16), 4, None, None, None, True, "reflect", False, True, True),
    "istft": lambda: (torch.stft(tensor(16), 4, return_complex=True), 4),
    "complex": lambda: (tensor(4), tensor(4)),
    "polar": lambda: (tensor(4), tensor(4)),
    "view_as_complex": lambda: (tensor(4, 2),),
    "view_as_real": lambda: (torch.complex(tensor(4), tensor(4)),),
    "view_as": lambda: (tensor(4, 4), tensor(16)),
    "imag": lambda: (torch.complex(tensor(4), tensor(4)),),
    "can_cast": lambda: (torch.float32, torch.float64),
    "promote_types": lambda: (torch.float32, torch.float64),
    "result_type": lambda: (tensor(4), 1),
    "set_rng_state": lambda: (torch.get_rng_state(),),
    "set_float32_matmul_precision": lambda: ("highest",),
    "broadcast_shapes": lambda: ((4, 1), (1, 4)),
    "is_set_to": lambda: (tensor(4), tensor(4)),
    "iinfo": lambda: (torch.int32,),
    "finfo": lambda: (torch.float32,),
    "device": lambda: ("cpu",),
    "dtype": lambda: (),
    "meshgrid": lambda: (tensor(4), tensor(4)),
    "unravel_index": lambda: (_whole(4), (4, 4)),
    "cartesian_prod": lambda: (tensor(4), tensor(4)),
    "numpy": lambda: (tensor(4).detach(),),
    "register_hook": lambda: (tensor(4), print),
    "register_post_accumulate_grad_hook": lambda: (torch.zeros(4, requires_grad=True), print),
    "item": lambda: (tensor(1),),
    "__bool__": lambda: (tensor(1),),
    "__int__": lambda: (tensor(1),),
    "__index__": lambda: (torch.tensor(1),),
    "__float__": lambda: (tensor(1),),
    "__format__": lambda: (tensor(1).detach(), ""),
    "is_nonzero": lambda: (tensor(1),),
    "untyped_storage": lambda: (tensor(4),),
    "coalesce": lambda: (torch.eye(4).to_sparse(),),
    "smm": lambda: (torch.eye(4).to_sparse(), tensor(4, 4)),
    "sspaddmm": lambda: (torch.eye(4).to_sparse(), torch.eye(4).to_sparse(), tensor(4, 4)),
    "chain_matmul": lambda: (tensor(4, 4), tensor(4, 4)),
    "tensor": lambda: ([1.0, 2.0],),
    "scalar_tensor": lambda: (1.0,),
    "max_unpool1d": lambda: (*F.max_pool1d(tensor(1, 4, 4), 2, return_indices=True), 2),
    "max_unpool2d": lambda: (*F.max_pool2d(tensor(1, 4, 4, 4), 2, return_indices=True), 2),
    "max_unpool3d": lambda: (*F.max_pool3d(tensor(1, 4, 4, 4, 4), 2, return_indices=True), 2),
    "fractional_max_pool2d": lambda: (tensor(1, 4, 6, 6), 2, 3),
    "fractional_max_pool3d": lambda: (tensor(1, 4, 6, 6, 6), 2, 3),
    "pack_padded_sequence": lambda: (tensor(4, 2, 4), torch.tensor([4, 3])),
    "pack_sequence": lambda: ([tensor(4, 4), tensor(3, 4)],),
    "pad_sequence": lambda: ([tensor(4, 4), tensor(3, 4)],),
    "pad_packed_sequence": lambda: (torch.nn.utils.rnn.pack_sequence([tensor(4, 4), tensor(3, 4)]),),
    "parameters_to_vector": lambda: ([tensor(4, 4), tensor(3, 4)],),
    "ormqr": lambda: (*torch.geqrf(tensor(4, 4)), tensor(4, 4)),
    "orgqr": lambda: torch.geqrf(tensor(4, 4)),
    "householder_product": lambda: torch.geqrf(tensor(4, 4)),
    "isin": lambda: (_whole(4).float(), tensor(4).detach()),
    "resize_": lambda: (torch.zeros(4), 2),
    "resize_as_": lambda: (torch.zeros(4), torch.zeros(2)),
    "detach_": lambda: (tensor(4, 4),),
    "requires_grad_": lambda: (tensor(4, 4),),
    "bucketize": lambda: (tensor(4), torch.arange(4.0)),
    "searchsorted": lambda: (torch.arange(4.0), tensor(4)),
    "arange": lambda: (4,),
    "range": lambda: (0, 4),
    "full": lambda: ((4, 4), 0.5),
    "cumulative_trapezoid": lambda: (tensor(4, 4),),
    "fftfreq": lambda: (4,),
    "rfftfreq": lambda: (4,),
    "Generator": lambda: (),
    "Size": lambda: ([4],),
    "Variable": lambda: (tensor(4),),
    "swapdims": lambda: (tensor(4, 4), 0, 1),
    "clone": lambda: (tensor(4, 4),),
    "new": lambda: (tensor(4),),
    "__len__": lambda: (tensor(4),),
}
METHOD_SAMPLES = frozenset({"where", "polygamma"})
SAMPLES["x.where"] = lambda: (tensor(4), tensor(4) > 0, tensor(4))
SAMPLES["x.polygamma"] = lambda: (tensor(4), 1)
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
        lambda: tensor(4, 4),
        lambda: tensor(4),
        lambda: tensor(4, 4, 4),
        square,
        lambda: _whole(4, 4),
        lambda: _whole(4),
        lambda: tensor(4, 4) > 0.5,
    ]
    others: list[Callable[[], object]] = [
        *four,
        *(partial(_same, value) for value in (0, 1, 2, -1, 0.5, (4, 4), (0, 1), [4, 4], [2, 2], torch.float32)),
    ]
    images: list[Callable[[], object]] = [partial(tensor, 1, 4, *(4,) * n) for n in (1, 2, 3)]
    kernels: list[Callable[[], object]] = [partial(tensor, 4, 4, *(2,) * n) for n in (1, 2, 3)]
    windows: list[Callable[[], object]] = [lambda: 2, lambda: (1, 1), lambda: (2,)]
    numbers: list[Arguments] = [([4, 4],), (4,), (2, 2), (), (0.0, 1.0, 4), (0, 4, (4, 4)), (4, (4, 4))]
    made: list[tuple[Callable[[], object], ...]] = [
        *((first,) for first in four),
        *itertools.product(four, others),
        (lambda: [tensor(4, 4), tensor(4, 4)],),
        *((first, second, second) for first, second in itertools.product(four, others)),
        *itertools.product(images, windows),
        *zip(images, kernels, strict=True),
        *((image, lambda: 2.0, lambda: 2) for image in images),
        (four[0], lambda: 0.5, lambda: True),
        (four[0], lambda: 0, lambda: 0, lambda: 1),
        (four[0], lambda: 0, lambda: 2, lambda: 1),
        (four[0], four[0], four[1]),
        (four[1], four[0], four[1]),
        (four[0], *(partial(tensor, 2, 4, 4),) * 2),
        (partial(tensor, 2, 4, 4),) * 3,
    ]
    return [
        *(partial(_made, makers) for makers in made),
        *(partial(tuple, given) for given in numbers),
    ]


def _made(makers: tuple[Callable[[], object], ...]) -> Arguments:
    return tuple(make() for make in makers)


GUESSES = _guesses()


def called(call: Callable[..., object], *keys: str) -> tuple[Arguments, object]:
    """What a function is given, and what it returns: the arguments of the first key that has some, or the first that fit."""
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
