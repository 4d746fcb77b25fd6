"""Learning rate schedulers."""

from __future__ import annotations

import importlib
import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ..module.modules import first_argument
from ..naming import class_name

if TYPE_CHECKING:
    from ...scopes import Here
    from ..watch import Watch

SECOND = {"T_max": 1, "step_size": 1, "milestones": 1, "total_steps": 2}
"""The places of the arguments that tell a length, where all classes that have them agree."""
NOT_BY_PLACE = 99


class _Ran:
    """How far a scheduler came: its steps, those of its optimizer, and the learning rate at the last of them."""

    def __init__(self, here: Here, number: int, rates: list[float]) -> None:
        self.here = here
        self.number = number
        self.first = rates
        self.steps = 0
        self.updates = 0
        self.rate = rates[0] if rates else 0.0
        self.stayed = bool(rates)


class Watcher:
    """Wraps the constructor and the step of every class of schedulers, and counts the steps of their optimizers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._deep = 0
        self._of: IdentityMap[list[weakref.ref[Any]]] = IdentityMap()
        self._ran: list[_Ran] = []
        self._ran_by: IdentityMap[_Ran] = IdentityMap()
        self._ran_on: IdentityMap[list[_Ran]] = IdentityMap()

    def of(self, optimizer: Any) -> list[Any]:
        """The schedulers that set the rates of an optimizer."""
        return [scheduler for each in self._of.get(optimizer, ()) if (scheduler := each()) is not None]

    def install(self) -> None:
        """Puts the wrappers in place, in the classes that are there and in those that will be made from them."""
        module = self._watch.torch.optim.lr_scheduler
        bases = (module.LRScheduler, module.ReduceLROnPlateau)
        classes = {cls for cls in vars(module).values() if isinstance(cls, type) and issubclass(cls, bases)}
        for cls in classes | {module.LRScheduler}:
            for name, wrap in (("__init__", self._init), ("step", self._step)):
                if name in vars(cls):
                    self._watch.patches.replace(cls, name, wrap)
        hooks = importlib.import_module("torch.optim.optimizer")
        self._watch.patches.hook(hooks.register_optimizer_step_post_hook, self._updated)
        self._recorder.at_end.append(self._at_end)

    def _init(self, original: Any) -> Any:
        recorder = self._recorder

        def __init__(scheduler: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            self._deep += 1
            try:
                original(scheduler, *arguments, **keywords)
            finally:
                self._deep -= 1
            if not self._deep and not recorder.quiet:
                recorder.safely(self._built, scheduler, "last_epoch" in keywords)

        return __init__

    def _built(self, scheduler: Any, resumes: bool) -> None:  # noqa: FBT001 - `safely` passes no keywords
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None:
            return
        here = here._replace(site=self._birthplace(scheduler, here))
        optimizer = self._driven(scheduler)
        if optimizer is not None:
            self._of.setdefault(optimizer, []).append(weakref.ref(scheduler))
        recorder.event(
            "SchedulerBuilt",
            here,
            scheduler=recorder.references.number(scheduler),
            optimizer=recorder.references.number(optimizer),
            class_name=class_name(type(scheduler), recorder),
            resumes=resumes,
            told=repr([each for each in vars(scheduler).values() if isinstance(each, (int, float))]),
        )
        (name, length), gamma = _length(scheduler), getattr(scheduler, "gamma", None)
        if length is not None:
            falls = gamma if isinstance(gamma, float) else None
            number = recorder.references.number(scheduler)
            text = recorder.argument(here.site, SECOND.get(name, NOT_BY_PLACE), name, type(scheduler).__name__)
            count = {"number": length, "text": text}
            recorder.event("ScheduleCounted", here, scheduler=number, length=count, falls=falls)
        if optimizer is not None:
            ran = _Ran(here._replace(frame=None), recorder.references.number(scheduler), _rates(optimizer))
            self._ran.append(ran)
            self._ran_by[scheduler] = ran
            self._ran_on.setdefault(optimizer, []).append(ran)

    def _driven(self, scheduler: Any) -> Any:
        """The optimizer whose rates a scheduler sets, without what a library wrapped it in: that one steps."""
        optimizer, base = getattr(scheduler, "optimizer", None), self._watch.torch.optim.Optimizer
        while isinstance(inner := getattr(optimizer, "optimizer", None), base) and inner is not optimizer:
            optimizer = inner
        return optimizer

    def _birthplace(self, scheduler: Any, here: Here) -> int:
        """The place that constructs a scheduler, outside of the constructors of the script's own class."""
        sites, frame = self._recorder.sites, here.frame
        while frame is not None:
            code = frame.f_code
            inside = code.co_name == "__init__" and code.co_argcount and first_argument(frame) is scheduler
            if sites.is_users(code.co_filename) and not inside:
                return sites.of_frame(frame)
            frame = frame.f_back
        return here.site

    def _step(self, original: Any) -> Any:
        recorder = self._recorder

        def step(scheduler: Any, *arguments: Any, **keywords: Any) -> Any:
            self._deep += 1
            ran = self._ran_by.get(scheduler)
            if ran is not None and not recorder.quiet:
                ran.steps += 1
            try:
                result = original(scheduler, *arguments, **keywords)
            finally:
                self._deep -= 1
            if not self._deep and not recorder.quiet and not recorder.rests():
                recorder.safely(self._stepped, scheduler, (*arguments, *keywords.values()))
            return result

        return step

    def _stepped(self, scheduler: Any, given: tuple[Any, ...]) -> None:
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None:
            return
        self._watch.optimizers.stepped_already()
        numbers = recorder.references.number
        optimizer = numbers(self._driven(scheduler))
        called = recorder.caller(here.site, "step").rpartition(".")[2]
        name = recorder.owner(here.site, "step") if called.startswith("step") else ""  # else a framework steps it
        plateau = isinstance(scheduler, self._watch.torch.optim.lr_scheduler.ReduceLROnPlateau)
        metric = given[0] if plateau and given and isinstance(given[0], float) else None
        fields: dict[str, Any] = {"optimizer": optimizer, "name": name, "explicit": bool(given), "metric": metric}
        recorder.event("SchedulerStepped", here, scheduler=numbers(scheduler), **fields)

    def _updated(self, optimizer: Any, _: tuple[Any, ...], __: dict[str, Any]) -> None:
        """An optimizer has stepped."""
        for ran in () if self._recorder.quiet else self._ran_on.get(optimizer, ()):
            rates = _rates(optimizer)
            ran.updates += 1
            ran.rate = rates[0]
            ran.stayed = ran.stayed and rates == ran.first

    def _at_end(self, _: BaseException | None) -> None:
        """Writes how far each scheduler came."""
        for ran in self._ran:
            fields: dict[str, Any] = {
                "steps": ran.steps,
                "updates": ran.updates,
                "rate": ran.rate,
                "stayed": ran.stayed,
            }
            self._recorder.event("ScheduleRan", ran.here, scheduler=ran.number, **fields)


def _rates(optimizer: Any) -> list[float]:
    """The learning rates of the groups of an optimizer."""
    return [float(group["lr"]) for group in optimizer.param_groups if "lr" in group]


def _length(scheduler: Any) -> tuple[str, int | None]:
    """What a schedule calls the steps after which it is over, or falls again, and how many; None where it does not say."""
    milestones = getattr(scheduler, "milestones", None)
    if milestones:
        return "milestones", max(map(int, milestones))
    for name in ("T_max", "total_steps", "total_iters", "step_size"):
        number = getattr(scheduler, name, None)
        if type(number) is int:
            return name, number
    factors = [getattr(each, "keywords", {}) for each in getattr(scheduler, "lr_lambdas", None) or ()]
    number = factors[0].get("num_training_steps") if factors else None
    return "num_training_steps", number if type(number) is int else None
