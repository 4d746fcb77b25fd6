"""torchvision: data sets, transforms and models of pictures."""

from __future__ import annotations

from .library import Library

LIBRARY = Library("torchvision", repositories=("pytorch/vision",), models="torchvision.models")
