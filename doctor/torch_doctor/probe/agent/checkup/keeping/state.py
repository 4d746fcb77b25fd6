"""Parameters, buffers, gradients, and what optimizers, schedulers and scalers hold."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...watching.watch import Watch

PLAIN = (int, float, complex, bool, str, bytes, type(None))


class State:
    """Everything of torch's as it is now; `machinery` are the optimizers, schedulers and scalers of the script."""

    def __init__(self, watch: Watch, machinery: list[Any]) -> None:
        self._torch = watch.torch
        torch = watch.torch
        self._modules = list(watch.modules.alive())
        self._optimizers = [each for each in machinery if isinstance(each, torch.optim.Optimizer)]
        self._others = [each for each in machinery if not isinstance(each, torch.optim.Optimizer)]
        self._flags = [(each, each.training) for each in self._modules if "training" in vars(each)]
        with torch.no_grad():
            self._tensors = [(each, each.detach(), each.detach().clone()) for each in self._all()]
            self._gradients = [
                (each, each.grad, None if each.grad is None else each.grad.detach().clone())
                for each, _, _ in self._tensors
                if each.is_leaf
            ]
            self._states = [(each, state_of(torch, each)) for each in self._optimizers]
            self._kept = [(each, _copied(torch, vars(each))) for each in self._others]

    def restore(self) -> None:
        """Everything is as it was, in the same tensors."""
        torch = self._torch
        with torch.no_grad():
            for tensor, data, values in self._tensors:
                if tensor.data_ptr() != data.data_ptr() or tensor.shape != values.shape:
                    tensor.data = data
                tensor.detach().copy_(values)
            for tensor, gradient, values in self._gradients:
                if gradient is not None:
                    gradient.detach().copy_(values)
                tensor.grad = gradient
            for optimizer, kept in self._states:
                put_back(optimizer, kept)
        for each, flag in self._flags:
            each.training = flag
        self.restore_schedules()

    def schedulers(self) -> list[Any]:
        """The schedulers that count their steps, but for those that wait for a metric."""
        plateau = self._torch.optim.lr_scheduler.ReduceLROnPlateau
        return [each for each, held in self._kept if "last_epoch" in held and not isinstance(each, plateau)]

    def advanced(self) -> dict[Any, int]:
        """By how many steps schedulers are further than they were; those that are not are left out."""
        held = {id(each): values for each, values in self._kept}
        moved = {each: each.last_epoch - held[id(each)]["last_epoch"][0] for each in self.schedulers()}
        return {each: steps for each, steps in moved.items() if steps > 0}

    def restore_schedules(self) -> None:
        """Schedulers and scalers are as they were."""
        with self._torch.no_grad():
            for each, held in self._kept:
                _paste(self._torch, vars(each), held)
            for optimizer, kept in self._states:
                for group, (values, _) in zip(optimizer.param_groups, kept[1]):
                    group.update(values)

    def weights(self) -> list[tuple[Any, Any]]:
        """The tensors, each with its values."""
        return [(tensor, values) for tensor, _, values in self._tensors]

    def differences(self) -> dict[str, int]:
        """How many tensors are not as they were: of models, and of optimizers."""
        torch = self._torch
        weights = sum(not _same(tensor, values) for tensor, _, values in self._tensors)
        weights += sum(
            (tensor.grad is None) != (values is None) or (values is not None and not _same(tensor.grad, values))
            for tensor, _, values in self._gradients
        )
        states = 0
        for optimizer, (kept, groups) in self._states:
            states += len(optimizer.state) != len(kept)
            for parameter, values in kept:
                for name, (value, copied) in values.items():
                    now = optimizer.state.get(parameter, {}).get(name)
                    tensor = isinstance(value, torch.Tensor)
                    states += (now is not value or not _same(now, copied)) if tensor else now != copied
            for group, (held, _) in zip(optimizer.param_groups, groups):
                states += any(
                    not isinstance(value, torch.Tensor) and group[name] != value for name, value in held.items()
                )
        return {"weights": weights, "optimizers": states}

    def _all(self) -> Iterator[Any]:
        """The tensors of all modules and optimizers, each once."""
        torch, known = self._torch, set()
        for module in self._modules:
            held = vars(module)
            for each in (*held.get("_parameters", {}).values(), *held.get("_buffers", {}).values()):
                if isinstance(each, torch.Tensor) and id(each) not in known and _copies(torch, each):
                    known.add(id(each))
                    yield each
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                for each in group["params"]:
                    if id(each) not in known:
                        known.add(id(each))
                        yield each


def _copies(torch: Any, tensor: Any) -> bool:
    return not tensor.is_meta and not torch.nn.parameter.is_lazy(tensor) and not tensor.is_sparse


def state_of(torch: Any, optimizer: Any) -> tuple[list[Any], list[Any]]:
    """What an optimizer holds for its parameters, and its groups."""
    states = [
        (
            parameter,
            {
                name: (value, value.detach().clone() if isinstance(value, torch.Tensor) else copy.copy(value))
                for name, value in values.items()
            },
        )
        for parameter, values in optimizer.state.items()
    ]
    groups = [
        ({name: value for name, value in group.items() if name != "params"}, list(group["params"]))
        for group in optimizer.param_groups
    ]
    return states, groups


def put_back(optimizer: Any, kept: tuple[list[Any], list[Any]]) -> None:
    """Have an optimizer hold for its parameters what it held when that was kept."""
    states, _ = kept
    known = {id(parameter) for parameter, _ in states}
    for parameter in [each for each in optimizer.state if id(each) not in known]:
        del optimizer.state[parameter]
    for parameter, values in states:
        held = optimizer.state[parameter]
        for name in [each for each in held if each not in values]:
            del held[name]
        for name, (value, copied) in values.items():
            if hasattr(value, "copy_"):
                value.copy_(copied)
                held[name] = value
            else:
                held[name] = copy.copy(copied)


def _copied(torch: Any, held: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The values of an object's attributes: each with a copy of what is in it, where it is a tensor or a container."""
    found: dict[str, tuple[Any, Any]] = {}
    for name, value in held.items():
        if isinstance(value, torch.Tensor):
            found[name] = value, value.detach().clone()
        elif isinstance(value, (list, dict, set)):
            found[name] = value, copy.copy(value)
        else:
            found[name] = value, None
    return found


def _paste(torch: Any, held: dict[str, Any], kept: dict[str, tuple[Any, Any]]) -> None:
    for name in [each for each in held if each not in kept]:
        del held[name]
    for name, (value, copied) in kept.items():
        if isinstance(value, torch.Tensor):
            value.copy_(copied)
        elif isinstance(value, list):
            value[:] = copied
        elif isinstance(value, (dict, set)):
            value.clear()
            value.update(copied)
        held[name] = value


def _same(one: Any, other: Any) -> bool:
    if one is None or one.shape != other.shape:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - NaN is not itself


__all__ = ["State", "put_back", "state_of"]
