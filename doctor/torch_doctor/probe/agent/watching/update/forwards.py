"""Calls of modules as a whole."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ... import hooks
from ..instrument_hooks import InstrumentHooks
from ..marks import on_node
from ..naming import class_name, is_project

if TYPE_CHECKING:
    from ...recorder import Recorder
    from ...scopes import Here
    from ..watch import Watch


AT_REST = 2  # what `recorder.inside` is within a module of a loop that rests


class Watcher:
    """Wraps the call of modules; only the outermost is an event."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder: Recorder = watch.recorder
        self._marks = watch.marks
        self._facts = watch.facts
        self._losses = watch.torch.nn.modules.loss._Loss
        parallel = watch.torch.nn.parallel
        self._shells = (parallel.DataParallel, parallel.DistributedDataParallel)
        self.calling: list[Any] = []
        self.running: Any = None  # the whole module that was called last
        self._called: list[Any] = []  # the parts that were called in it
        self._given: dict[tuple[int, int], tuple[Any, ...]] = {}  # what a module got last at a place, with its weights

    def install(self) -> None:
        """Wraps `nn.Module.__call__`, and `model.forward` where it is called by name."""
        self._watch.patches.replace(self._torch.nn.Module, "__call__", self._call)
        hooks.put("direct", self._direct)

    def _call(self, original: Any) -> Any:
        recorder, calling, outermost = self._recorder, self.calling, self._outermost
        losses, identity, called = self._losses, threading.get_ident, self._called

        def __call__(self: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: N807
            if recorder.inside == AT_REST:
                return original(self, *arguments, **keywords)
            if isinstance(self, losses):
                calling.append(self)
                try:
                    return original(self, *arguments, **keywords)
                finally:
                    calling.pop()
            if recorder.inside or recorder.quiet or identity() != recorder.main:
                if recorder.inside:
                    called.append(self)
                return original(self, *arguments, **keywords)
            if recorder.resting is not None and recorder.rests():
                recorder.inside = AT_REST
                try:
                    return original(self, *arguments, **keywords)
                finally:
                    recorder.inside = 0
            return outermost(self, original, arguments, keywords)

        return __call__

    def _direct(self, key: int, function: Any) -> Any:
        """`model.forward`, called by name: a call of the model, unless it is within one."""
        module = getattr(function, "__self__", None)
        recorder = self._recorder
        recorder.safely(self._watch.named_forwards.note, key, function)
        if recorder.inside:
            self._called.append(module)
        if (
            recorder.inside
            or recorder.quiet
            or recorder.rests()
            or not isinstance(module, self._torch.nn.Module)
            or isinstance(module, self._losses)
        ):
            return function

        def forward(*arguments: Any, **keywords: Any) -> Any:
            return self._outermost(module, lambda _, *a, **k: function(*a, **k), arguments, keywords)

        return forward

    def _outermost(self, module: Any, call: Any, arguments: Any, keywords: Any) -> Any:
        recorder, watch = self._recorder, self._watch
        about = recorder.safely(self._about_to_call, module, arguments, keywords)
        if about is None:
            return call(module, *arguments, **keywords)
        meant, here, _ = about
        asked = recorder.safely(watch.first_layers.before, meant, here) or ()
        recorder.inside, recorder.around = 1, here
        self.running = meant
        self._called.clear()
        try:
            output = watch.plain_tensors.follow(module, call, arguments, keywords)
        finally:
            recorder.inside, recorder.around = 0, None
            for handle in asked:
                handle.remove()
        recorder.safely(self._came_back, about, arguments, keywords, output)
        self._called.clear()
        return output

    def _about_to_call(
        self, module: Any, arguments: Any, keywords: Any
    ) -> tuple[Any, Here, dict[str, Any] | None] | None:
        """The module that is meant, where it is called, and what to say of it; None where nothing is to be said."""
        recorder, watch = self._recorder, self._watch
        meant = module.module if isinstance(module, self._shells) else module
        family = watch.modules.family(meant)
        if not family.parameters and not family.sensitive and not is_project(type(meant), recorder):
            return None  # a function in the shape of a module
        here = recorder.here()
        if here.frame is None or self._torch.jit.is_tracing():  # who traces a module uses no result
            return None
        before = recorder.safely(self._before, meant, family, here, [*arguments, *keywords.values()])
        if before is not None:
            before["wrapped"] = meant is not module
        if watch.instruments:
            watch.tell(InstrumentHooks.before_forward, meant, arguments, keywords, here)
        return meant, here, before

    def _came_back(
        self, about: tuple[Any, Here, dict[str, Any] | None], arguments: Any, keywords: Any, output: Any
    ) -> None:
        """A call of a whole module is over."""
        recorder, watch = self._recorder, self._watch
        meant, here, before = about
        recorder.safely(watch.built_in_forward.after, meant, here)
        recorder.safely(watch.functional_dropout.after, meant)
        if before is not None:
            caring = self.caring(meant)
            before["sensitive"] = bool(caring)
            before["training"] = _is_training(meant, caring)  # hooks of the module may have switched it on the way in
            event = recorder.safely(self._after, before, here, output, [*arguments, *keywords.values()])
            if watch.instruments and event is not None:
                watch.tell(InstrumentHooks.on_forward, meant, arguments, keywords, output, here, event)
        if watch.modules.family(meant).parameters:
            recorder.happened(here)

    def caring(self, module: Any) -> list[Any]:
        """The mode-sensitive parts that the last call of this module came to; all of them where nobody can see that."""
        parts: list[Any] = self._watch.modules.family(module).sensitive
        called = {id(part) for part in self._called}
        if not parts or not called:
            return parts
        called.add(id(module))
        for part in self._called:
            if _is_compiled(part, self._torch):
                called.update(map(id, part.modules()))
        return [part for part in parts if id(part) in called]

    def _before(self, module: Any, family: Any, here: Here, given: list[Any]) -> dict[str, Any]:
        recorder = self._recorder
        self._watch.gradients.look(here)
        self._watch.given_weights.look(here, module)
        self._watch.modules.tell(module, here)
        self._watch.memory.used(self._marks.tensors(given))
        inputs = next(iter(self._marks.tensors(given)), None)
        sensitive = family.sensitive
        batches = any(loop.batches for loop in here.loops)
        fact = {}
        if inputs is not None:
            fact = self._facts.of(inputs, source="loader" if batches else "data")
            fact["name"] = recorder.argument(here.site, 0, "", "forward")
            fact["leaf"] = any(map(self._facts.needs_gradients, self._marks.tensors(given)))
        return {
            "module": recorder.references.number(module),
            "name": self._name(here.site),
            "class_name": class_name(type(module), recorder),
            "sensitive": bool(sensitive),
            "training": _is_training(module, sensitive),
            "grad": bool(self._torch.is_grad_enabled()),
            "trainable": any(each.requires_grad for each in family.parameters),
            "inputs": fact,
            "again": inputs is not None and self._again(module, family, here, inputs),
            "autocast": self._watch.autocasting.current,
        }

    def _again(self, module: Any, family: Any, here: Here, inputs: Any) -> bool:
        """Whether it got this input at this place the last time, too, and nothing has changed since."""
        place = here.site, self._recorder.references.number(module)
        weights = tuple(each._version for each in family.parameters)
        reference, *before = self._given.get(place, (lambda: None,))
        now = [_version(inputs), weights]
        self._given[place] = (weakref.ref(inputs), *now)
        return reference() is inputs and before == now

    def _name(self, site: int) -> str:
        """What the user calls the module."""
        text = self._recorder.caller(site)
        return text.removesuffix(".forward")

    def _after(self, fields: dict[str, Any], here: Here, output: Any, given: list[Any]) -> int:
        """Writes the event, and marks what came out; returns its number."""
        recorder, marks, facts = self._recorder, self._marks, self._facts
        number = recorder.scopes.events
        data: frozenset[int] = frozenset()
        graph: frozenset[int] = frozenset()
        for tensor in marks.tensors(given):
            before, through, _ = facts.history(tensor)
            data |= before
            graph |= through
        facts.lineage[number] = (data, graph)
        facts.called[number] = fields.get("module", 0)
        first = True
        fact: dict[str, Any] = {}
        recorded = False
        for tensor in marks.tensors(output):
            if tensor.grad_fn is not None:
                recorded = True
                on_node(tensor.grad_fn).setdefault("forwards", set()).add(number)
            mark = marks.of(tensor)
            marks.put(tensor, replace(mark, forwards=mark.forwards | {number}))
            if first:  # after the marks: what is behind this forward need not be walked through
                fact = facts.of(tensor, source=fields["inputs"].get("source", ""))
                first = False
        fact["forwards"] = sorted({number, *data})
        if recorded:  # by whichever of several outputs
            fact["graph"] = True
        if fact.get("graph"):
            fact["graph_forwards"] = sorted({number, *graph})
        return recorder.event("Forward", here, **fields, output=fact, used=recorder.used(here))


def _is_training(module: Any, caring: list[Any]) -> bool:
    """Whether a part that cares about the mode is in training mode; the module itself where none cares."""
    return any(part.training for part in caring) if caring else bool(module.training)


def _version(tensor: Any) -> int:
    """How often a tensor was changed in place; those of the inference mode do not count."""
    return -1 if tensor.is_inference() else int(tensor._version)


def _is_compiled(part: Any, torch: Any) -> bool:
    """Whether the calls within a module may be out of Python's sight."""
    compiled = getattr(part, "_compiled_call_impl", None) is not None or "_orig_mod" in part.__dict__.get(
        "_modules", ()
    )
    return compiled or isinstance(part, torch.jit.ScriptModule)
