"""Pictures as they are stored, in numbers from 0 to 255, and what leaves them so."""

from __future__ import annotations

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

READERS = frozenset(libraries.every(lambda library: library.picture_readers))
"""Functions that return a picture as an array of bytes. Not: `matplotlib.pyplot.imread`, which scales what it reads of PNG."""
PICTURES = frozenset(libraries.every(lambda library: library.pictures))
"""Functions that return a picture of which an array of bytes can be made."""
TENSOR_READERS = frozenset(libraries.every(lambda library: library.picture_tensors))
"""Functions that return a picture as a tensor of bytes."""

DRAWS = {"torch.randint": True, **libraries.table(lambda library: library.picture_draws)}
"""Functions that make pictures up where they draw bytes, and whether as a tensor."""
BYTES = 256
"""So many numbers does a byte have."""

KEEPING = frozenset(libraries.every(lambda library: library.picture_functions))
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

TO_BYTES = frozenset(libraries.every(lambda library: library.to_bytes))
"""Transforms that make a tensor of bytes of a picture."""
TO_FLOATS = frozenset(libraries.every(lambda library: library.to_floats))
"""Transforms that make a tensor of a picture, and scale it to numbers from 0 to 1."""
TO_DTYPE = frozenset(libraries.every(lambda library: library.to_dtype))
"""Transforms that change the dtype, and the range where they are told `scale=True`."""
TRANSFORMING = libraries.table(lambda library: library.transform_functions)
"""Functions that do to a picture what a transform does, and that transform."""
SPATIAL = frozenset(libraries.every(lambda library: library.spatial))
"""Transforms that move or mix the numbers of a picture, and leave their range."""
COMPOSED = frozenset(libraries.every(lambda library: library.composed_transforms))
JOINING = COMPOSED.union(libraries.every(lambda library: library.channels.joined))
"""Transforms that do others one after the other, beside those that take keywords."""

HELD = libraries.table(lambda library: library.held)
"""Data sets whose attribute `data` has all their pictures as bytes, and whether it is a tensor or an array."""

LAYERS: frozenset[str] = frozenset(
    f"torch.nn.{name}"
    for name in words("Linear Conv1d Conv2d Conv3d LazyLinear LazyConv1d LazyConv2d LazyConv3d RNN LSTM GRU")
)
"""Layers whose weights are made for inputs of about one."""
NORMALIZING: frozenset[str] = frozenset(
    f"torch.nn.{name}"
    for name in words("BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm InstanceNorm2d GroupNorm LayerNorm")
)
"""Layers whose output is the same however large their input is."""
SHAPING: frozenset[str] = frozenset(
    f"torch.nn.{name}" for name in words("Flatten Unflatten Identity ZeroPad2d ReflectionPad2d ReplicationPad2d")
)
"""Layers that leave the numbers as they are."""
MODELS = libraries.every(lambda library: library.picture_models)
"""Where models come from that take pictures from 0 to 1, or standardised ones."""
