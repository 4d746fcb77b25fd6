"""Tensors that modules keep as plain attributes: whether a forward computes with them."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import TYPE_CHECKING, Any

from ... import claims
from ...identities import IdentityMap
from ..naming import class_name, is_project
from .modules import first_argument

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from ..watch import Watch

MOVES = frozenset({"to", "cuda", "cpu", "type_as", "pin_memory", "type"})
SHAPED_LIKE = frozenset({"expand_as", "view_as", "reshape_as", "copy_", "set_", "index_put_", "__setitem__"})
COPIES = frozenset(
    {"ToCopyBackward0", "CloneBackward0"}
)  # what a move, and its stand-in on the CPU, leave in the graph
MOVERS = ("_apply", "to", "cuda")


class Watcher:
    """Follows, through the first forward of each model, what its constructors left in plain attributes."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._assigned: dict[int, tuple[weakref.ref[Any], str, int]] = {}
        self._told: set[int] = set()
        self._looked: IdentityMap[int] = IdentityMap()

    def install(self) -> None:
        """Nothing to replace: it is told of assignments and of forwards."""

    def assigned(self, key: int, tensor: Any) -> None:
        """A tensor became an attribute at the place of this key; only what constructors assign is remembered."""
        node = self._recorder.index.nodes[key]
        if node.name and node.how == "stored" and not self._recorder.inside and tensor.is_leaf and _in_constructor():
            self._assigned[id(tensor)] = weakref.ref(tensor), node.name, key

    def moved(self, key: int, tensor: Any) -> None:
        """A computed tensor became an attribute: it may be what a move made of a parameter."""
        if key in self._told or self._recorder.inside:
            return
        node = self._recorder.index.nodes[key]
        behind = [each for each, _ in tensor.grad_fn.next_functions] if node.name and node.how == "stored" else []
        leaf = getattr(behind[0], "variable", None) if len(behind) == 1 else None
        copies = tensor.grad_fn.name() in COPIES and isinstance(leaf, self._torch.nn.Parameter)
        module = _under_construction() if copies else None
        if copies and not _is_kept(leaf):
            self._told.add(key)
            self._recorder.event(
                "ParameterMoved",
                self._recorder.here(),
                site=self._recorder.index.site(key),
                owner=self._recorder.references.number(module),
                owner_class="" if module is None else class_name(type(module), self._recorder),
                name=node.name,
                elements=tensor.numel(),
            )

    def follow(self, module: Any, call: Any, arguments: Any, keywords: Any) -> Any:
        """Calls a whole module; the first time it is followed what becomes of such tensors in it."""
        version = self._watch.modules.version
        if not self._assigned or self._looked.get(module) == version:
            return call(module, *arguments, **keywords)
        self._looked[module] = version
        found = self._recorder.safely(self._candidates, module) or {}
        if not found:
            return call(module, *arguments, **keywords)
        followed = _Followed(self, found)
        ended = False
        try:
            with _mode(self._torch, followed):
                output = call(module, *arguments, **keywords)
            ended = True
            self._recorder.safely(followed.left, output)
        finally:
            self._recorder.safely(self._tell, followed, ended)
        return output

    def _candidates(self, root: Any) -> dict[int, tuple[Any, Any, str, int]]:
        """The plain tensors of a module's parts, by id, with their owners and the places that assigned them."""
        found: dict[int, tuple[Any, Any, str, int]] = {}
        base: Any = self._torch.nn.Module
        for part in root.modules():
            own = is_project(type(part), self._recorder)
            moves = any(getattr(type(part), name) is not getattr(base, name) for name in MOVERS)
            kept: dict[str, Any] = vars(part) if own and not moves else {}
            for name, tensor in kept.items():
                known = self._place(tensor)
                if known is not None and known[0] == name and tensor.dim() and tensor.numel():
                    found[id(tensor)] = (tensor, part, name, known[1])
            for each in (*part._buffers.values(), *part._parameters.values()):
                known = self._place(each)
                if known is not None:
                    site = self._recorder.index.site(known[1])
                    self._recorder.measured(claims.TENSORS_REGISTERED, each.numel(), "numbers", site=site)
        return found

    def _place(self, tensor: Any) -> tuple[str, int] | None:
        """The attribute that a constructor assigned a tensor to, and where."""
        known = self._assigned.get(id(tensor))
        return known[1:] if known is not None and tensor is not None and known[0]() is tensor else None

    def _tell(self, followed: _Followed, ended: bool) -> None:  # noqa: FBT001 - `safely` hands on positions
        """Writes what was used; what was not only where the forward came to its end: else that shows nothing."""
        for key, (tensor, part, name, place) in followed.found.items():
            site = self._recorder.index.site(place)
            use = followed.uses.get(key)
            if vars(part).get(name) is not tensor:
                continue  # the forward has put another one there
            if use is None:
                if ended:
                    self._recorder.measured(claims.PLAIN_TENSORS_UNUSED, tensor.numel(), "numbers", site=site)
                continue
            self._recorder.event(
                "PlainTensorUsed",
                self._recorder.here(),
                site=site,
                owner=self._recorder.references.number(part),
                owner_class=class_name(type(part), self._recorder),
                name=name,
                used_at=use,
                trained=bool(tensor.requires_grad),
                elements=tensor.numel(),
            )

    def here(self) -> int:
        """The number of the place that the user's code is at."""
        return self._recorder.here().site

    def looked(self, followed: _Followed, function: Any, given: Any, result: Any) -> None:
        """An operation was done while a module is followed."""
        self._recorder.safely(followed.look, function, given, result)


