"""What became of every trainable parameter: gradients, steps, and whether its values moved."""

from __future__ import annotations

import weakref
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap, IdentitySet
from ...watching.naming import class_name, is_project
from ..copies import elements
from ..instrument import Instrument as Base
from .fates import Fate, Unrecorded
from .fresh import Fresh
from .later import may_join
from .members import is_replaced, out_of_reach
from .rates import may_rise, may_thaw
from .weightless import has_weight_zero

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 8  # steps that are looked at
LARGEST = 4_000_000  # elements of a parameter whose values are compared
VISIBLE = 8  # units in the last place: a step that is smaller, beside the values, may be lost in rounding


class Instrument(Base):
    """Follows the parameters of every module that is called as a whole, over its first steps."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._fates: dict[int, Fate] = {}
        self._roots: IdentitySet = IdentitySet()
        self._ran: IdentitySet = IdentitySet()
        self._unrecorded: IdentityMap[Unrecorded] = IdentityMap()
        self._fresh = Fresh(watch)
        self._steps = 0
        self._muted = False
        self._rising: dict[tuple[int, int], bool] = {}
        self._hook = watch.patches.hook(watch.torch.nn.modules.module.register_module_forward_pre_hook, self._runs)

    def _runs(self, module: Any, _: Any) -> None:
        """A module, or a part of one, runs: what its gradients are depends on autograd being on."""
        if self.watch.recorder.quiet:
            return
        if self.watch.torch.is_grad_enabled():
            self._ran.add(module)
        elif module not in self._ran and any(
            each.requires_grad for each in module._parameters.values() if each is not None
        ):
            seen = self._unrecorded.get(module)
            if seen is None:
                seen = self._unrecorded[module] = Unrecorded(self.watch.recorder.here().site)
            seen.calls += 1

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module that is called for the first time: its trainable parameters are noted."""
        if module in self._roots:
            return
        self._roots.add(module)
        for path, owner in module.named_modules():
            for name, parameter in owner._parameters.items():
                if parameter is None or not parameter.requires_grad:
                    continue
                fate, called = self._known(parameter), f"{path}.{name}".lstrip(".")
                if fate is None:
                    self._fates[id(parameter)] = Fate(parameter, module, owner, called)
                elif fate.root() is parameter:  # a step whose closure runs the model began before
                    fate.belongs(module, owner, called)

    def _known(self, parameter: Any) -> Fate | None:
        fate = self._fates.get(id(parameter))
        return fate if fate is not None and fate.ref() is parameter else None

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A loss whose weight is 0 for now gives gradients that are all zero, and says nothing."""
        if self._steps <= MOST:
            with self.watch.unwatched():
                self._muted = has_weight_zero(losses)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Some tensors got gradients: the modules that they belong to went backward."""
        if self._steps > MOST:
            return
        filled = {id(each) for each in got}
        went = {id(fate.root()) for key, fate in self._fates.items() if key in filled}
        for key, fate in self._fates.items():
            if id(fate.root()) not in went or fate.owner() not in self._ran:
                continue
            if key in filled:
                gradient = fate.ref().grad  # type: ignore[union-attr]  # alive, as it got one
                nonzero = gradient is not None and (gradient.is_sparse or bool(gradient.detach().any()))
                if self._muted and not nonzero:
                    continue
                fate.gradients += 1
                fate.nonzero += nonzero
            fate.backwards += 1

    def before_step(self, optimizer: Any, here: Here) -> None:
        """The values before an optimizer's first step are kept, and each step's conditions."""
        if self._steps > MOST:
            return
        for number, group in enumerate(optimizer.param_groups):
            rate = float(group.get("lr", 1.0))
            for parameter in group["params"]:
                fate = self._fate_of(parameter)
                fate.optimizer, fate.group = weakref.ref(optimizer), number
                fate.rated |= bool(rate)
                fate.trained |= parameter.requires_grad
                if fate.was is None and elements(self.watch, [parameter]) <= LARGEST:
                    fate.was = parameter.detach().clone()
                fate.steps += 1
                gradient = parameter.grad
                if rate and gradient is not None and parameter.numel():
                    steepest = 1.0 if gradient.is_sparse else float(gradient.detach().abs().max())
                    fate.live_steps += steepest != 0
                    fate.visible_steps += rate * steepest > self._rounding(parameter)

    def _rounding(self, parameter: Any) -> float:
        """How large a step is that shows in the largest value of a parameter."""
        smallest: float = self.watch.torch.finfo(parameter.dtype).eps
        return VISIBLE * smallest * float(parameter.detach().abs().max())

    def _fate_of(self, parameter: Any) -> Fate:
        """The fate of a parameter; one of an optimizer that no module owns that ran stands for itself."""
        fate = self._known(parameter)
        if fate is None:
            fate = self._fates[id(parameter)] = Fate(parameter, parameter, parameter, "")
        return fate

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """What the step moved is noted, as a later one may move it back; after enough steps, all is seen.

        There is no optimizer where the script makes the update by hand.
        """
        if self._steps <= MOST:
            by_hand = (parameter for fate in list(self._fates.values()) if (parameter := fate.ref()) is not None)
            groups = (group["params"] for group in optimizer.param_groups) if optimizer is not None else (by_hand,)
            for parameter in chain.from_iterable(groups):
                self._note_move(parameter)
        self._steps += 1
        if self._steps > MOST:
            self._hook.remove()

    def _note_move(self, parameter: Any) -> None:
        """Whether a parameter has other values than before the first step."""
        fate = self._fates.get(id(parameter))
        if fate is not None and fate.was is not None and not fate.moved:
            fate.moved = not self.watch.torch.equal(parameter.detach(), fate.was)

    def at_end(self, error: BaseException | None) -> None:
        """Writes what became of each."""
        recorder, modules = self.watch.recorder, self.watch.modules
        numbers = recorder.references.number
        here = recorder.here()
        self._tell_unrecorded(here)
        for fate in self._fates.values():
            parameter, root, owner = fate.ref(), fate.root(), fate.owner()
            if parameter is None or root is None or owner is None or is_replaced(owner, fate.name, parameter):
                continue
            self._note_move(parameter)
            optimizer = fate.optimizer() if fate.optimizer is not None else None
            whole = root if isinstance(root, self.watch.torch.nn.Module) else None
            place = self._highest(owner, whole) if whole is not None else owner
            site = modules.birthplace(place) if whole is not None else None
            frozen_at, late = (not parameter.requires_grad and self.watch.flags.said.get(parameter)) or (None, False)
            recorder.event(
                "ParameterSeen",
                here,
                site=here.site if site is None else site,
                module=numbers(whole),
                name=fate.name,
                owner=numbers(place) if whole is not None else 0,
                owner_class=class_name(type(place), recorder) if whole is not None else "",
                of_project=whole is not None
                and (is_project(type(place), recorder) or type(place).__module__.startswith("torch.nn.")),
                elements=elements(self.watch, [parameter]),
                units=parameter.shape[0] if parameter.dim() else 1,
                backwards=fate.backwards or self._missed(fate),
                gradients=fate.gradients,
                nonzero=fate.nonzero,
                optimizer=numbers(optimizer),
                steps=fate.steps,
                live_steps=fate.live_steps,
                visible_steps=fate.visible_steps,
                moved=None if fate.was is None else fate.moved,
                scheduled=optimizer is not None and any("initial_lr" in group for group in optimizer.param_groups),
                group=fate.group,
                still=self._still(fate, optimizer),
                frozen_at=frozen_at,
                frozen_late=late,
                joins=fate.steps > 0 and not fate.nonzero and self._joins,
                fresh=bool(fate.nonzero) and optimizer is None and self._fresh.is_forgotten(owner),
            )

    def _tell_unrecorded(self, here: Here) -> None:
        """Writes which parts that an optimizer has ran with autograd off, and never otherwise."""
        recorder = self.watch.recorder
        steps: dict[Any, int] = {}
        for fate in self._fates.values():
            parameter, owner = fate.ref(), fate.owner()
            unreached = parameter is not None and fate.steps and fate.trained and parameter.grad is None
            if unreached and not is_replaced(owner, fate.name, parameter):
                steps[owner] = max(steps.get(owner, 0), fate.steps)
        for module, seen in self._unrecorded.items():
            if module in steps and module not in self._ran:
                recorder.event(
                    "PartUnrecorded",
                    here,
                    site=seen.site,
                    name=recorder.caller(seen.site),
                    modules=[recorder.references.number(module)],
                    calls=seen.calls,
                    steps=steps[module],
                )

    def _still(self, fate: Fate, optimizer: Any) -> str:
        """Why a parameter of an optimizer has not moved; see `ParameterSeen`."""
        if optimizer is None or not fate.steps:
            return ""
        with self.watch.unwatched():
            if not fate.trained:
                return "" if self._thaws else "frozen"
            key = id(optimizer), fate.group
            if not fate.rated and key not in self._rising:
                self._rising[key] = may_rise(self.watch, optimizer, fate.group)
            return "" if fate.rated else "waits" if self._rising[key] else "rate"

    @cached_property
    def _thaws(self) -> bool:
        return may_thaw(self.watch)

    @cached_property
    def _joins(self) -> bool:
        return bool(self.watch.recorder.safely(may_join, self.watch))

    def _missed(self, fate: Fate) -> int:
        """The backward passes that went by a part which no line of the script reaches."""
        root, owner = fate.root(), fate.owner()
        if not fate.steps or owner in self._ran or not isinstance(root, self.watch.torch.nn.Module):
            return 0
        if not self.watch.recorder.safely(out_of_reach, self.watch, root, owner):
            return 0
        return max(other.backwards for other in self._fates.values() if other.root() is root)

    def _highest(self, owner: Any, root: Any) -> Any:
        """The biggest part of a module around the owner of which nothing got a gradient; the owner, where it got some."""
        fates = self._fates

        def barren(module: Any) -> bool:
            known = [fates[id(each)] for each in module.parameters() if id(each) in fates]
            return bool(known) and not any(fate.nonzero for fate in known)

        if not barren(owner):
            return owner
        around = [module for module in root.modules() if module is not root and barren(module)]
        return next((module for module in around if any(part is owner for part in module.modules())), owner)
