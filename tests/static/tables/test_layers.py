"""The table of layers against torch itself."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
import torch
from torch import nn

from torch_doctor.static.tables.canonical import ALIASES, canonical
from torch_doctor.static.tables.layers import (
    CONTAINERS,
    LAYERS,
    MODULE_BASES,
    PARAMETER_CONTAINERS,
    Argument,
    Layer,
)
from torch_doctor.static.tables.losses import LOSSES
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

Shape: TypeAlias = tuple[int, ...] | None  # None: an image of as many dimensions as the name of the layer says

NO_LAYERS = frozenset(
    {"torch.nn.AdaptiveLogSoftmaxWithLoss", "torch.nn.Container", "torch.nn.DataParallel", "torch.nn.RNNBase"}
    | {"torch.nn.RNNCellBase"}
)
SEQUENCE = (3, 6, 8)  # batch or time, time or channels, features
IMAGE = {"1d": (4, 6, 12), "2d": (4, 6, 12, 12), "3d": (4, 6, 12, 12, 12)}
# Constructor arguments and the shapes of the inputs, by the name without its dimensions; {} stands for 1d, 2d, 3d.
BUILDS: dict[str, tuple[tuple[object, ...], tuple[Shape, ...]]] = {
    "Linear": ((8, 5), (SEQUENCE,)),
    "LazyLinear": ((5,), (SEQUENCE,)),
    "Bilinear": ((8, 8, 5), (SEQUENCE, SEQUENCE)),
    "Softmax": ((-1,), (SEQUENCE,)),
    "Softmin": ((-1,), (SEQUENCE,)),
    "LogSoftmax": ((-1,), (SEQUENCE,)),
    "Softmax2d": ((), (IMAGE["2d"],)),
    "Threshold": ((0.1, 20.0), (SEQUENCE,)),
    "MultiheadAttention": ((8, 2), (SEQUENCE, SEQUENCE, SEQUENCE)),
    "LayerNorm": ((8,), (SEQUENCE,)),
    "RMSNorm": ((8,), (SEQUENCE,)),
    "GroupNorm": ((2, 6), (IMAGE["2d"],)),
    "LocalResponseNorm": ((2,), (IMAGE["2d"],)),
    "CrossMapLRN2d": ((2,), (IMAGE["2d"],)),
    "RNN": ((8, 5), (SEQUENCE,)),
    "GRU": ((8, 5), (SEQUENCE,)),
    "LSTM": ((8, 5), (SEQUENCE,)),
    "RNNCell": ((8, 5), ((3, 8),)),
    "GRUCell": ((8, 5), ((3, 8),)),
    "LSTMCell": ((8, 5), ((3, 8),)),
    "Transformer": ((8, 2, 1, 1, 16), (SEQUENCE, SEQUENCE)),
    "TransformerEncoderLayer": ((8, 2, 16), (SEQUENCE,)),
    "TransformerDecoderLayer": ((8, 2, 16), (SEQUENCE, SEQUENCE)),
    "CosineSimilarity": ((), (SEQUENCE, SEQUENCE)),
    "PairwiseDistance": ((), (SEQUENCE, SEQUENCE)),
    "PixelShuffle": ((1,), (IMAGE["2d"],)),
    "PixelUnshuffle": ((2,), (IMAGE["2d"],)),
    "ChannelShuffle": ((2,), (IMAGE["2d"],)),
    "Unflatten": ((1, (2, 3)), (IMAGE["2d"],)),
    "Unfold": ((2,), (IMAGE["2d"],)),
    "Fold": (((4, 5), (2, 2)), ((3, 8, 12),)),
    "Upsample": ((None, 2), (IMAGE["2d"],)),
    "UpsamplingNearest2d": ((None, 2), (IMAGE["2d"],)),
    "UpsamplingBilinear2d": ((None, 2), (IMAGE["2d"],)),
    "Conv{}": ((6, 5, 3), (None,)),
    "ConvTranspose{}": ((6, 5, 3), (None,)),
    "LazyConv{}": ((5, 3), (None,)),
    "LazyConvTranspose{}": ((5, 3), (None,)),
    "AvgPool{}": ((2,), (None,)),
    "MaxPool{}": ((2,), (None,)),
    "LPPool{}": ((2.0, 2), (None,)),
    "AdaptiveAvgPool{}": ((2,), (None,)),
    "AdaptiveMaxPool{}": ((2,), (None,)),
    "FractionalMaxPool{}": ((2, 4), (None,)),
    "ReflectionPad{}": ((1,), (None,)),
    "ReplicationPad{}": ((1,), (None,)),
    "ZeroPad{}": ((1,), (None,)),
    "CircularPad{}": ((1,), (None,)),
    "ConstantPad{}": ((1, 0.5), (None,)),
    "BatchNorm{}": ((6,), (None,)),
    "LazyBatchNorm{}": ((), (None,)),
    "InstanceNorm{}": ((6,), (None,)),
    "LazyInstanceNorm{}": ((), (None,)),
    "Dropout{}": ((), (None,)),
}
UNTRIED = frozenset({"MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "SyncBatchNorm"})  # need indices, several processes


def _found(name: str) -> object:
    """The object of this dotted name, its module imported."""
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


def _public_modules() -> Iterator[str]:
    for name, thing in vars(nn).items():
        if isinstance(thing, type) and issubclass(thing, nn.Module) and thing is not nn.Module:
            yield f"torch.nn.{name}"


def _built(name: str, **arguments: Any) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    bare = name.removeprefix("torch.nn.")
    if bare == "Embedding":
        return nn.Embedding(10, 4, **arguments), (torch.randint(0, 10, (3, 6)),)
    if bare == "EmbeddingBag":
        return nn.EmbeddingBag(10, 4, **arguments), (torch.randint(0, 10, (3, 6)),)
    if bare == "TransformerEncoder":
        inner = nn.TransformerEncoderLayer(8, 2, 16, **arguments)
        return nn.TransformerEncoder(inner, 1, enable_nested_tensor=False), (torch.randn(SEQUENCE),)
    if bare == "TransformerDecoder":
        layer = nn.TransformerDecoderLayer(8, 2, 16, **arguments)
        return nn.TransformerDecoder(layer, 1), (torch.randn(SEQUENCE), torch.randn(SEQUENCE))
    dimensions = bare[-2:] if bare[-2:] in IMAGE else ""
    key = f"{bare.removesuffix(dimensions)}{{}}" if dimensions and bare not in BUILDS else bare
    given, shapes = BUILDS.get(key, ((), (SEQUENCE,)))
    # Every input far from 0 as well as near it, so that what looks bounded is.
    inputs = tuple(torch.randn(IMAGE[dimensions] if shape is None else shape) * 4 for shape in shapes)
    return getattr(nn, bare)(*given, **arguments), inputs


def _first(value: object) -> torch.Tensor:
    while isinstance(value, tuple):
        value = value[0]
    assert isinstance(value, torch.Tensor)
    return value


def _mode_matters(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> bool:
    with torch.no_grad():
        module.train()
        module(*inputs)  # a lazy module builds itself, a batch norm fills its buffers
        before = {name: buffer.clone() for name, buffer in module.named_buffers()}
        torch.manual_seed(0)
        trained = _first(module(*inputs))
        changed = any(not torch.equal(buffer, before[name]) for name, buffer in module.named_buffers())
        module.eval()
        torch.manual_seed(0)
        evaluated = _first(module(*inputs))
        if trained.shape == evaluated.shape and torch.allclose(trained, evaluated, atol=1e-5):
            return changed
        return True


def _says_yes(mode: bool | Argument, /, **given: float) -> bool:
    if isinstance(mode, bool):
        return mode
    value = given.get(mode.name, mode.default)
    return value > mode.above and (mode.beside is None or _says_yes(mode.beside, **given))


TRIED = sorted(name for name in LAYERS if name.removeprefix("torch.nn.") not in UNTRIED)


def test_every_public_module_is_declared() -> None:
    declared = LAYERS.keys() | LOSSES.keys() | CONTAINERS | PARAMETER_CONTAINERS | NO_LAYERS
    assert set(_public_modules()) - declared == set()


@pytest.mark.parametrize("name", sorted({*LAYERS, *CONTAINERS, *PARAMETER_CONTAINERS, *MODULE_BASES}))
def test_every_name_exists(name: str) -> None:
    found = _found(name)
    assert isinstance(found, type)
    assert issubclass(found, nn.Module)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", TRIED)
def test_what_a_layer_returns(name: str) -> None:
    torch.manual_seed(1)
    layer = LAYERS[name]
    module, inputs = _built(name)
    out = module(*inputs)
    match layer.result:
        case "tensor":
            assert isinstance(out, torch.Tensor)
        case "pair":
            assert isinstance(out, tuple)
            assert [type(item) for item in out] == [torch.Tensor, torch.Tensor]
        case "recurrent":
            assert isinstance(out[0], torch.Tensor)
            assert isinstance(out[1], tuple)
    assert layer.parameters == any(True for _ in module.parameters())
    _check_kind(layer, _first(out), name)


def _check_kind(layer: Layer, out: torch.Tensor, name: str) -> None:
    axis = 1 if name.endswith("Softmax2d") else -1
    match layer.kind:
        case Kind.PROBABILITIES:
            assert torch.allclose(out.sum(axis), torch.ones(()), atol=1e-5)
            assert out.min() >= 0
        case Kind.LOG_PROBABILITIES:
            assert torch.allclose(out.exp().sum(axis), torch.ones(()), atol=1e-5)
        case Kind.BOUNDED:
            assert 0 <= out.min() < 0.2
            assert 0.8 < out.max() <= 1
        case Kind.LOG_BOUNDED:
            assert out.max() <= 0
            assert out.min() < -2
        case Kind.LOGITS:
            assert out.min() < 0 < out.max()
        case Kind.HIDDEN:
            assert not torch.allclose(out.sum(-1), torch.ones(()), atol=1e-5)
        case _:
            assert layer.kind in (None, Kind.UNKNOWN)


@pytest.mark.parametrize("name", [name for name in TRIED if LAYERS[name].kind is None])
def test_what_keeps_its_kind_keeps_the_range(name: str) -> None:
    torch.manual_seed(1)
    module, inputs = _built(name)
    out = module.eval()(*(torch.sigmoid(given) for given in inputs))
    assert _first(out).min() >= 0
    assert _first(out).max() <= 1


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", [name for name in TRIED if "InstanceNorm" not in name])
def test_mode_as_built_by_default(name: str) -> None:
    torch.manual_seed(1)
    mode = LAYERS[name].mode
    expected = True if name.startswith("torch.nn.Transformer") else _says_yes(mode)
    assert _mode_matters(*_built(name)) == expected


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Dropout", {"p": 0.0}),
        ("Dropout2d", {"p": 0.0}),
        ("AlphaDropout", {"p": 0.0}),
        ("LSTM", {"dropout": 0.5}),
        ("LSTM", {"dropout": 0.5, "num_layers": 2}),
        ("GRU", {"dropout": 0.5, "num_layers": 2}),
        ("RNN", {"dropout": 0.5, "num_layers": 2}),
        ("RNN", {"num_layers": 2}),
        ("MultiheadAttention", {"dropout": 0.5}),
        ("TransformerEncoderLayer", {"dropout": 0.0}),
        ("TransformerDecoderLayer", {"dropout": 0.0}),
        ("BatchNorm1d", {"track_running_stats": False}),
        ("LazyBatchNorm2d", {"track_running_stats": False}),
    ],
)
@pytest.mark.filterwarnings("ignore:dropout option adds dropout")
def test_mode_by_argument(name: str, given: dict[str, float]) -> None:
    torch.manual_seed(1)
    module, inputs = _built(f"torch.nn.{name}", **given)
    assert _mode_matters(module, inputs) == _says_yes(LAYERS[f"torch.nn.{name}"].mode, **given)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_instance_norm_in_training_answers_each_row_by_itself(dimensions: int) -> None:
    name = f"torch.nn.InstanceNorm{dimensions}d"
    norm = getattr(nn, f"InstanceNorm{dimensions}d")(3, affine=True, track_running_stats=True)
    rows = torch.rand(4, 3, *[5] * dimensions)
    assert LAYERS[name].mode is LAYERS[name.replace("Instance", "LazyInstance")].mode is False
    assert torch.allclose(norm(rows)[:1], norm(rows[:1]), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "given"),
    [("TransformerEncoder", 0.0), ("TransformerEncoder", 0.3), ("TransformerDecoder", 0.0)],
)
def test_a_stack_behaves_as_the_layer_that_it_is_given(name: str, given: float) -> None:
    torch.manual_seed(1)
    assert _mode_matters(*_built(f"torch.nn.{name}", dropout=given)) == (given > 0)


def _positions() -> Iterator[tuple[str, Argument]]:
    for name, layer in LAYERS.items():
        argument = layer.mode if isinstance(layer.mode, Argument) else None
        while argument is not None:
            yield name, argument
            argument = argument.beside


@pytest.mark.parametrize(("name", "argument"), list(_positions()))
def test_positions_of_constructor_arguments(name: str, argument: Argument) -> None:
    bare = name.removeprefix("torch.nn.")
    if bare in ("RNN", "LSTM", "GRU"):
        given: tuple[object, ...] = (8, 5, 2, True, True, 0.25)
        if bare == "RNN":
            given = (8, 5, 2, "tanh", True, True, 0.25)
        assert getattr(getattr(nn, bare)(*given), argument.name) == given[argument.position]
        return
    names = list(inspect.signature(_found(name)).parameters)  # type: ignore[arg-type]
    assert names[argument.position] == argument.name
    default = inspect.signature(_found(name)).parameters[argument.name].default  # type: ignore[arg-type]
    assert default == argument.default or default is inspect.Parameter.empty


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.module.Module", "torch.nn.Module"),
        ("torch.nn.modules.linear.Linear.forward", "torch.nn.Linear.forward"),
        ("torch.nn.modules.utils._pair", "torch.nn.modules.utils._pair"),
        ("torch.nn.functional.relu", "torch.nn.functional.relu"),
        ("torch.softmax", "torch.nn.functional.softmax"),
        ("torch.special.softmax", "torch.nn.functional.softmax"),
        ("torch.special.log_softmax", "torch.nn.functional.log_softmax"),
        ("torch.dropout", "torch.dropout"),
        ("torch.optim.adam.Adam", "torch.optim.Adam"),
        ("torch.optim.Adam", "torch.optim.Adam"),
        ("torch.optim.lr_scheduler.StepLR", "torch.optim.lr_scheduler.StepLR"),
        ("torch.optim.lr_scheduler._LRScheduler", "torch.optim.lr_scheduler.LRScheduler"),
        ("torch.optim.swa_utils.AveragedModel", "torch.optim.swa_utils.AveragedModel"),
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.utils.data.dataset.random_split", "torch.utils.data.random_split"),
        ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler"),
        ("torch.autograd.grad_mode.no_grad", "torch.no_grad"),
        ("torch.autograd.no_grad", "torch.no_grad"),
        ("torch.cuda.amp.autocast", "torch.autocast"),
        ("torch.cuda.amp.autocast_mode.autocast", "torch.autocast"),
        ("torch.amp.autocast", "torch.autocast"),
        ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler"),
        ("torch.cuda.amp.grad_scaler.GradScaler", "torch.amp.GradScaler"),
        ("pytorch_lightning.LightningModule", "lightning.LightningModule"),
        ("pytorch_lightning.core.lightning.LightningModule", "lightning.LightningModule"),
        ("lightning.pytorch.Trainer.fit", "lightning.Trainer.fit"),
        ("lightning.fabric.Fabric", "lightning.Fabric"),
        ("lightning_fabric.Fabric", "lightning.Fabric"),
        ("pytorch_lightning.loggers.TensorBoardLogger", "lightning.loggers.TensorBoardLogger"),
        ("transformers.models.bert.modeling_bert.BertModel.from_pretrained", "transformers.BertModel.from_pretrained"),
        ("transformers.optimization.get_linear_schedule_with_warmup", "transformers.get_linear_schedule_with_warmup"),
        ("transformers.utils.logging.set_verbosity", "transformers.utils.logging.set_verbosity"),
        ("torchvision.models.resnet.resnet18", "torchvision.models.resnet18"),
        ("torchvision.models.resnet18", "torchvision.models.resnet18"),
        ("torchvision.models.ResNet18_Weights.DEFAULT", "torchvision.models.ResNet18_Weights.DEFAULT"),
        ("torchvision.models.detection.fcos.fcos_resnet50_fpn", "torchvision.models.detection.fcos_resnet50_fpn"),
        ("torchvision.models.detection.fcos_resnet50_fpn", "torchvision.models.detection.fcos_resnet50_fpn"),
        ("accelerate.accelerator.Accelerator", "accelerate.Accelerator"),
        ("ignite.engine.engine.Engine", "ignite.engine.Engine"),
        ("tqdm.auto.tqdm", "tqdm.tqdm"),
        ("print", "print"),
        ("torch", "torch"),
        ("torch.optim", "torch.optim"),
        ("torch.optim.", "torch.optim."),
        ("mine.optim.adam.Adam", "mine.optim.adam.Adam"),
        ("", ""),
    ],
)
def test_canonical(name: str, expected: str) -> None:
    assert canonical(name) == expected
    assert canonical(expected) == expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    # tensorboard is no dependency of torch
    sorted(name for name in set(ALIASES.values()) if name.startswith("torch.") and "tensorboard" not in name),
)
def test_what_an_alias_stands_for_exists(name: str) -> None:
    assert _found(name) is not None


@pytest.mark.parametrize("name", ["torch.nn", "torch.optim", "torch.optim.lr_scheduler"])
def test_every_public_class_is_found_by_its_private_name(name: str) -> None:
    for public, thing in vars(importlib.import_module(name)).items():
        if (
            isinstance(thing, type)
            and thing.__module__.startswith(name)
            and public == thing.__name__
            and public[0].isupper()
        ):
            found = canonical(f"{thing.__module__}.{public}")
            assert _found(found) is thing, found
            assert canonical(f"{name}.{public}") == found
