"""Kornia: transforms of pictures on tensors, most of them named as torchvision's."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.libraries.torchvision import RANDOM

LIBRARY = Library(random_transforms=tuple(f"kornia.augmentation.{name}" for name in RANDOM))
