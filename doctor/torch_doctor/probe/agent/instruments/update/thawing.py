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
        for (since, site), tensors in thawed.items():
            fields = {"since": since, "tensors": tensors, "frozen": frozen.get(since, 0)}
            self.watch.recorder.event("Thawed", here, site=site, **fields)
