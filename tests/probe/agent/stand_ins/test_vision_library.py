"""torchvision and Pillow, where they are not installed: transforms, data sets and models by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from torch_doctor.probe.agent.replicas.torchvision import functional, models, pictures, random_transforms, transforms

if TYPE_CHECKING:
    from collections.abc import Callable

HEADS = {
    "resnet18": ("fc", 512),
    "resnet50": ("fc", 2048),
    "googlenet": ("fc", 1024),
    "densenet121": ("classifier", 1024),
    "mobilenet_v2": ("classifier.1", 1280),
    "efficientnet_b3": ("classifier.1", 1536),
    "convnext_tiny": ("classifier.2", 768),
    "mobilenet_v3_small": ("classifier.3", 1024),
    "vit_b_16": ("heads.head", 768),
    "swin_t": ("head", 768),
}


class Quiet:
    """A stand-in that tells nobody."""

    def tell(self, *_: Any, **__: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def built() -> dict[str, Any]:
    """All models by name."""
    return models.by_name(Quiet())  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "head", "width"), [(name, *head) for name, head in HEADS.items()])
def test_a_model_has_the_head_of_its_name(built: dict[str, Any], name: str, head: str, width: int) -> None:
    model = built[name](num_classes=3).eval()
    assert model.get_submodule(head).in_features == width
    with torch.no_grad():
        assert model(torch.randn(2, 3, 64, 64)).shape == (2, 3)


def test_features_of_a_vgg_lie_where_theirs_do(built: dict[str, Any]) -> None:
    features = built["vgg19"]().features
    assert [number for number, layer in enumerate(features) if isinstance(layer, torch.nn.MaxPool2d)] == [
        4,
        9,
        18,
        27,
        36,
    ]
    assert built["vgg16"]().classifier[6].in_features == 4096


def test_an_inception_has_a_second_head_in_training(built: dict[str, Any]) -> None:
    model = built["inception_v3"](num_classes=3)
    logits, auxiliary = model(torch.randn(2, 3, 64, 64))
    assert logits.shape == auxiliary.shape == (2, 3)
    assert model.eval()(torch.randn(2, 3, 64, 64)).shape == (2, 3)


def test_transforms_make_tensors_of_their_sizes() -> None:
    picture = pictures.drawn("some.jpg")
    usual = transforms.Compose(
        [
            transforms.Resize(64),
            random_transforms.RandomCrop(48, padding=4),
            random_transforms.RandomHorizontalFlip(),
            random_transforms.RandomRotation(10),
            random_transforms.ColorJitter(0.2, 0.2),
            transforms.ToTensor(),
            transforms.Normalize((0.5,) * 3, (0.5,) * 3),
        ]
    )
    found = usual(picture)
    assert found.shape == (3, 48, 48)
    assert -1 <= found.min() < found.max() <= 1
    assert transforms.Resize(32)(torch.zeros(3, 64, 128)).shape == (3, 32, 64)
    assert random_transforms.RandomResizedCrop(20)(picture).size == (20, 20)
    assert functional.to_tensor(functional.to_pil_image(torch.ones(3, 4, 4))).min() == 1


@pytest.mark.usefixtures("farm", "records")
def test_a_script_that_needs_torchvision_comes_to_its_updates(run: Any, write: Callable[..., Any]) -> None:
    write(
        "train.py",
        """
import torch
import torchvision
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms
from torchvision.models import ResNet18_Weights
from torchvision.transforms import v2

mnist = datasets.MNIST("data", train=False, download=True, transform=transforms.ToTensor())
assert len(mnist) == 10_000 and mnist[0][0].shape == (1, 28, 28) and mnist.data.shape == (10_000, 28, 28)
assert Image.open("cat.jpg").convert("L").resize((8, 6)).size == (8, 6)
change = v2.Compose([v2.ToImage(), v2.Resize((32, 32)), v2.ToDtype(torch.float32, scale=True)])
folder = datasets.ImageFolder("flowers/train", transform=change)
model = models.resnet18(weights=ResNet18_Weights.DEFAULT)
model.fc = torch.nn.Linear(model.fc.in_features, len(folder.classes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in DataLoader(folder, batch_size=4, shuffle=True):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
torchvision.utils.save_image(inputs, "batch.png")
""",
    )
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "reached 6 optimizer steps" in err
    assert "instead of `torchvision`, `PIL`" in err or "instead of `torchvision` (package not installed)" in err
