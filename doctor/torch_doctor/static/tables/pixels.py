"""Pictures as they are stored, in numbers from 0 to 255, and what leaves them so.

Sources: https://docs.pytorch.org/vision/stable/transforms.html, https://docs.pytorch.org/vision/stable/io.html,
https://docs.pytorch.org/vision/stable/datasets.html, https://pillow.readthedocs.io/en/stable/reference/Image.html and
https://docs.opencv.org/4.x/d4/da8/group__imgcodecs.html.
"""

from __future__ import annotations

from torch_doctor.static.tables import words

READERS: frozenset[str] = frozenset(
    words("cv2.imread cv2.imdecode imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread")
)
"""Functions that return a picture as an array of bytes. Not: `matplotlib.pyplot.imread`, which scales what it reads of PNG."""
PICTURES: frozenset[str] = frozenset(("PIL.Image.open",))
"""Functions that return a picture of which an array of bytes can be made."""
TENSOR_READERS: frozenset[str] = frozenset(
    (
        *words(
            """
            torchvision.io.read_image torchvision.io.decode_image torchvision.io.decode_jpeg torchvision.io.decode_png
            torchvision.transforms.functional.pil_to_tensor torchvision.transforms.v2.functional.pil_to_tensor
            """
        ),
    )
)
"""Functions that return a picture as a tensor of bytes."""

DRAWS = {"torch.randint": True, "numpy.random.randint": False}
"""Functions that make pictures up where they draw bytes, and whether as a tensor."""
BYTES = 256
"""So many numbers does a byte have."""

KEEPING: frozenset[str] = frozenset(
    (
        *(
            f"numpy.{name}"
            for name in words(
                """
                array asarray ascontiguousarray float32 float64 transpose moveaxis swapaxes expand_dims squeeze stack
                concatenate vstack reshape flip fliplr flipud rot90 copy
                """
            )
        ),
        *(f"cv2.{name}" for name in words("resize cvtColor flip rotate copyMakeBorder transpose warpAffine")),
    )
)
"""Functions of arrays that give the same numbers, others of the same range, or more of them."""
KEEPING_METHODS: frozenset[str] = frozenset(
    words(
        """
        astype transpose reshape copy squeeze flatten ravel swapaxes convert resize crop rotate thumbnail
        """
    )
)
"""The same for methods, of pictures too."""
TENSORS: frozenset[str] = frozenset(
    words("torch.tensor torch.from_numpy torch.as_tensor torch.asarray torch.Tensor torch.FloatTensor")
)
"""Functions that make a tensor of the numbers of an array."""

_TRANSFORMS = ("torchvision.transforms", "torchvision.transforms.v2", "torchvision.transforms.transforms")
TO_BYTES: frozenset[str] = frozenset(
    f"{package}.{name}" for package in _TRANSFORMS for name in ("PILToTensor", "ToImage", "ToImageTensor")
)
"""Transforms that make a tensor of bytes of a picture."""
TO_DTYPE: frozenset[str] = frozenset(f"{package}.ToDtype" for package in _TRANSFORMS)
"""Transforms that change the dtype, and the range where they are told `scale=True`."""
SPATIAL: frozenset[str] = frozenset(
    f"{package}.{name}"
    for package in _TRANSFORMS
    for name in words(
        """
        Resize CenterCrop RandomCrop RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip RandomRotation Pad
        RandomAffine RandomPerspective FiveCrop TenCrop ColorJitter Grayscale RandomGrayscale
        """
    )
)
"""Transforms that move or mix the numbers of a picture, and leave their range."""
COMPOSED: frozenset[str] = frozenset(f"{package}.Compose" for package in _TRANSFORMS)

HELD: dict[str, str] = {
    **dict.fromkeys(
        (f"torchvision.datasets.{name}" for name in words("MNIST FashionMNIST KMNIST EMNIST QMNIST")), "tensor"
    ),
    **dict.fromkeys((f"torchvision.datasets.{name}" for name in words("CIFAR10 CIFAR100 SVHN STL10")), "array"),
}
"""Data sets whose attribute `data` has all their pictures as bytes, and whether it is a tensor or an array."""

LAYERS: frozenset[str] = frozenset(
    f"torch.nn.{name}"
    for name in words("Linear Conv1d Conv2d Conv3d LazyLinear LazyConv1d LazyConv2d LazyConv3d RNN LSTM GRU")
)
"""Layers whose weights are made for inputs of about one."""
SHAPING: frozenset[str] = frozenset(
    f"torch.nn.{name}" for name in words("Flatten Unflatten Identity ZeroPad2d ReflectionPad2d ReplicationPad2d")
)
"""Layers that leave the numbers as they are."""
MODELS = ("torchvision.models.", "timm.create_model", "timm.models.")
"""Where models come from that take pictures from 0 to 1, or standardised ones."""
