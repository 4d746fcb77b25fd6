"""The names that are imported from modules that are not there, and these modules."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any

from ..arguments.values import COUNTED, MEASURED, number
from ..silent import Silent, unpacked
from ..told import PATH
from .bases import base_for

MADE_UP = "placeholder values inferred from their use"
VERSION = "1.0.0"
ASKING = "is_"
FEW, MANY = 10, 1_000
WORDS = ("vocab", "stoi", "itos", "word", "token")  # in names of what has many entries


class Unknown(Silent):
    """A name of such a module, or what its calls give, of which nothing else is known."""

    def __init__(self, name: str, unknowns: Any) -> None:
        super().__init__(name)
        self.__dict__["_unknowns"] = unknowns

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        unknowns: Any = self._unknowns
        if unknowns.is_asked_whether(name):
            raise AttributeError(name)
        if not self._name.rpartition(".")[2].islower():  # no module, but something that has settings
            self._used()
        word = name.lower().rpartition("_")[2]
        value: Any = Unknown(f"{self._name}.{name}", unknowns)
        if word in COUNTED or word in MEASURED:
            value = number(name) if word in COUNTED else 0.01
        self.__dict__[name] = value
        return value

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """As `Unknowns.called`."""
        return self._unknowns.called(self._name, arguments, keywords)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._unknowns.receiving.keep(self._name, value)

    def __setitem__(self, _: Any, value: Any) -> None:
        self._unknowns.receiving.keep(self._name, value)

    def _used(self) -> None:
        """Its value decides something."""
        self._unknowns.tell(self._name, MADE_UP)

    def __bool__(self) -> bool:
        self._used()
        return True

    def __eq__(self, other: object) -> bool:
        self._used()
        if isinstance(other, str) and not self.__dict__.get("_word"):
            self.__dict__["_word"] = self._unknowns.words.chosen()
        return self is other or (isinstance(other, str) and self.__dict__["_word"] == other)

    __hash__ = Silent.__hash__

    def __len__(self) -> int:
        self._used()
        return MANY if any(word in self._name.lower() for word in WORDS) else FEW

    def __fspath__(self) -> str:
        self._used()
        return PATH

    def __getitem__(self, _: Any) -> Any:
        self._used()
        return Unknown(self._name, self._unknowns)

    def __iter__(self) -> Any:
        unknowns: Any = self._unknowns
        frame = unknowns.sources.innermost()
        if frame is not None and unknowns.trains_in_loop(frame):
            return iter(unknowns.loader(self._name, {}))
        return iter([Unknown(self._name, unknowns) for _ in range(unpacked(sys._getframe(1)))])

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[type, ...]:
        """The base that what is defined with it needs."""
        unknowns: Any = self._unknowns
        base, how = base_for(unknowns.sources, sys._getframe(1), self._name, unknowns.torch)
        unknowns.tell_base(self._name, how)
        return (base,)

    def __instancecheck__(self, _: Any) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __or__(self, _: Any) -> Any:
        return self

    __ror__ = __or__


class UnknownModule(types.ModuleType):
    """A module that is not there, with whatever is asked of it."""

    def __init__(self, name: str, unknowns: Any) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._unknowns = unknowns

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._starred()
        if name == "__version__":
            return VERSION
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name.startswith(ASKING) and not self._unknowns.sources.is_users(sys._getframe(1).f_code.co_filename):
            raise AttributeError(name)  # a library found it in `sys.modules`, and asks whose values it has got
        whole = f"{self.__name__}.{name}"
        value = sys.modules.get(whole) or Unknown(whole, self._unknowns)
        setattr(self, name, value)
        return value

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """As a function of this name."""
        return self._unknowns.called(self.__name__, arguments, keywords)

    def _starred(self) -> list[str]:
        """The names that `from module import *` has to give: those that the file uses and nobody else defines."""
        sources = self._unknowns.sources
        frame = sources.innermost()
        tree = sources.tree(frame.f_code.co_filename) if frame is not None else None
        if tree is None or frame is None:
            return []
        defined = set(frame.f_globals) | set(frame.f_builtins)
        used: list[str] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                (used.append if isinstance(node.ctx, ast.Load) else defined.add)(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                defined.add(node.name)
            elif isinstance(node, ast.arg):
                defined.add(node.arg)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                defined |= {each.asname or each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ExceptHandler) and node.name:
                defined.add(node.name)
        return [name for name in dict.fromkeys(used) if name not in defined]
