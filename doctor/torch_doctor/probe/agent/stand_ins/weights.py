"""Pretrained weights that would be fetched, and checkpoints that are not there: random weights stay."""

from __future__ import annotations

import ast
import functools
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .answers import TEXT
from .arguments.values import COUNTED, number
from .source import targets
from .stand_in import StandIn
from .unknown.things import current
from .unread.content import Unread

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from .source import Sources

MISSING = "checkpoint not found"
FETCHED, RANDOM = "the probe downloads nothing", "random weights"
COUNTS = ("epoch", "iter", "step", "global", "start", "n_")
SCORES = ("acc", "best", "loss", "score", "map", "prec")
NO_CHECKPOINT = (TEXT[:20].encode(), b"version https://git-lfs")
"""How files begin that are there instead of a checkpoint: made up where it would have been fetched, or left with a server."""


class RandomWeights(StandIn):
    """Leaves the random weights where others would be fetched or read."""

    replaces = "the probe downloads nothing"
    voids = (told.WEIGHTS,)
    installed_after = ("Gpu", "SavedArrays")

    def with_torch(self, torch: Any) -> None:
        """Patches what fetches weights, what reads checkpoints, and what loads either into a model or an optimizer."""
        _patch_loading(torch.nn.Module, torch)
        _patch_loading(torch.optim.Optimizer, torch)
        _patch_loading(torch.optim.lr_scheduler.LRScheduler, torch)

        def fetched(url: str, *_: Any, **__: Any) -> Absent:
            self.tell(os.path.basename(str(url)), RANDOM)
            return Absent()

        torch.hub.load_state_dict_from_url = fetched
        after("torch.utils.model_zoo", functools.partial(_patch_zoo, fetched))
        for name in ("torchvision.models._api", "torchvision._internally_replaced_utils"):
            after(name, functools.partial(_patch_vision, self, fetched))
        _patch_reading(torch, self)
        _patch_compiled(torch, self)
        Absent.user = self


class Absent(dict[str, Any]):
    """A state that is not there: empty, every part of it another one, a counter in it 0, a size by its name."""

    user: StandIn | None = None

    def __missing__(self, key: Any) -> Any:
        name = str(key).lower()
        if (
            name.rpartition("_")[2] in COUNTED
            and not any(word in name for word in COUNTS[:3])
            and self.user is not None
        ):
            value = number(name)
            voids = [told.WEIGHTS, told.FILES, told.SHAPES, told.ARGUMENTS]
            self.user.tell(f"{key!r} of a checkpoint", repr(value), why=MISSING, voids=voids)
            return value
        if any(word in name for word in COUNTS):
            return 0
        return 0.0 if any(word in name for word in SCORES) else Absent()

    def get(self, key: Any, default: Any = None) -> Any:
        """The part under a key, as `[]` gives it; what is given instead where that is something."""
        return self[key] if default is None else default

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()


def _patch_loading(cls: Any, torch: Any) -> None:
    load = cls.load_state_dict

    @functools.wraps(load)
    def load_state_dict(self: Any, state_dict: Any, *arguments: Any, **keywords: Any) -> Any:
        if type(state_dict) is Unread and Absent.user is not None:
            Absent.user.tell("a state that was not read", RANDOM, why=MISSING)
        if isinstance(state_dict, Absent) or type(state_dict) is Unread:
            if isinstance(self, torch.nn.Module):
                return torch.nn.modules.module._IncompatibleKeys([], [])
            return None
        return load(self, state_dict, *arguments, **keywords)

    cls.load_state_dict = load_state_dict


def _patch_zoo(fetched: Any, module: ModuleType) -> None:
    zoo: Any = module
    zoo.load_url = fetched


def _patch_vision(stand_in: StandIn, fetched: Any, module: ModuleType) -> None:
    found: Any = module
    if hasattr(found, "load_state_dict_from_url"):
        found.load_state_dict_from_url = fetched
    weights = getattr(found, "WeightsEnum", None)
    if weights is not None:

        def get_state_dict(self: Any, *_: Any, **__: Any) -> Absent:
            stand_in.tell(str(self), RANDOM)
            return Absent()

        weights.get_state_dict = get_state_dict


def _patch_reading(torch: Any, stand_in: StandIn) -> None:
    load = torch.load

    @functools.wraps(load)
    def read(f: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return load(f, *arguments, **keywords)
        except Exception as error:
            if not isinstance(error, FileNotFoundError) and not _is_none(f):
                raise
            frame = stand_in.sources.innermost()
            statements = stand_in.sources.statements(frame) if frame is not None else []
            is_one = bool(statements) and _is_loaded(statements[0], stand_in.sources)
            if not is_one and stand_in.learnt.form(f) != "weights":
                whole = current().elsewhere(f"torch.load({os.fspath(f)!r})", "load", MISSING)
                if whole is not None:
                    return whole
                stand_in.teller.missing(
                    os.fspath(f), f"the script reads {os.fspath(f)}, which does not exist: create it first"
                )
                raise
            how = "random weights"
            stand_in.tell(os.fspath(f), how, why=MISSING, voids=[told.WEIGHTS, told.FILES])
            return Absent()

    torch.load = read


def _is_none(path: Any) -> bool:
    """Whether a file is no checkpoint, but what is there instead of one."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(max(map(len, NO_CHECKPOINT))).startswith(NO_CHECKPOINT)


def _patch_compiled(torch: Any, stand_in: StandIn) -> None:
    """Modules that were compiled and saved as a whole."""
    load = torch.jit.load

    @functools.wraps(load)
    def read(f: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(f, (str, os.PathLike)) and not os.path.exists(f) and stand_in.sources.called_by_user():
            whole = current().elsewhere(f"torch.jit.load({os.fspath(f)!r})", "load", MISSING)
            if whole is not None:
                return whole
        return load(f, *arguments, **keywords)

    torch.jit.load = read


def _is_loaded(statement: ast.stmt, sources: Sources) -> bool:
    """Whether what a statement reads goes into a `load_state_dict`, at once or by the name that holds it."""
    names = {name for name in targets(statement) if name}
    return _loads(ast.walk(statement), None) or any(names and _loads(ast.walk(tree), names) for tree in sources.trees())


def _loads(nodes: Iterable[ast.AST], names: set[str] | None) -> bool:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict":
            inside = {each.id for given in node.args for each in ast.walk(given) if isinstance(each, ast.Name)}
            if names is None or inside & names:
                return True
    return False
