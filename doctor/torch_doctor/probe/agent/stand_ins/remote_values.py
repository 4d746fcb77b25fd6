"""What stands in for values of other workers: references to values of this process, which call their methods here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Proxy:
    """Calls methods of a value by `call`, as `RRef.rpc_sync()` and its like do."""

    def __init__(self, reference: RemoteReference, call: Callable[..., Any]) -> None:
        self._reference = reference
        self._call = call

    def __getattr__(self, name: str) -> Any:
        reference = self._reference

        def called(*arguments: Any, **keywords: Any) -> Any:
            function = getattr(reference.local_value(), name)
            return self._call(reference.owner(), function, arguments, keywords)

        return called


class RemoteReference:
    """An `RRef` whose owner is this process, whatever its name.

    `calls` are the functions `rpc_sync`, `rpc_async` and `remote`; `here` gives the worker that runs, `real` is
    torch's own class. A run makes a class with them.
    """

    calls: dict[str, Callable[..., Any]]
    here: Callable[[], Any]
    real: Any

    def __init__(self, value: Any, type_hint: Any = None, owner: Any = None) -> None:
        del type_hint
        self._value = value
        self._owner = type(self).here() if owner is None else owner

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls.real[kind]  # TorchScript compiles what is annotated with it

    def local_value(self) -> Any:
        """The value itself."""
        return self._value

    def to_here(self, timeout: float | None = None) -> Any:
        """The value itself."""
        del timeout
        return self._value

    def owner(self) -> Any:
        """The worker that it was made for."""
        return self._owner

    def owner_name(self) -> str:
        """Its name."""
        return str(self._owner.name)

    def is_owner(self) -> bool:
        """True: nobody else is here."""
        return True

    confirmed_by_owner = is_owner

    def rpc_sync(self, timeout: float | None = None) -> Proxy:
        """Calls methods and returns their results."""
        del timeout
        return Proxy(self, type(self).calls["rpc_sync"])

    def rpc_async(self, timeout: float | None = None) -> Proxy:
        """Calls methods and returns futures."""
        del timeout
        return Proxy(self, type(self).calls["rpc_async"])

    def remote(self, timeout: float | None = None) -> Proxy:
        """Calls methods and returns references to their results."""
        del timeout
        return Proxy(self, type(self).calls["remote"])

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:  # noqa: FBT001, FBT002 - torch's
        """The backward pass of a value that is a loss."""
        if dist_autograd_ctx_id >= 0:
            type(self).calls["backward"](dist_autograd_ctx_id, [self._value], retain_graph)
        else:
            self._value.backward(retain_graph=retain_graph)


class ContextGradients:
    """The gradients of distributed autograd, which are those of the context of each pass, and no longer there behind it."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._of: dict[int, dict[Any, Any]] = {}

    def context(self) -> AutogradContext:
        """What `torch.distributed.autograd.context` returns."""
        return AutogradContext(self._of)

    def backward(self, context_id: int, roots: Any, retain_graph: bool = False) -> None:  # noqa: FBT001, FBT002 - torch's
        """Computes the gradients of all leaves."""
        leaves = list(_leaves(roots))
        self._torch.autograd.backward(list(roots), retain_graph=retain_graph)
        self._of[context_id].update({leaf: leaf.grad for leaf in leaves if leaf.grad is not None})

    def of(self, context_id: int) -> dict[Any, Any]:
        """The gradients that were computed in a context."""
        return dict(self._of[context_id])


class AutogradContext:
    """A context of distributed autograd: gradients do not outlive it."""

    def __init__(self, of: dict[int, dict[Any, Any]]) -> None:
        self._of = of
        self._id = -1

    def __enter__(self) -> int:
        self._id = max(self._of, default=0) + 1
        self._of[self._id] = {}
        return self._id

    def __exit__(self, *_: object) -> None:
        for leaf in self._of.pop(self._id):
            leaf.grad = None


def _leaves(roots: Any) -> Any:
    """The tensors that a backward pass gives a gradient."""
    left = [each.grad_fn for each in roots if each.grad_fn is not None]
    seen = {id(each) for each in left}
    while left:
        node = left.pop()
        if hasattr(node, "variable"):
            yield node.variable
        for inner, _ in node.next_functions:
            if inner is not None and id(inner) not in seen:
                seen.add(id(inner))
                left.append(inner)
