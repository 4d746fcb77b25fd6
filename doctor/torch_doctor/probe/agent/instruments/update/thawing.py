"""Parameters that the script freezes and thaws again before their module is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch


class Instrument(Base):
    """Looks, before a module is called, where its parameters were frozen and thawed since the last call."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._changes: list[tuple[Any, int, bool]] = []  # parameters, where a flag was set, and the flag before that
        watch.flags.changes = self._changes

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """Whatever was frozen in between was frozen for this call, or in vain."""
        if not self._changes:
            return
        own = {id(each) for each in module.parameters()}
        of: dict[int, tuple[Any, list[tuple[int, bool]]]] = {}
        for parameter, site, was in self._changes:
            of.setdefault(id(parameter), (parameter, []))[1].append((site, was))
        self._changes.clear()
        thawed: dict[tuple[int, int], int] = {}
        frozen: dict[int, int] = {}
        for parameter, flags in of.values():
            after = [*(was for _, was in flags[1:]), parameter.requires_grad]
            froze = [site for (site, was), now in zip(flags, after, strict=True) if was and not now]
            if froze and not parameter.requires_grad:
                frozen[froze[-1]] = frozen.get(froze[-1], 0) + 1
            elif froze and id(parameter) in own:
                thaws = [site for (site, was), now in zip(flags, after, strict=True) if now and not was]
                key = froze[-1], thaws[-1]
                thawed[key] = thawed.get(key, 0) + 1
            elif not flags[0][1] and parameter.requires_grad and id(parameter) in own:
                since = self._adapted(module)
                if since is not None:
                    key = since, flags[-1][0]
                    thawed[key] = thawed.get(key, 0) + 1
                    frozen[since] = sum(not each.requires_grad for each in module.parameters())
        for (since, site), tensors in thawed.items():
            fields = {"since": since, "tensors": tensors, "frozen": frozen.get(since, 0)}
            self.watch.recorder.event("Thawed", here, site=site, **fields)

    def _adapted(self, module: Any) -> int | None:
        """Where peft froze what the script did not freeze: where it wrapped the model in one with adapters."""
        kinds = ((part, type(part).__mro__) for part in module.modules())
        wrapped = (part for part, mro in kinds if any(_is_adapted(cls) for cls in mro))
        return next((site for each in wrapped if (site := self.watch.modules.birthplace(each)) is not None), None)


def _is_adapted(cls: type) -> bool:
    return cls.__name__ == "PeftModel" and cls.__module__.partition(".")[0] == "peft"
