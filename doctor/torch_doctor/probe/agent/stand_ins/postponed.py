"""Packages that are not there and play a part: importing them is no end yet, using what they have is."""

from __future__ import annotations

import ast
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .stand_in import StandIn

# Import name → what to install, where it is called otherwise.
INSTALLED_AS = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "torch_geometric": "torch-geometric",
    "pl_bolts": "lightning-bolts",
    "pytorch_lightning": "pytorch-lightning",
    "attr": "attrs",
    "Levenshtein": "python-Levenshtein",
    "bs4": "beautifulsoup4",
    "efficientnet_pytorch": "efficientnet-pytorch",
}
BUILDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class PostponedModule(types.ModuleType):
    """A module of which every name can be imported, and nothing can be called."""

    __all__: tuple[str, ...] = ()

    def __init__(self, name: str, user: StandIn) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._user = user

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        inner = sys.modules.get(f"{self.__name__}.{name}")
        return inner if inner is not None else Postponed(f"{self.__name__}.{name}", self._user)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """The end."""
        raise _missing(self.__name__, self._user)


class Postponed:
    """A name of a package that is not there: it can be a base, a decorator or an annotation; its first use raises."""

    def __init__(self, name: str, user: StandIn) -> None:
        self.__dict__.update(_name=name, _user=user)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if not _defines(self._user, sys._getframe(1)):
            raise _missing(self._name, self._user)
        return Postponed(f"{self._name}.{name}", self._user)

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        """What it decorates, or the decorator, where something is being defined; else the end."""
        if not _defines(self._user, sys._getframe(1)):
            raise _missing(self._name, self._user)
        if len(arguments) == 1 and isinstance(arguments[0], (types.FunctionType, type)):
            return arguments[0] if isinstance(arguments[0], type) else _raising(self._name, self._user)
        return self

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[type, ...]:
        """A base whose objects cannot be built."""
        name, user = self._name, self._user

        def build(*_: Any, **__: Any) -> None:
            raise _missing(name, user)

        return (type(name.rpartition(".")[2], (), {"__new__": build, "__init_subclass__": lambda *_, **__: None}),)

    def __getitem__(self, _: Any) -> Any:
        return self

    def __or__(self, _: Any) -> Any:
        return self

    __ror__ = __or__

    def __instancecheck__(self, _: Any) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __enter__(self) -> Any:
        raise _missing(self._name, self._user)

    def __iter__(self) -> Any:
        raise _missing(self._name, self._user)

    def __float__(self) -> float:
        raise _missing(self._name, self._user)

    __len__ = __int__ = __exit__ = __add__ = __mul__ = __bool__ = __lt__ = __gt__ = __float__
    __hash__ = object.__hash__

    def __eq__(self, _: object) -> bool:
        raise _missing(self._name, self._user)


def _defines(user: StandIn, frame: types.FrameType) -> bool:
    """Whether the line that runs is a decorator, a base or an annotation of what is defined there."""
    tree = user.sources.tree(frame.f_code.co_filename)
    return tree is not None and any(
        min([each.lineno, *(part.lineno for part in each.decorator_list)]) <= frame.f_lineno < each.body[0].lineno
        or each.lineno == frame.f_lineno
        for each in ast.walk(tree)
        if isinstance(each, BUILDING)
    )


def _missing(name: str, user: StandIn) -> ModuleNotFoundError:
    top = name.partition(".")[0]
    user.teller.missing(top, asked_for(top))
    return ModuleNotFoundError(f"No module named {top!r}", name=top)


def asked_for(top: str) -> str:
    """What is said of a package that is not there."""
    return f"the script imports {top}, which is not installed: install {INSTALLED_AS.get(top, top)}"


def _raising(name: str, user: StandIn) -> Callable[..., Any]:
    def called(*_: Any, **__: Any) -> Any:
        raise _missing(name, user)

    return called
