"""Compares the `backward` of the project's `autograd.Function`s with differences of their `forward`, on copies of its inputs."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...nodes import last_name
from ...watching.definitions import code_of
from ...watching.naming import is_project
from ..instrument import Instrument as Base
from .differences import INDEPENDENT, CannotTell, Copied, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 2  # calls of one class that are looked at
LARGEST = 1_000_000  # numbers that it is given
ACTING = "it does more than compute"
TOO_MUCH = "it is given too much to be called again"
ANY = "its backward may be any: forward passes on, goes in steps, or gets no gradient"
OTHER_TENSORS = "it is given tensors of another kind"
NOT_COPIED = "it is given what cannot be copied"
PLAIN = (int, float, str, bytes, type(None))
ACTS = frozenset(
    """
    backward print open write append extend update add_scalar synchronize all_reduce all_gather all_gather_into_tensor
    all_to_all all_to_all_single broadcast reduce reduce_scatter reduce_scatter_tensor isend irecv send recv barrier
    get_rng_state set_rng_state
    """.split()
)
"""Names of what does more than compute: such a function is not called once more."""


class _OfClass:
    """A class method, of which a wrapper may say what it wraps."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __get__(self, _: Any, cls: type) -> Any:
        return types.MethodType(self._function, cls)


class Instrument(Base):
    """Looks at the first calls of each such class."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._left: dict[type, int] = {}
        watch.patches.replace(watch.torch.autograd.Function, "apply", self._apply)

    def _apply(self, original: Any) -> Any:
        function, recorder, left = original.__func__, self.watch.recorder, self._left

        def apply(cls: Any, *arguments: Any, **keywords: Any) -> Any:
            if recorder.quiet or keywords or left.get(cls, MOST) <= 0:
                return function(cls, *arguments, **keywords)
            if cls not in left:
                left[cls] = MOST if is_project(cls, recorder) else 0
            if left[cls] and recorder.safely(self._is_trained, arguments):
                left[cls] -= 1
                recorder.safely(self._look, functools.partial(function, cls), cls, arguments)
            return function(cls, *arguments)

        return _OfClass(apply)

    def _is_trained(self, arguments: tuple[Any, ...]) -> bool:
        """Whether gradients will come: of tensors that are no one's within a transformation of functions."""
        torch = self.watch.torch
        tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
        live = torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()
        return live and any(each.requires_grad for each in tensors)

    def _look(self, function: Callable[..., Any], cls: type, arguments: tuple[Any, ...]) -> None:
        recorder = self.watch.recorder
        found = next((vars(each)["backward"] for each in cls.__mro__ if "backward" in vars(each)), None)
        code = code_of(getattr(found, "__func__", found))
        file = recorder.index.file(code.co_filename) if code is not None else None
        span = file.functions.get((code.co_firstlineno, "backward")) if file is not None else None
        if span is None:
            return
        fields: dict[str, Any] = {}
        with self.watch.unwatched(), self._undisturbed():
            try:
                check = self._check(function, cls, arguments)
                fields["kept"] = check.kept()
                fields["stayed"] = int(bool(fields["kept"]))
                fields["compared"] = self._compare(check, cls, arguments)
            except Wrong as wrong:
                fields |= wrong.fields
            except CannotTell as reason:
                fields["because"] = str(reason)
            except Exception as error:  # noqa: BLE001 - many cannot do with float64, or on copies
                fields["because"] = f"it does not run on copies in float64: {type(error).__name__}"
        here: Here = recorder.here()
        recorder.event("HandWrittenBackward", here, site=recorder.sites.number(span), class_name=cls.__name__, **fields)

    def _check(self, function: Callable[..., Any], cls: type, arguments: tuple[Any, ...]) -> Copied:
        """The function with copies of what it is given, where it may be called once more."""
        torch = self.watch.torch
        acting = _Acting(self.watch)
        if any(acting.does(cls, method) for method in ("forward", "backward", "setup_context")):
            raise CannotTell(ACTING)
        if sum(each.numel() for each in arguments if isinstance(each, torch.Tensor)) > LARGEST:
            raise CannotTell(TOO_MUCH)
        return Copied(torch, function, [self._copied(each) for each in arguments])

    def _compare(self, check: Copied, cls: type, arguments: tuple[Any, ...]) -> list[str]:
        """The inputs whose gradients were compared, none of which is wrong."""
        torch = self.watch.torch
        names = list(inspect.signature(cls.forward).parameters)  # type: ignore[attr-defined]
        names = (
            names[-len(arguments) :] if len(names) >= len(arguments) else [f"input {n}" for n in range(len(arguments))]
        )
        compared: list[str] = []
        wrong: list[dict[str, Any]] = []
        check.begin()
        for place, (name, each) in enumerate(zip(names, arguments)):  # noqa: B905 - as many
            if not (isinstance(each, torch.Tensor) and each.requires_grad and each.is_floating_point()):
                if not check.matters(place):
                    raise CannotTell(INDEPENDENT)
                continue
            found = check.compared(place)
            if found is not None:
                compared.append(name)
            if isinstance(found, tuple):
                wrong.append({"argument": name, "slope": found[0], "given": found[1]})
        if wrong:
            raise Wrong(**wrong[0], compared=compared)
        if not compared:
            raise CannotTell(ANY)
        return compared

    def _copied(self, thing: Any) -> Any:
        torch = self.watch.torch
        if isinstance(thing, torch.Tensor):
            if thing.is_sparse or thing.is_complex() or thing.is_quantized or thing.is_meta:
                raise CannotTell(OTHER_TENSORS)
            copy = thing.detach().clone()
            return copy.double().requires_grad_(thing.requires_grad) if copy.is_floating_point() else copy
        if isinstance(thing, (*PLAIN, torch.dtype, torch.device)):
            return thing
        if type(thing) in (tuple, list, torch.Size) and all(isinstance(each, PLAIN) for each in thing):
            return thing
        raise CannotTell(NOT_COPIED)

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Random numbers are drawn on the side, autograd records, and nothing is cast."""
        torch = self.watch.torch
        devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
        uncast = [torch.autocast(kind, enabled=False) for kind in ("cpu", "cuda")]
        with torch.random.fork_rng(devices=devices), torch.enable_grad(), uncast[0], uncast[1]:
            yield


class _Acting:
    """Looks at what the methods of a class do beside computing."""

    def __init__(self, watch: Watch) -> None:
        self._trees = watch.recorder.index.trees()
        self._seen: set[Any] = set()

    def does(self, cls: type, name: str) -> bool:
        """Whether a method, or a function of the script that it calls, does more than compute."""
        function = next((vars(each)[name] for each in cls.__mro__ if name in vars(each)), None)
        function = inspect.unwrap(getattr(function, "__func__", function)) if function is not None else None
        return function is not None and self._acts(function, known=function.__module__.startswith("torch."))

    def _acts(self, function: Any, *, known: bool) -> bool:
        code = code_of(function)
        if code in self._seen:
            return False
        self._seen.add(code)
        nodes = [
            node
            for node in ast.walk(self._trees.get(code.co_filename, ast.Module([], [])))
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name
            if min([node.lineno, *(each.lineno for each in node.decorator_list)]) == code.co_firstlineno
        ]
        if len(nodes) != 1:
            return not known  # what nobody can read may do anything
        first = {each.arg for each in nodes[0].args.args[:1]}
        for node in ast.walk(nodes[0]):
            of = node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
            stores = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and of not in first
            if stores or isinstance(node, (ast.Global, ast.Nonlocal, ast.Yield)):
                return True
            if isinstance(node, ast.Call) and last_name(node.func) in ACTS:
                return True
            inner = function.__globals__.get(node.id) if isinstance(node, ast.Name) else None
            if inspect.isfunction(inner) and self._acts(inner, known=inner.__module__.startswith("torch.")):
                return True
        return False
