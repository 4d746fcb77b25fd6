"""Where values that are not finite are born: a copy of the module runs again, operation by operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..copies import copied, elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...watching.watch import Watch

LARGEST = 50_000_000  # parameters of a model that is copied to run again


class OperationSite(NamedTuple):
    """The place of an operation in the user's code, and what it is called."""

    site: int | None = None
    operation: str = ""


def born_in_forward(watch: Watch, module: Any, arguments: Any, keywords: Any, kind: str) -> OperationSite:
    """The first operation that makes such a value."""
    found: list[OperationSite] = []

    def look(result: Any, birth: OperationSite) -> None:
        tensor = result.detach()
        if not found and bool(tensor.isnan().any() if kind == "nan" else not tensor.isfinite().all()):
            found.append(birth)

    with watch.unwatched(), watch.torch.no_grad():
        _run(watch, module, arguments, keywords, look)
    return found[0] if found else OperationSite()


def born_in_backward(watch: Watch, module: Any, arguments: Any, keywords: Any) -> OperationSite:
    """The operation whose gradient is not finite although what comes back to it is: hooks of the nodes tell."""
    torch = watch.torch
    found: list[OperationSite] = []
    births: dict[Any, OperationSite] = {}

    def finite(gradients: Any) -> bool:
        return all(bool(each.isfinite().all()) for each in gradients if each is not None)

    def look(result: Any, birth: OperationSite) -> None:
        node = result.grad_fn
        if node is not None and node not in births:
            births[node] = birth
            node.register_hook(lambda given, got: found.append(birth) if finite(got) and not finite(given) else None)

    with watch.unwatched(), torch.enable_grad():
        own, output = _run(watch, module, arguments, keywords, look)
        ends = [each for each in watch.marks.tensors(output) if each.requires_grad and each.is_floating_point()]
        wanted = [each for each in own.parameters() if each.requires_grad] if own is not None else []
        if ends and wanted:
            torch.autograd.grad([each.sum() for each in ends], wanted, allow_unused=True)
    return found[0] if found else OperationSite()


def _run(
    watch: Watch, module: Any, arguments: Any, keywords: Any, look: Callable[[Any, OperationSite], None]
) -> tuple[Any, Any]:
    """A copy of the module and what it answers; `look` gets what each operation makes. None where it is too large."""
    torch, recorder = watch.torch, watch.recorder
    if elements(watch, module.parameters()) > LARGEST:
        return None, None

    class LookingMode(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and result.is_floating_point():
                frame = recorder.sites.frame(1)
                site = None if frame is None else recorder.sites.of_frame(frame)
                look(result, OperationSite(site, getattr(function, "__name__", "")))
            return result

    with torch.random.fork_rng(devices=[]):
        own = copied(watch, module)
        with LookingMode():
            return own, own(*arguments, **keywords)
