"""Adapters: which weights are theirs, which they were put beside, and what moves of both."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ...watching.naming import class_name, is_project
from ..copies import elements
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 4  # steps that are looked at
LARGEST = 4_000_000  # numbers of a tensor whose values are compared
MATRIX = 2


class Adapter:
    """An adapter, its own parameters and those that it was put beside, and what became of them."""

    __slots__ = (
        "base",
        "base_trains",
        "idle",
        "module",
        "moved",
        "off",
        "own",
        "own_trains",
        "refused",
        "root",
        "steps",
        "was",
    )

    def __init__(self, module: Any, root: Any, own: list[Any], base: list[Any]) -> None:
        self.module = weakref.ref(module)
        self.root = weakref.ref(root)
        self.own = [weakref.ref(each) for each in own]
        self.base = [weakref.ref(each) for each in base]
        self.own_trains: set[bool] = set()
        self.base_trains: set[bool] = set()
        self.off = ""
        self.refused = False
        self.idle = 0
        self.steps = 0
        self.was: dict[int, Any] = {}
        self.moved: set[int] = set()


class Instrument(Base):
    """Finds the adapters of every module that is called as a whole, and follows them over its first steps."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._roots: IdentityMap[int] = IdentityMap()  # with the number of modules that there were then
        self._fates: IdentityMap[Adapter] = IdentityMap()
        self._taken: dict[int, int] = {}  # how many adapters a base has
        self._owned: dict[int, set[int]] = {}  # the parameters of the optimizers that step, by their numbers

    # --- what is an adapter ---

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module that is called for the first time, or after others were built: its adapters are looked for."""
        if self._roots.get(module) == self.watch.modules.version:
            return
        self._roots[module] = self.watch.modules.version
        for part in module.modules():
            if part not in self._fates:
                found = _of_peft(part) or _of_loralib(part, module) or self._by_hand(part)
                if found is not None and all(found):
                    self._fates[part] = Adapter(part, module, *found)

    def _by_hand(self, part: Any) -> tuple[list[Any], list[Any]] | None:
        """A module of the project that got a layer, and has two matrices of its own, one of them zero."""
        watch = self.watch
        if not is_project(type(part), watch.recorder):
            return None
        given = [child for child in part.children() if not watch.modules.built_by(child, part)]
        given = [child for child in given if any(True for _ in child.parameters())]
        if len(given) != 1 or self._built_together(given[0], part):
            return None
        base = list(given[0].parameters())
        others = {id(each) for each in base}
        own = [each for each in part.parameters() if id(each) not in others]
        matrices = [each for each in own if each.dim() >= MATRIX]
        with watch.unwatched():
            zero = any(not each.detach().any() for each in matrices)
        if len(matrices) != MATRIX or not zero or not _low_rank(*matrices):
            return None
        self._taken[id(given[0])] = self._taken.get(id(given[0]), 0) + 1
        return own, base

    def _birthplace(self, module: Any) -> int | None:
        """Where the user's code built an adapter, or the model around it."""
        modules = self.watch.modules
        makers = (each for each in modules.alive() if modules.built_by(module, each))
        places = (modules.birthplace(each) for each in (module, *makers))
        return next((place for place in places if place is not None), None)

    def _built_together(self, layer: Any, part: Any) -> bool:
        """Whether both were built for one module, or in one call: then nothing was trained before."""
        modules, recorder = self.watch.modules, self.watch.recorder
        sites = modules.birthplace(layer), modules.birthplace(part)
        inner, outer = (recorder.span(site) if site is not None else None for site in sites)
        if inner is not None and outer is not None and inner.path == outer.path:
            begins = (outer.row, outer.column) <= (inner.row, inner.column)
            if begins and (inner.end_row, inner.end_column) <= (outer.end_row, outer.end_column):
                return True
        return any(modules.built_by(layer, each) and modules.built_by(part, each) for each in modules.alive())

    # --- what becomes of it ---

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A loss without a graph is refused: nothing of the model trains, and of its adapters neither."""
        if any(each.requires_grad for each in losses):
            return
        for fate in self._fates.values():
            module = fate.module()
            if module is not None and not fate.steps:
                self._note(fate, module)
                fate.refused = True

    def _note(self, fate: Adapter, module: Any) -> None:
        """What requires gradients, and whether the adapter is off."""
        fate.own_trains |= {each.requires_grad for each in _alive(fate.own)}
        fate.base_trains |= {each.requires_grad for each in _alive(fate.base)}
        fate.off = _off(module)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Gradients came: to the adapter, to what it was put beside, or to neither."""
        filled = {id(each) for each in got}
        for fate in self._fates.values():
            module = fate.module()
            if module is None or fate.steps > MOST or not self._is_among(fate, filled):
                continue
            self._note(fate, module)
            fate.idle = fate.idle + 1 if not any(id(each) in filled for each in _alive(fate.own)) else -MOST

    def _is_among(self, fate: Adapter, numbers: set[int]) -> bool:
        """Whether any parameter of the module around an adapter is one of these."""
        root = fate.root()
        return root is not None and any(id(each) in numbers for each in root.parameters())

    def before_step(self, optimizer: Any, here: Here) -> None:
        """The values before the first step are kept, and what the optimizer has."""
        number = self.watch.recorder.references.number(optimizer)
        self._owned[number] = {id(each) for group in optimizer.param_groups for each in group["params"]}
        for fate in self._fates.values():
            for each in [*_alive(fate.own), *_alive(fate.base)] if fate.steps == 0 else ():
                if id(each) not in fate.was and elements(self.watch, [each]) <= LARGEST:
                    fate.was[id(each)] = each.detach().clone()

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """What has other values than before the first step is noted."""
        owned = {id(each) for group in optimizer.param_groups for each in group["params"]} if optimizer else set()
        for fate in self._fates.values():
            if fate.steps > MOST or not self._is_among(fate, owned):
                continue
            fate.steps += 1
            for each in [*_alive(fate.own), *_alive(fate.base)]:
                was = fate.was.get(id(each))
                if was is not None and not self.watch.torch.equal(each.detach(), was):
                    fate.moved.add(id(each))

    def at_end(self, error: BaseException | None) -> None:
        """Writes what became of each."""
        recorder, modules = self.watch.recorder, self.watch.modules
        here = recorder.here()
        for fate in self._fates.values():
            module, own, base = fate.module(), _alive(fate.own), _alive(fate.base)
            refused = fate.refused and not fate.steps
            if (
                module is None
                or not (fate.steps or refused)
                or any(self._taken.get(id(each), 0) > 1 for each in module.children())
            ):
                continue
            needed = {id(each) for each in [*own, *base]}
            site = self._birthplace(module)
            recorder.event(
                "AdapterTrained",
                here,
                site=here.site if site is None else site,
                adapter=recorder.references.number(module),
                class_name=class_name(type(module), recorder),
                own=sorted(modules.owners(own, here)),
                base=sorted(modules.owners(base, here)),
                own_trains=_agreed(fate.own_trains),
                base_trains=_agreed(fate.base_trains),
                off=fate.off or ("skipped" if (fate.idle > 1 or refused) and _agreed(fate.own_trains) else ""),
                takers=[number for number, owned in self._owned.items() if needed <= owned],
                own_tensors=len(own),
                own_moved=sum(id(each) in fate.moved for each in own),
                base_tensors=len(base),
                base_moved=sum(id(each) in fate.moved for each in base),
                steps=fate.steps,
            )


