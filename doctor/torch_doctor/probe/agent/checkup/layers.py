"""The layers of the model as a step calls them: shapes, parameters, whether they are trained, and their mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instruments.parts import tensors
from .telling import count, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 400
GROUP = "layers of the model: weights, output, parameters, mode"


class Layers:
    """Listens to the layers of a model, the first call of each; `under_way` are the names of those that run."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.under_way: list[str] = []
        self._outputs: dict[str, tuple[str, bool]] = {}

    def follow(self) -> list[Any]:
        """Hooks that are to be removed when the step is over."""
        handles = []
        for name, module in self._modules():
            handles.append(module.register_forward_pre_hook(lambda *_, name=name: self.under_way.append(name)))
            handles.append(
                module.register_forward_hook(lambda module, _, result, name=name: self._left(name, module, result))
            )
        return handles

    def _modules(self) -> Iterator[tuple[str, Any]]:
        if self._model is not None:
            yield from ((name, module) for name, module in self._model.named_modules() if name)

    def _left(self, name: str, module: Any, result: Any) -> None:
        if self.under_way:
            self.under_way.pop()
        if name not in self._outputs:
            shapes = [" × ".join(map(str, each.shape)) or "one number" for each in tensors(result)][:2]
            self._outputs[name] = ", ".join(shapes), module.training

    def facts(self) -> list[dict[str, Any]]:
        """A line for each layer: a module without others in it, or one with parameters of its own; then their sum."""
        if self._model is None:
            return []
        found, own = (
            [],
            [
                (name, module)
                for name, module in (("", self._model), *self._modules())
                if not any(True for _ in module.children()) or any(True for _ in module.parameters(recurse=False))
            ],
        )
        for name, module in own[:MOST]:
            label = f"`{name}` ({type(module).__name__})" if name else type(module).__name__
            found.append(fact(label, self._line(name, module), group=GROUP))
        if len(own) > MOST:
            found.append(fact(f"and {len(own) - MOST} more", "", group=GROUP))
        total = sum(each.numel() for each in self._model.parameters())
        trained = sum(each.numel() for each in self._model.parameters() if each.requires_grad)
        return [*found, fact("parameters in all", total, group=GROUP), fact("trainable in all", trained, group=GROUP)]

    def _line(self, name: str, module: Any) -> str:
        held = list(module.named_parameters(recurse=False))
        said = [f"{key} {' × '.join(map(str, each.shape)) or 'one number'}" for key, each in held]
        output, training = self._outputs.get(name, ("", module.training))
        if output:
            said.append(f"output {output}")
        elif name:
            said.append("not called by the step")
        if held:
            frozen = [key for key, each in held if not each.requires_grad]
            trained = "frozen" if len(frozen) == len(held) else f"{frozen[0]} frozen" if frozen else "trainable"
            said.append(f"{count(sum(each.numel() for _, each in held), 'parameter')}, {trained}")
        return ", ".join([*said, "training mode" if training else "evaluation mode"])
