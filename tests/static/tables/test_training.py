"""The tables of what surrounds the layers, against torch itself."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping

import pytest
import torch
from torch import nn

from torch_doctor.static.libraries.library import LibraryModel
from torch_doctor.static.tables import models, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.models import library_model
from torch_doctor.static.tables.training import (
    GRAD_MODE_SWITCH,
    GRAD_MODES,
    OPTIMIZERS,
    loader_of,
    optimizer_of,
    scheduler_of,
)
from torch_doctor.static.tables.wrappers import WRAPPERS


def _names() -> set[str]:
    found: set[str] = set()
    for name, table in (vars(training) | vars(models)).items():
        if name.isupper() and isinstance(table, (frozenset, Mapping)) and not name.startswith("_"):
            found |= {str(item) for item in table}
    return found


def _found(name: str) -> object:
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


# Names of older releases, kept because scripts still use them.
GONE = frozenset({"torch.nn.parallel.DistributedDataParallelCPU"})


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", sorted(name for name in _names() - GONE if name.startswith("torch.")))
def test_every_name_of_torch_exists(name: str) -> None:
    assert callable(_found(name))


@pytest.mark.parametrize("name", sorted(_names() - OPTIMIZERS))
def test_every_name_is_canonical(name: str) -> None:
    assert canonical(name) == name


def test_every_optimizer_of_torch_is_declared() -> None:
    classes = {
        f"torch.optim.{name}"
        for name, found in vars(torch.optim).items()
        if isinstance(found, type) and issubclass(found, torch.optim.Optimizer) and found is not torch.optim.Optimizer
    }
    assert classes == {name for name in OPTIMIZERS if name.startswith("torch.optim.")}


def test_every_scheduler_of_torch_is_declared() -> None:
    module = torch.optim.lr_scheduler
    for name, found in vars(module).items():
        if isinstance(found, type) and issubclass(found, module.LRScheduler) and not name.startswith("_"):
            assert scheduler_of(f"torch.optim.lr_scheduler.{name}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.optim.Adam", True),
        ("torch.optim.Optimizer", False),
        ("torch.optim.lr_scheduler.StepLR", False),
        ("timm.optim.Nadam", True),
        ("timm.optim.create_optimizer", False),
        ("timm.optim.Lookahead", False),
        ("bitsandbytes.optim.AdamW8bit", True),
        ("apex.optimizers.FusedAdam", True),
        ("transformers.AdamW", True),
        ("mine.Adam", False),
    ],
)
def test_optimizers(name: str, expected: bool) -> None:
    assert optimizer_of(name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.optim.lr_scheduler.StepLR", True),
        ("transformers.get_linear_schedule_with_warmup", True),
        ("transformers.get_scheduler", True),
        ("transformers.get_logger", False),
        ("timm.scheduler.CosineLRScheduler", True),
        ("timm.scheduler.create_scheduler", False),
        ("torch.optim.Adam", False),
    ],
)
def test_schedulers(name: str, expected: bool) -> None:
    assert scheduler_of(name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.utils.data.DataLoader", True),
        ("torch_geometric.loader.NeighborLoader", True),
        ("torch_geometric.loader.DataLoader", True),
        ("torch.utils.data.TensorDataset", False),
    ],
)
def test_loaders(name: str, expected: bool) -> None:
    assert loader_of(name) is expected


@pytest.mark.parametrize("name", sorted(GRAD_MODES))
def test_grad_modes(name: str) -> None:
    mode = getattr(torch, name.removeprefix("torch."))
    enabled = GRAD_MODES[name]
    for outer in (True, False):
        with torch.set_grad_enabled(outer):
            if enabled is None:
                with mode(not outer):
                    assert torch.is_grad_enabled() is not outer
            else:
                with mode():
                    assert torch.is_grad_enabled() is enabled
    if name in GRAD_MODE_SWITCH:
        argument, default = GRAD_MODE_SWITCH[name]
        parameter = inspect.signature(mode).parameters[argument]
        assert next(iter(inspect.signature(mode).parameters)) == argument
        assert parameter.default is (inspect.Parameter.empty if default is None else default)


def test_inference_mode_of_false_records() -> None:
    with torch.no_grad(), torch.inference_mode(mode=False):
        assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "torch.nn.DataParallel",
            "torch.compile",
            "torch.fx.symbolic_trace",
            "torch.nn.utils.parametrizations.weight_norm",
        ),
        *("torch.nn.utils.spectral_norm", "torch.nn.utils.parametrizations.orthogonal"),
        *("torch.nn.SyncBatchNorm.convert_sync_batchnorm", "torch.jit.script"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_wrappers_return_a_module_in_the_same_mode(name: str) -> None:
    wrap = _found(name)
    assert callable(wrap)
    assert WRAPPERS[name] == 0
    for mode in (True, False):
        wrapped = wrap(nn.Linear(3, 3).train(mode))
        assert isinstance(wrapped, nn.Module)
        assert wrapped.training is mode or name.endswith("DataParallel")


def test_averaged_models_are_copies() -> None:
    model = nn.Linear(2, 2)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    assert not {id(parameter) for parameter in averaged.parameters()} & {
        id(parameter) for parameter in model.parameters()
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torchvision.models.resnet18", LibraryModel(sensitive=True, training=True)),
        ("torchvision.models.vgg16", LibraryModel(sensitive=True, training=True, part="classifier")),
        ("torchvision.models.vgg16_bn", LibraryModel(sensitive=True, training=True)),
        ("torchvision.models.vit_b_16", LibraryModel(sensitive=None, training=True)),
        ("torchvision.models.VisionTransformer", LibraryModel(sensitive=None, training=True)),
        ("torchvision.models.ResNet", LibraryModel(sensitive=True, training=True)),
        ("torchvision.models.ResNet18_Weights.DEFAULT", None),
        ("torchvision.models.ResNet18_Weights", None),
        ("torchvision.models.get_model", LibraryModel(sensitive=None, training=None)),
        ("torchvision.models.get_weight", None),
        ("torchvision.models.detection.fasterrcnn_resnet50_fpn", LibraryModel(sensitive=True, training=True)),
        ("torchvision.models.detection.FasterRCNN_ResNet50_FPN_Weights", None),
        ("torchvision.models.segmentation.deeplabv3_resnet50", LibraryModel(sensitive=True, training=True)),
        ("transformers.BertModel.from_pretrained", LibraryModel(sensitive=True, training=False)),
        ("transformers.AutoModel.from_pretrained", LibraryModel(sensitive=True, training=False)),
        ("transformers.LlamaForCausalLM.from_pretrained", LibraryModel(sensitive=None, training=False)),
        ("transformers.BertModel", LibraryModel(sensitive=None, training=True)),
        ("transformers.AutoModel.from_config", LibraryModel(sensitive=True, training=True)),
        ("transformers.DataCollatorForLanguageModeling", None),
        ("torchvision.models.optical_flow.raft_small", LibraryModel(sensitive=None, training=True)),
        ("transformers.AutoTokenizer.from_pretrained", None),
        ("transformers.BertTokenizerFast.from_pretrained", None),
        ("transformers.BertConfig.from_pretrained", None),
        ("timm.create_model", LibraryModel(sensitive=None, training=True)),
        (
            "segmentation_models_pytorch.Unet",
            LibraryModel(sensitive=True, training=True, head=("segmentation_head", -1)),
        ),
        ("segmentation_models_pytorch.losses.DiceLoss", None),
        ("diffusers.UNet2DConditionModel.from_pretrained", LibraryModel(sensitive=None, training=False)),
        ("torch.hub.load", LibraryModel(sensitive=None, training=None)),
        ("torch.nn.Linear", None),
        ("print", None),
    ],
)
def test_library_models(name: str, expected: LibraryModel | None) -> None:
    assert library_model(name) == expected
