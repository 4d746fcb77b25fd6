"""What Pillow and torchvision had."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ... import imports
from ...imports import after, where_absent
from ..fallbacks import importing_frame
from .names import Removed, loaded, moved

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

FILTERS = {"ANTIALIAS": "LANCZOS", "LINEAR": "BILINEAR", "CUBIC": "BICUBIC"}
TRANSFORMS = {"Scale": "Resize", "RandomSizedCrop": "RandomResizedCrop"}
ARGUMENTS = {"resample": "interpolation", "fillcolor": "fill"}


class PictureNames(Removed):
    """Names of Pillow and torchvision, and arguments of transforms."""

    def prepare(self) -> None:
        """Hooks both when they are imported."""
        after("PIL.Image", self._patch_filters)
        after("torchvision.transforms", self._patch_transforms)
        for name in ("resnet", "vgg", "densenet", "alexnet", "inception", "googlenet", "squeezenet", "mobilenet"):
            after(f"torchvision.models.{name}", self._patch_models)
        where_absent(self._find)

    def _patch_filters(self, module: ModuleType) -> None:
        known = {old: moved(f"PIL.Image:{new}") for old, new in FILTERS.items() if old not in vars(module)}
        self.names(module, known)

    def _patch_transforms(self, module: ModuleType) -> None:
        transforms: Any = module
        known = {
            old: moved(f"torchvision.transforms:{new}") for old, new in TRANSFORMS.items() if old not in vars(module)
        }
        self.names(module, known)
        for name in ("Resize", "RandomResizedCrop", "RandomRotation", "RandomAffine", "RandomPerspective"):
            if hasattr(transforms, name):
                self._renamed(getattr(transforms, name), ARGUMENTS)

    def _renamed(self, cls: Any, renamed: dict[str, str]) -> None:
        """Has a class take arguments by the names that they had."""
        build = cls.__init__
        parameters = inspect.signature(build).parameters

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            for old, new in renamed.items():
                if old in keywords and old not in parameters:
                    self.was_used(f"{cls.__name__}({old}=…)", new)
                    value = keywords.pop(old)
                    if new in parameters and value is not False:
                        keywords[new] = _filter(value) if new == "interpolation" else value
            build(this, *arguments, **keywords)

        cls.__init__ = built

    def _patch_models(self, module: ModuleType) -> None:
        known: dict[str, tuple[str, Callable[[], Any]]] = {
            "model_urls": ("placeholder addresses of weights", _Addresses),
            "load_state_dict_from_url": moved("torch.hub:load_state_dict_from_url"),
        }
        self.names(module, {name: entry for name, entry in known.items() if name not in vars(module)})

    def _find(self, name: str) -> ModuleSpec | None:
        frame = importing_frame()
        if name != "torchvision.models.utils" or frame is None or not self.sources.is_users(frame.f_code.co_filename):
            return None
        self.was_used(name, "torch.hub")
        return imports.spec_of(name, _utils)


class _Addresses(dict[str, str]):
    """The address of the weights of any model."""

    def __missing__(self, name: str) -> str:
        return f"https://download.pytorch.org/models/{name}.pth"


def _filter(value: Any) -> Any:
    """The mode of interpolation that a number of Pillow's names."""
    modes = loaded("torchvision.transforms:InterpolationMode")
    names = {0: "NEAREST", 1: "LANCZOS", 2: "BILINEAR", 3: "BICUBIC", 4: "BOX", 5: "HAMMING"}
    return modes[names.get(int(value), "BILINEAR")] if isinstance(value, int) else value


def _utils(name: str) -> ModuleType:
    import types

    import torch

    module = types.ModuleType(name)
    vars(module)["load_state_dict_from_url"] = torch.hub.load_state_dict_from_url
    return module
