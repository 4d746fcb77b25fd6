"""The modules `gym` and `gymnasium`, made of the parts of this package."""

from __future__ import annotations

import ast
import functools
import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from ... import imports
from .. import told
from ..fallbacks import has_fallback, importing_frame, is_only_asking
from ..silent import SilentModule
from ..source import spelled
from ..stand_in import StandIn
from . import core, environments, spaces, wrappers
from .table import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.machinery import ModuleSpec

NAMES = ("gym", "gymnasium")
FIVE, FOUR = 5, 4  # values of a step


class Environments(StandIn):
    """Stands in for gym and gymnasium, and for environments that these cannot build here."""

    replaces = "package not installed"
    voids = (told.VALUES,)

    def prepare(self) -> None:
        """Finds both where they are not installed, and patches gymnasium where it is."""
        imports.where_absent(self._find)
        imports.after("gymnasium", self._patch)

    def _find(self, name: str) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top not in NAMES:
            return None
        if name != top:
            return imports.spec_of(name, _inner) if isinstance(sys.modules.get(top), Library) else None
        frame = importing_frame()
        users = frame is not None and self.sources.is_users(frame.f_code.co_filename)
        if not users or is_only_asking() or has_fallback(self.sources, frame):
            return None
        new = top == "gymnasium" or self._unpacks_five()
        self.tell(top, "environments with synthetic observations and rewards")
        return imports.spec_of(name, functools.partial(Library, new=new, stand_in=self))

    def _unpacks_five(self) -> bool:
        """Whether the user's code takes a step apart as since gym 0.26: into five values, or a beginning into two."""
        counts: dict[str, set[int]] = {"step": set(), "reset": set()}
        for tree in self.sources.project_trees():
            assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
            calls = [node for node in assigned if isinstance(node.value, ast.Call) and spelled(node.value) in counts]
            whole = [node for node in calls if isinstance(node.targets[0], ast.Name)]
            holding = {spelled(node.targets[0]): spelled(node.value) for node in whole}
            for node in assigned:
                called = spelled(node.value) if node in calls else holding.get(spelled(node.value), "")
                target = node.targets[0]
                if called and isinstance(target, (ast.Tuple, ast.List)):
                    counts[called].add(len(target.elts))
        return FIVE in counts["step"] or (FOUR not in counts["step"] and bool(counts["reset"]))

    def _patch(self, module: types.ModuleType) -> None:
        """Environments of packages that are not there are made up, of gymnasium's own classes."""
        library: Any = module
        make = library.make

        @functools.wraps(make)
        def made(id: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: A002 - as gymnasium has it
            try:
                return make(id, *arguments, **keywords)
            except Exception:
                kind = kind_of(id) if isinstance(id, str) else None
                if kind is None or not self.sources.called_by_user():
                    raise
            how = "synthetic observations and rewards"
            self.tell(f"gymnasium.make({id!r})", how, why="the environment cannot be created here")
            return environments.made(id, kind, library.Env, library.spaces, new=True)

        library.make = made


class Library(types.ModuleType):
    """`gym`, or `gymnasium`; `new` where a step gives five values."""

    def __init__(self, name: str, *, new: bool, stand_in: StandIn) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "1.0.0" if name == "gymnasium" else "0.26.2" if new else "0.21.0"
        self.new = new
        self._stand_in = stand_in
        self._registered: dict[str, tuple[Any, dict[str, Any]]] = {}
        core.Env.new = new
        for cls in (core.Env, core.Wrapper, core.ObservationWrapper, core.RewardWrapper, core.ActionWrapper):
            setattr(self, cls.__name__, cls)
        self.Space = spaces.Space
        self.spaces = self._made_of("spaces", vars(spaces))
        self.core = self._made_of("core", vars(core))
        self.vector = self._made_of("vector", {"make": self._vector, **dict.fromkeys(VECTORS, core.VectorEnv)})
        self.wrappers = self._made_of("wrappers", vars(wrappers))
        self.error = self._made_of("error", {name: type(name, (Exception,), {}) for name in ERRORS})
        seeding = self._made_of("utils.seeding", {"np_random": _np_random})
        self.utils = self._made_of("utils", {"seeding": seeding, "EzPickle": object})
        inner = {"register": self.register, "registry": _Registry(self._registered), "make": self.make}
        registration = self._made_of("envs.registration", inner)
        self.envs = self._made_of("envs", {**inner, "registration": registration})
        self.logger: Any = SilentModule(f"{name}.logger")
        sys.modules[f"{name}.logger"] = self.logger

    def _made_of(self, name: str, values: Any) -> types.ModuleType:
        whole = f"{self.__name__}.{name}"
        module = types.ModuleType(whole)
        module.__path__ = []
        vars(module).update({key: value for key, value in values.items() if not key.startswith("__")})
        sys.modules[whole] = module
        return module

    def make(self, id: Any, *_: Any, **keywords: Any) -> Any:  # noqa: A002 - as gym has it
        """The environment of a name: one that the script registered, or one that is known."""
        if id in self._registered:
            entry, given = self._registered[id]
            return _entry(entry)(**{**given, **{key: keywords[key] for key in keywords if key != "render_mode"}})
        kind = kind_of(str(id))
        if kind is None:
            name = str(id)
            self._stand_in.teller.missing(name, f"the script creates the environment {name}: install {self.__name__}")
            raise self.error.UnregisteredEnv(name)
        environment = environments.made(str(id), kind, core.Env, spaces, new=self.new)
        environment.render_mode = keywords.get("render_mode")
        return wrappers.TimeLimit(environment)

    def make_vec(self, id: Any, num_envs: int = 1, **keywords: Any) -> Any:  # noqa: A002 - as gym has it
        """Several of one environment."""
        return self._vector(id, num_envs, **keywords)

    def register(self, id: str, entry_point: Any = None, kwargs: Any = None, **_: Any) -> None:  # noqa: A002
        """Keeps what builds an environment of the script's own."""
        self._registered[id] = entry_point, kwargs or {}

    def spec(self, id: str) -> Any:  # noqa: A002 - as gym has it
        """What is known of an environment."""
        return self.make(id).spec

    def _vector(self, id: Any, num_envs: int = 1, *_: Any, **keywords: Any) -> Any:  # noqa: A002
        return core.VectorEnv([lambda: self.make(id, **keywords)] * num_envs)


VECTORS = ("SyncVectorEnv", "AsyncVectorEnv", "VectorEnv")
ERRORS = ("Error", "UnregisteredEnv", "DependencyNotInstalled", "ResetNeeded", "NameNotFound", "InvalidAction")


class _Registry(dict[str, Any]):
    """The environments that were registered."""

    def all(self) -> Iterator[Any]:
        """What is known of them."""
        return iter(self.values())

    @property
    def env_specs(self) -> dict[str, Any]:
        """The same, by name."""
        return self


def _entry(entry: Any) -> Callable[..., Any]:
    if callable(entry):
        return entry  # type: ignore[no-any-return]
    module, _, name = str(entry).partition(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def _np_random(seed: Any = None) -> tuple[Any, Any]:
    import numpy as np

    return np.random.default_rng(0 if seed is None else seed), seed


def _inner(name: str) -> types.ModuleType:
    """A module that is there already, or one of which every name is silent."""
    found = sys.modules.get(name)
    return found if found is not None else SilentModule(name)
