"""Optimizers: what they were given, their steps, and what they and modules clear."""

from __future__ import annotations

import importlib
import math
import weakref
from typing import TYPE_CHECKING, Any

from ... import claims
from ...identities import IdentitySet
from ..instrument_hooks import InstrumentHooks
from ..naming import class_name
from .gradients import PROOFS, is_nonzero

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ..watch import Watch


class Watcher:
    """Wraps `Optimizer.__init__` and `zero_grad`, and hooks into every step."""

    installed_after = ("loading",)  # its wrapper of `load_state_dict` is the inner one

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._torch = watch.torch
        self.told: IdentitySet = IdentitySet()
        self._stepping: list[Any] = []
        self._under_way: tuple[Any, int, Here, tuple[Any, ...], dict[str, Any]] | None = None
        self._clearing = False
        self._measured: dict[int, int] = {}
        self.optimized: set[int] = set()
        self.moved: set[int] = set()
        self._moving: IdentitySet = IdentitySet()
        self._tensors: dict[int, weakref.ref[Any]] = {}
        self.scaled: Any = None
        self.scaler: Any = None

    def install(self) -> None:
        """Puts the wrappers and hooks in place."""
        patches, optim = self._watch.patches, self._torch.optim
        patches.replace(optim.Optimizer, "__init__", self._init)
        patches.replace(optim.Optimizer, "add_param_group", self._adding)
        patches.replace(optim.Optimizer, "load_state_dict", self._loading)
        patches.replace(optim.Optimizer, "zero_grad", self._zeroing)
        patches.replace(self._torch.nn.Module, "zero_grad", self._zeroing)
        hooks = importlib.import_module("torch.optim.optimizer")
        patches.hook(hooks.register_optimizer_step_pre_hook, self._before_step)
        patches.hook(hooks.register_optimizer_step_post_hook, self._after_step)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            patches.replace(self._torch.nn.utils.clip_grad, name, self._clipping(name))
            patches.replace(self._torch.nn.utils, name, self._clipping(name))

    # --- construction ---

    def _init(self, original: Any) -> Any:
        recorder = self._recorder

        def __init__(self_: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            try:
                original(self_, *arguments, **keywords)
            except ValueError:  # of an empty list of parameters, among others
                if not recorder.quiet:
                    recorder.safely(self._refused)
                raise
            if not recorder.quiet:
                recorder.safely(self._built, self_)

        return __init__

    def _adding(self, original: Any) -> Any:
        def add_param_group(optimizer: Any, group: dict[str, Any]) -> Any:
            result = original(optimizer, group)
            for parameter in optimizer.param_groups[-1]["params"]:
                self.optimized.add(id(parameter))
                self._moving.discard(optimizer)
                self._tensors[id(parameter)] = weakref.ref(parameter)
            return result

        return add_param_group

    def _loading(self, original: Any) -> Any:
        recorder = self._recorder

        def load_state_dict(optimizer: Any, *arguments: Any, **keywords: Any) -> Any:
            result = original(optimizer, *arguments, **keywords)
            if not recorder.quiet and not recorder.rests():
                recorder.safely(self._restored, optimizer)
            return result

        return load_state_dict

    def _restored(self, optimizer: Any) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            self._recorder.event("OptimizerRestored", here, optimizer=self._recorder.references.number(optimizer))

    def _refused(self) -> None:
        """Writes the modules that have no parameters: what they have may lie in plain containers."""
        here, modules = self._recorder.here(), self._watch.modules
        for module in modules.alive() if here.frame is not None else ():
            if not modules.is_part(module) and not modules.family(module).parameters:
                modules.tell(module, here)

    def _built(self, optimizer: Any) -> None:
        recorder = self._recorder
        if optimizer in self.told:
            return
        self.told.add(optimizer)
        here = recorder.here()
        if here.frame is None:
            return
        parameters = list(parameters_of(optimizer))
        self._watch.flags.took(parameters)
        modules = self._watch.modules.owners(parameters, here)
        recorder.event(
            "OptimizerBuilt",
            here,
            optimizer=recorder.references.number(optimizer),
            class_name=class_name(type(optimizer), recorder),
            modules=sorted(modules),
            whole=True,
            remembers=not (
                type(optimizer) is self._torch.optim.SGD
                and not any(group.get("momentum") for group in optimizer.param_groups)
            ),
            name=recorder.assigned(here.site, type(optimizer).__name__),
        )

    def tensors(self) -> list[Any]:
        """All tensors that some optimizer moves."""
        return [tensor for ref in self._tensors.values() if (tensor := ref()) is not None]

    # --- steps ---

    def _before_step(self, optimizer: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self._stepping.append(optimizer)
        if len(self._stepping) > 1 or self._recorder.quiet or self._recorder.rests():
            return
        moving = next((each for each in parameters_of(optimizer) if each.grad is not None), None)
        here = self._recorder.safely(self._about_to_step, optimizer)
        if here is not None:
            self._under_way = (moving, 0 if moving is None else moving._version, here, arguments, keywords)

    def _about_to_step(self, optimizer: Any) -> Here:
        here = self._recorder.here()
        self._watch.given_weights.look(here)
        self._watch.gradients.look(here)
        self._watch.gradients.assigned(parameters_of(optimizer), here)
        if optimizer not in self._moving:
            self._moving.add(optimizer)
            numbers = {id(parameter) for parameter in parameters_of(optimizer)}
            self.moved |= numbers
            self._watch.gradients.owned(numbers)
        self._watch.tell(InstrumentHooks.before_step, optimizer, here)
        return here

    def _after_step(self, optimizer: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if self._stepping:
            self._stepping.pop()
        if self._stepping or self._recorder.quiet or self._under_way is None:
            return
        here = self._under_way[2]
        self._under_way = None
        self._recorder.safely(self._stepped, optimizer, here, arguments, keywords)

    def stepped_already(self) -> None:
        """Write the step under way if it has moved a parameter: what its hooks do comes after it."""
        if self._under_way is None or not self._stepping:
            return
        moving, version, here, arguments, keywords = self._under_way
        if moving is not None and moving._version != version:
            self._under_way = None
            self._stepped(self._stepping[0], here, arguments, keywords)

    def _stepped(self, optimizer: Any, here: Here, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        recorder = self._recorder
        if here.frame is None:
            return
        given = arguments[1:] if arguments and arguments[0] is optimizer else arguments
        closure = next(iter(given), keywords.get("closure"))
        parameters = list(parameters_of(optimizer))
        self._watch.flags.took(parameters)
        modules = self._watch.modules.owners(parameters, here)
        alone = (each for each in parameters if each.is_leaf and not self._watch.modules.is_owned(each))
        event = recorder.event(
            "Stepped",
            here,
            optimizer=recorder.references.number(optimizer),
            name=self.name(optimizer, here),
            modules=sorted(modules),
            whole=True,
            closure=callable(closure),
            scaled=self.scaled is optimizer,
            scaler=recorder.references.number(self.scaler) if self.scaled is optimizer else 0,
            leaves=[recorder.references.number(each) for each in alone],
        )
        recorder.happened(here, trained=True, step=True)
        self._watch.gradients.next_round()
        if self._measured.get(here.site, 0) < PROOFS:
            self._measured[here.site] = self._measured.get(here.site, 0) + 1
            filled = sum(each.grad is not None and is_nonzero(each.grad) for each in parameters)
            recorder.measured(claims.STEPPED_PARAMETERS, filled, "tensors", site=here.site, about=[event])
            recorder.measured(claims.OWNED_PARAMETERS, len(parameters), "tensors", site=here.site, about=[event])
        self._watch.tell(InstrumentHooks.on_step, optimizer, here, event)

    def name(self, optimizer: Any, here: Here) -> str:
        """What the user calls an optimizer that a call at this place steps."""
        recorder = self._recorder
        call = recorder.call(here.site, "step")
        if self.scaled is optimizer and call is not None and call.args:
            return recorder.argument(here.site, 0, "optimizer", "step")
        return recorder.owner(here.site, "step")

    # --- clearing ---

    def _zeroing(self, original: Any) -> Any:
        recorder = self._recorder

        def zero_grad(owner: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._clearing or recorder.quiet or recorder.rests():
                return original(owner, *arguments, **keywords)
            self._clearing = True
            try:
                before = recorder.safely(self._about_to_clear)
                result = original(owner, *arguments, **keywords)
                if before is not None:
                    recorder.safely(self._zeroed, owner, before)
                return result
            finally:
                self._clearing = False

        return zero_grad

    def _about_to_clear(self) -> Here:
        self.stepped_already()
        here = self._recorder.here()
        self._watch.gradients.look(here)
        return here

    def _zeroed(self, owner: Any, here: Here) -> None:
        recorder = self._recorder
        if here.frame is None:
            return
        if isinstance(owner, self._torch.nn.Module):
            self._watch.modules.tell(owner, here)
            parameters = self._watch.modules.family(owner).parameters
        else:
            parameters = list(parameters_of(owner))
        self._watch.gradients.cleared(parameters)
        recorder.event(
            "ZeroGrad",
            here,
            target=recorder.references.number(owner),
            name=recorder.owner(here.site, "zero_grad"),
            modules=sorted(self._watch.modules.owners(parameters, here)),
            whole=True,
        )

    # --- clipping ---

    def _clipping(self, name: str) -> Any:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def clip(parameters: Any, *arguments: Any, **keywords: Any) -> Any:
                if not isinstance(parameters, (self._torch.Tensor, list, tuple)):
                    parameters = list(parameters)
                result = original(parameters, *arguments, **keywords)
                limit = arguments[0] if arguments else keywords.get("max_norm")
                if not recorder.quiet and not recorder.rests() and limit != math.inf:
                    recorder.safely(told, parameters)
                return result

            return clip

        def told(parameters: Any) -> None:
            here = recorder.here()
            if here.frame is not None:
                given = isinstance(parameters, list)
                tensors = parameters if given else list(self._watch.marks.tensors(parameters, 1))
                modules = self._watch.modules.owners([each for each in tensors if each.requires_grad], here)
                text = recorder.spelled(here.site, recorder.call(here.site))
                fields: dict[str, Any] = {"name": text, "alone": len(tensors) == 1 and name == "clip_grad_norm_"}
                recorder.event("Clipped", here, function=f"torch.nn.utils.{name}", modules=sorted(modules), **fields)

        return wrap


def parameters_of(optimizer: Any) -> Iterator[Any]:
    """The tensors that an optimizer moves."""
    for group in optimizer.param_groups:
        yield from group["params"]