class _Followed:
    """What becomes of some tensors in one forward: those computed of them alone are followed too."""

    def __init__(self, watcher: Watcher, found: dict[int, tuple[Any, Any, str, int]]) -> None:
        self._watcher = watcher
        self._tensor = watcher._torch.Tensor
        self.found = found
        self.uses: dict[int, int] = {}
        self._origin = {key: (tensor, {key}) for key, (tensor, *_) in found.items()}

    def look(self, function: Any, given: tuple[Any, ...], result: Any) -> None:
        name = getattr(function, "__name__", "")
        tensors = list(self._tensors(given[:1] if name in SHAPED_LIKE | {"__getitem__"} else given))
        origins = [self._origin[id(each)][1] for each in tensors if id(each) in self._origin]
        if not origins or name in MOVES:
            return
        together = set[int]().union(*origins)
        if len(origins) < len(tensors):
            self._used(together)
        else:
            for made in self._tensors((result,)):
                if made.dim():
                    self._origin[id(made)] = made, together

    def left(self, output: Any) -> None:
        """The forward returns this."""
        for tensor in self._tensors((output,)):
            if id(tensor) in self._origin:
                self._used(self._origin[id(tensor)][1])

    def _used(self, keys: set[int]) -> None:
        for key in keys - self.uses.keys():
            self.uses[key] = self._watcher.here()

    def _tensors(self, values: Any, depth: int = 2) -> Any:
        for value in values:
            if isinstance(value, self._tensor):
                yield value
            elif depth and isinstance(value, (list, tuple)):
                yield from self._tensors(value, depth - 1)
            elif depth and isinstance(value, dict):
                yield from self._tensors(value.values(), depth - 1)


def _mode(torch: Any, followed: _Followed) -> Any:
    """A mode in which every operation is shown to the watcher."""
    watcher = followed._watcher

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = None
            try:
                result = func(*args, **(kwargs or {}))
            finally:  # an operation that fails has taken its tensors, too
                if getattr(func, "__name__", "") not in {"__get__", "__set__"}:
                    watcher.looked(followed, func, (*args, *(kwargs or {}).values()), result)
            return result

    return Mode()


def _in_constructor() -> bool:
    """Whether the user's code that runs is a module's constructor, or called by one."""
    return _under_construction() is not None


def _under_construction() -> Any:
    """The module whose constructor is, or has called, the user's code that runs; None where there is none."""
    for frame in _frames():
        module = first_argument(frame) if frame.f_code.co_name == "__init__" else None
        if hasattr(module, "_modules"):
            return module
    return None


def _is_kept(parameter: Any) -> bool:
    """Whether a module or a container still has a parameter: then a copy of it beside it takes nothing away."""
    variables = {id(frame.f_locals) for frame in _frames()}
    referrers = gc.get_referrers(parameter)
    return any(isinstance(each, (dict, list)) and id(each) not in variables for each in referrers)


def _frames() -> Iterator[FrameType]:
    """The functions that run, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