def _alive(references: list[weakref.ref[Any]]) -> list[Any]:
    return [each for reference in references if (each := reference()) is not None]


def _agreed(seen: set[bool]) -> bool | None:
    """What all of these were at all times."""
    return next(iter(seen)) if len(seen) == 1 else None


def _of_peft(part: Any) -> tuple[list[Any], list[Any]] | None:
    if not _derives(part, "peft", "BaseTunerLayer"):
        return None
    own = []
    for name in part.adapter_layer_names:
        layers: Any = getattr(part, name, None)
        chosen = (layers[key] for key in part.active_adapters if hasattr(layers, "keys") and key in layers)
        for each in chosen:
            own += list(each.parameters()) if hasattr(each, "parameters") else [each]
    return own, list(part.get_base_layer().parameters())


def _of_loralib(part: Any, root: Any) -> tuple[list[Any], list[Any]] | None:
    """Its layers freeze their own weights: what was not frozen are the other layers of the model."""
    if not _derives(part, "loralib", "LoRALayer"):
        return None
    lows = {id(layer) for layer in root.modules() if _derives(layer, "loralib", "LoRALayer")}
    others = [each for layer in root.modules() if id(layer) not in lows for each in layer._parameters.values()]
    own = [each for name, each in part.named_parameters() if "lora_" in name]
    return own, [each for each in others if each is not None]


def _derives(thing: Any, package: str, name: str) -> bool:
    return any(cls.__name__ == name and cls.__module__.partition(".")[0] == package for cls in type(thing).__mro__)


def _off(module: Any) -> str:
    """Why the adapter of a library's layer computes nothing now."""
    if not (_derives(module, "peft", "BaseTunerLayer") or _derives(module, "loralib", "LoRALayer")):
        return ""
    return (
        "disabled"
        if getattr(module, "disable_adapters", False)
        else "merged"
        if getattr(module, "merged", False)
        else ""
    )


def _low_rank(one: Any, other: Any) -> bool:
    """Whether two matrices share a size that is smaller than their other sizes."""
    for inner in set(one.shape[:MATRIX]) & set(other.shape[:MATRIX]):
        if inner < max(one.shape[:MATRIX]) and inner < max(other.shape[:MATRIX]):
            return True
    return False
