"""Which calls leave gradients and modes alone."""

from __future__ import annotations

import builtins
import sys

import pytest

from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.layers import LAYERS
from torch_doctor.static.tables.libraries import HARMFUL, HARMLESS, PASS_THROUGH, RANGES, harmless
from torch_doctor.static.tables.training import CLIPS, OPTIMIZERS
from torch_doctor.static.tables.wrappers import WRAPPERS


@pytest.mark.parametrize(
    "name",
    [
        *(
            "print",
            "builtins.print",
            "len",
            "numpy.mean",
            "logging.Logger.info",
            "os.path.join",
            "matplotlib.pyplot.plot",
        ),
        *("wandb.log", "wandb.watch", "torch.distributed.all_reduce", "torch.nn.init.xavier_uniform_", "torch.save"),
        *("torch.cuda.synchronize", "torchmetrics.Accuracy", "torchinfo.summary", "tqdm.tqdm", "copy.deepcopy"),
        *("sklearn.metrics.f1_score", "torch.manual_seed", "functools.partial", "torchvision.utils.save_image"),
    ],
)
def test_harmless(name: str) -> None:
    assert harmless(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "train",
            "map",
            "filter",
            "exec",
            "eval",
            "setattr",
            "mine.helper",
            "torch.autograd.backward",
            "torch.compile",
        ),
        *(
            "wandb.agent",
            "functools.reduce",
            "torch.optim.Adam",
            "torch.nn.utils.clip_grad_norm_",
            "ptflops.get_model_complexity_info",
        ),
        *(
            "torch.distributed.autograd.backward",
            "torch.cuda.graphs.make_graphed_callables",
            "printer",
            "numpyro.infer",
        ),
        *(
            "timeit.timeit",
            "apex.amp.initialize",
            "transformers.Trainer",
            "accelerate.Accelerator",
            "multiprocessing.Process",
        ),
    ],
)
def test_not_harmless(name: str) -> None:
    assert not harmless(name)


@pytest.mark.parametrize("name", sorted({*OPTIMIZERS, *CLIPS, *WRAPPERS, *LAYERS}))
def test_what_trains_is_not_harmless(name: str) -> None:
    assert not harmless(name)


def test_exceptions_lie_within_what_is_harmless() -> None:
    for name in HARMFUL:
        assert any(name.startswith(f"{prefix}.") for prefix in HARMLESS), name


def test_modules_of_the_standard_library_are_spelt_right() -> None:
    known = {name for name in HARMLESS if name in sys.stdlib_module_names}
    assert {"os", "time", "logging", "random", "itertools"} <= known
    assert not known & {"threading", "concurrent", "multiprocessing", "timeit", "atexit", "sched", "asyncio"}


@pytest.mark.parametrize("name", sorted({*PASS_THROUGH, *RANGES}))
def test_what_is_iterated_is_canonical_and_exists(name: str) -> None:
    assert canonical(name) == name
    if "." not in name:
        assert hasattr(builtins, name)
