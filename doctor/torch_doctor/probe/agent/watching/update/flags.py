"""Attributes that speak of gradients and that torch does not read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import claims, hooks
from ...identities import IdentityMap, IdentitySet

if TYPE_CHECKING:
    from ..watch import Watch

OF_TENSORS = frozenset({"requires_grad", "grad", "_grad"})
MOST = 100_000  # flags that are kept until a module is called
VALUES = {"True": True, "False": False}


class Watcher:
    """Is given every object on which the user's code sets such an attribute, right before it does.

    `said` has where it last said of a parameter whether that requires gradients, and whether an optimizer had it then.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._others: dict[int, int] = {}
        self.said: IdentityMap[tuple[int, bool]] = IdentityMap()
        self.changes: list[tuple[Any, int, bool]] | None = None
        """Parameters, where a flag is set, and the flag before that, where an instrument wants to know."""
        self._taken: IdentitySet = IdentitySet()

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        self._recorder.at_end.append(self._count)
        hooks.put("flag", self._flag)
        self._watch.patches.replace(self._watch.torch.nn.Parameter, "requires_grad_", self._saying)

    def took(self, parameters: list[Any]) -> None:
        """An optimizer takes parameters."""
        for parameter in parameters:
            self._taken.add(parameter)

    def _flag(self, key: int, thing: Any) -> Any:
        name = self._recorder.index.nodes[key].name
        if name not in OF_TENSORS or not isinstance(thing, self._watch.torch.Tensor):
            frame = sys._getframe(1)
            self._recorder.safely(self._tell, key, thing, frame.f_locals.get(next(iter(frame.f_code.co_varnames), "")))
        elif name == "requires_grad":
            self._keep(thing, self._recorder.index.site(key))
        return thing

    def _saying(self, original: Any) -> Any:
        recorder = self._recorder

        def requires_grad_(parameter: Any, *arguments: Any, **keywords: Any) -> Any:
            if not (recorder.quiet or recorder.inside):
                recorder.safely(self._said, parameter)
            return original(parameter, *arguments, **keywords)

        return requires_grad_

    def _said(self, parameter: Any) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            self._keep(parameter, here.site)

    def _keep(self, parameter: Any, site: int) -> None:
        self.said[parameter] = site, parameter in self._taken
        if (
            self.changes is not None
            and len(self.changes) < MOST
            and isinstance(parameter, self._watch.torch.nn.Parameter)
        ):
            self.changes.append((parameter, site, parameter.requires_grad))

    def _count(self, _: BaseException | None) -> None:
        """Tells of what was set on objects that may well read it."""
        for key, times in self._others.items():
            site = self._recorder.index.site(key)
            self._recorder.measured(claims.FLAG_READ, times, "times", site=site)

    def _tell(self, key: int, thing: Any, owner: Any) -> None:
        node, torch = self._recorder.index.nodes[key], self._watch.torch
        if isinstance(thing, torch.Tensor):
            of = "tensor"
        elif isinstance(thing, torch.nn.Module) and not self._is_own(thing, node.name, owner):
            of = "module"
        else:
            self._others[key] = self._others.get(key, 0) + 1
            return
        here, site = self._recorder.here(), self._recorder.index.site(key)
        value = VALUES.get(node.value)
        records = thing.requires_grad if of == "tensor" else None
        self._recorder.event(
            "GradFlagSet", here, site=site, name=node.text, attribute=node.name, of=of, value=value, records=records
        )

    def _is_own(self, module: Any, name: str, owner: Any) -> bool:
        """Whether the module's class may read it: it defines it, has set it, sets it here, or decides itself what is set.

        `requires_grad_` is a method of every module's, and no attribute to be set.
        """
        kind, plain = type(module), self._watch.torch.nn.Module
        defined = hasattr(kind, name) and not hasattr(plain, name)
        decides = kind.__setattr__ is not plain.__setattr__
        return owner is module or defined or decides or name in vars(module)
