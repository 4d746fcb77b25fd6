"""The modules `torchvision` and `PIL`, made of the parts of this package when a script imports them."""

from __future__ import annotations

import functools
import importlib
import io
import os
import sys
import types
from typing import TYPE_CHECKING, Any

from .. import imports
from . import picture_code, told
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .silent import SilentModule
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

REPLICAS = f"{(__package__ or '').rpartition('.')[0]}.replicas.torchvision"
LIBRARIES = {
    "torchvision": (
        "datasets of random images, transforms, and models with fewer layers and random weights",
        (told.WEIGHTS,),
    ),
    "PIL": ("synthetic images", ()),
}
"""What is there instead, and what that makes meaningless by itself: made-up data says so where it is read."""
MODEL_FILES = (
    "resnet",
    "vgg",
    "alexnet",
    "densenet",
    "inception",
    "googlenet",
    "mobilenet",
    "mobilenetv2",
    "squeezenet",
)


class Vision(StandIn):
    """Stands in for torchvision and Pillow where they are not installed."""

    replaces = "package not installed"
    voids = (told.VALUES,)

    def prepare(self) -> None:
        """Finds both where they are not installed."""
        imports.where_absent(self._find)

    def _find(self, name: str) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top not in LIBRARIES:
            return None
        if name != top:
            known = isinstance(sys.modules.get(top), VisionLibrary)
            return imports.spec_of(name, functools.partial(_inner, stand_in=self)) if known else None
        frame = importing_frame()
        users = frame is not None and self.sources.is_users(frame.f_code.co_filename)
        if not users or is_only_asking() or has_fallback(self.sources, frame):
            return None
        how, voids = LIBRARIES[top]
        self.tell(top, how, voids=voids)
        return imports.spec_of(name, VisionLibrary)


class VisionLibrary(types.ModuleType):
    """A library, whose modules are imported when they are asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "0.20.0" if name == "torchvision" else "10.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or f"{self.__name__}.{name}" not in MODULES:
            message = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)
        return importlib.import_module(f"{self.__name__}.{name}")


class Inner(types.ModuleType):
    """A module of a library, with the weights of every model where it has models."""

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_Weights") and ".models" in self.__name__:
            return _part("models").Weights
        whole = f"{self.__name__}.{name}"
        if whole in MODULES:
            return importlib.import_module(whole)
        message = f"module {self.__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=self)


def _inner(name: str, stand_in: StandIn) -> types.ModuleType:
    make = MODULES.get(name)
    if make is None and not name.startswith("PIL."):
        message = f"No module named {name!r}"
        raise ModuleNotFoundError(message, name=name)
    if make is None:
        return SilentModule(name)  # what draws, and is nobody's data
    module: Any = Inner(name)
    module.__path__ = []
    values = {key: value for key, value in make(stand_in).items() if not key.startswith("_")}
    for value in values.values():
        if isinstance(value, type) and value.__module__.startswith(REPLICAS):
            value.__module__ = name
    vars(module).update(values)
    return module  # type: ignore[no-any-return]


def _part(name: str) -> Any:
    return importlib.import_module(f"{REPLICAS}.{name}")


def _transforms(_: StandIn) -> dict[str, Any]:
    found = {**vars(_part("transforms")), **vars(_part("random_transforms"))}
    return {name: value for name, value in found.items() if isinstance(value, type)}


def _images(stand_in: StandIn) -> dict[str, Any]:
    """`PIL.Image`, whose `open` reads what is there and makes up the rest."""
    found = _part("pictures")

    def opened(fp: Any, *_: Any, **__: Any) -> Any:
        name = os.fspath(fp) if isinstance(fp, (str, os.PathLike)) else getattr(fp, "name", "")
        if isinstance(name, str) and name and not os.path.exists(name):
            if os.path.splitext(name)[1].lower() not in picture_code.READABLE:
                raise FileNotFoundError(2, "No such file or directory", name)
        elif isinstance(fp, io.BytesIO):
            name = str(len(fp.getvalue()))
        stand_in.tell("images", "random images 256×256", why="image files not found")
        return found.drawn(str(name), mask=picture_code.is_mask(str(name)))

    return {**vars(found), "open": opened, "isImageType": lambda value: isinstance(value, found.Image)}


def _models(stand_in: StandIn) -> dict[str, Any]:
    made: dict[str, Any] = _part("models").by_name(stand_in)

    def get_model(name: str, **config: Any) -> Any:
        return made[name.lower()](**config)

    return {
        **made,
        "get_model": get_model,
        "list_models": lambda *_, **__: sorted(made),
        "Weights": _part("models").Weights,
    }


def _datasets(stand_in: StandIn) -> dict[str, Any]:
    return dict(_part("datasets").by_name(stand_in))


def _folder(stand_in: StandIn) -> dict[str, Any]:
    found = _part("datasets")
    names = _part("datasets").by_name(stand_in)
    own = {
        "default_loader": found.default_loader,
        "pil_loader": found.pil_loader,
        "IMG_EXTENSIONS": picture_code.READABLE,
    }
    return {"ImageFolder": names["ImageFolder"], "DatasetFolder": names["DatasetFolder"], **own}


def _io(stand_in: StandIn) -> dict[str, Any]:
    import enum

    ImageReadMode = enum.Enum(  # noqa: N806 - a class
        "ImageReadMode", ["UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA"]
    )
    found = _part("operations")

    def read_image(*arguments: Any, **keywords: Any) -> Any:
        stand_in.tell("images", "random images", why="image files not found")
        return found.read_image(*arguments, **keywords)

    return {"read_image": read_image, "decode_image": read_image, "ImageReadMode": ImageReadMode}


def _all(name: str) -> Callable[[StandIn], dict[str, Any]]:
    return lambda _: vars(_part(name))


MODULES: dict[str, Callable[[StandIn], dict[str, Any]]] = {
    "PIL.Image": _images,
    "torchvision.transforms": _transforms,
    "torchvision.transforms.transforms": _transforms,
    "torchvision.transforms.v2": _transforms,
    "torchvision.transforms.functional": _all("functional"),
    "torchvision.transforms.v2.functional": _all("functional"),
    "torchvision.datasets": _datasets,
    "torchvision.datasets.folder": _folder,
    "torchvision.models": _models,
    "torchvision.models.segmentation": lambda _: _part("tasks").segmenting(),
    "torchvision.models.segmentation.deeplabv3": lambda _: _part("tasks").segmenting(),
    "torchvision.models.segmentation.fcn": lambda _: _part("tasks").segmenting(),
    "torchvision.models.detection": lambda _: _part("tasks").detecting(),
    "torchvision.models.detection.faster_rcnn": lambda _: _part("tasks").detecting(),
    "torchvision.models.detection.mask_rcnn": lambda _: _part("tasks").detecting(),
    "torchvision.ops": lambda _: _part("operations").ops(),
    "torchvision.ops.boxes": lambda _: _part("operations").ops(),
    "torchvision.utils": lambda _: _part("operations").utils(),
    "torchvision.io": _io,
    **{f"torchvision.models.{name}": _models for name in MODEL_FILES},
}
