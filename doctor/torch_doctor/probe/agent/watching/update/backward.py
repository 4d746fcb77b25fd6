"""Backward passes: which tensors get gradients, and whether old ones are still there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ...nodes import span_of
from ..graphs import Behind, behind, divisor, gone_through, summed, treated
from ..instrument_hooks import InstrumentHooks
from .gradients import PROOFS

if TYPE_CHECKING:
    from ...scopes import Here
    from ..watch import Watch

WEIGHTS = ("gradient", "grad_tensors")
STABLE = 3  # times that one place has to find the same tensors before it is not walked any more


class Reached:
    """The tensors that the backward pass of one place reaches, while they stay the same."""

    __slots__ = ("leaves", "modules", "same", "version")

    def __init__(self) -> None:
        self.leaves: list[Any] = []
        self.modules: set[int] = set()
        self.same = 0
        self.version = 0  # how many modules there were


class Before:
    """What was there before a backward pass."""

    __slots__ = ("divisor", "fact", "here", "losses", "old", "reached", "states", "weighted")

    def __init__(self, here: Here, fact: dict[str, Any], reached: Behind) -> None:
        self.here = here
        self.fact = fact
        self.reached = reached
        self.losses: list[Any] = []
        self.states: list[tuple[Any, int, int]] = []
        self.old: list[tuple[Any, Any]] = []
        self.weighted = False
        self.divisor: float | None = None


class Watcher:
    """Wraps `Tensor.backward`, `torch.autograd.backward` and `torch.autograd.grad`; the outermost call is the event."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._busy = False
        self._by_method = True
        self._seen: dict[int, Reached] = {}
        self._proofs: dict[int, int] = {}
        self._keeps = False

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._torch
        self._watch.patches.replace(torch.Tensor, "backward", self._wrapping)
        self._watch.patches.replace(torch.autograd, "backward", self._wrapping)
        self._watch.patches.replace(torch.autograd, "grad", self._wrapping_grad)

    def _wrapping(self, original: Any) -> Any:
        recorder, is_users = self._recorder, self._recorder.sites.is_users
        method = original is self._torch.Tensor.backward

        def backward(*arguments: Any, **keywords: Any) -> Any:
            if self._busy or recorder.quiet or recorder.rests():
                return original(*arguments, **keywords)
            self._busy = True
            self._by_method = method and is_users(sys._getframe(1).f_code.co_filename)
            try:
                before = recorder.safely(self._before, arguments, keywords)
                try:
                    result = original(*arguments, **keywords)
                except RuntimeError:
                    if before is not None:
                        recorder.safely(self._refused, before)
                    raise
                if before is not None:
                    recorder.safely(self._after, before, keywords)
                return result
            finally:
                self._busy = False

        return backward

    # --- before ---

    def _before(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Before | None:
        recorder = self._recorder
        here = recorder.here()
        losses = list(self._watch.marks.tensors(arguments[0] if arguments else keywords.get("tensors")))
        if here.frame is None or not losses:
            return None
        self._watch.gradients.look(here)
        loss = losses[0]
        fact = self._watch.facts.of(loss, self._name(here.site))
        fact.setdefault("kind", "loss")
        before = Before(here, fact, self._reached(losses, here.site))
        inputs = keywords.get("inputs")
        leaves = before.reached.leaves if inputs is None else list(self._watch.marks.tensors(inputs))
        gradients = self._watch.gradients
        for leaf in leaves:
            old = leaf.grad
            before.states.append((leaf, id(old), -1 if old is None else old._version))
            if old is not None and self._proofs.get(here.site, 0) < PROOFS and gradients.is_stale(leaf):
                before.old.append((leaf, old.detach().clone()))
        before.losses = losses
        before.divisor = divisor(loss.grad_fn)
        before.reached.broadcasts += summed(losses) if self._watch.differences.stretched else []
        self._note_kept(before, keywords)
        before.weighted = len(arguments) > 1 or any(keywords.get(name) is not None for name in WEIGHTS)
        self._watch.tell(InstrumentHooks.before_backward, losses, here)
        return before

    def _note_kept(self, before: Before, keywords: dict[str, Any]) -> None:
        """Tells which places kept graphs that this pass goes through again, and notes what it keeps itself."""
        keeps = self._retained_at(before.here.site, keywords)
        self._keeps |= keeps is not None
        if self._keeps:
            again, whole = gone_through([loss.grad_fn for loss in before.losses], keeps)
            before.reached.complete &= whole
            for site in again:
                self._recorder.measured(claims.GRAPHS_USED_AGAIN, 1, "backward passes", site=site)

    def _name(self, site: int) -> str:
        """The user's text of the loss: whose `backward` it is, or what a function of another library is given."""
        recorder = self._recorder
        call = recorder.call(site, "backward")
        if call is None:
            return ""
        if call.args and not self._by_method:
            return recorder.argument(site, 0)
        return recorder.owner(site, "backward")

    def _reached(self, losses: list[Any], site: int) -> Behind:
        """Everything behind the losses; at a place that always reaches the same tensors only what is near."""
        seen = self._seen.setdefault(site, Reached())
        called = self._watch.facts.called
        version = self._watch.modules.version
        if seen.version != version:  # a part may be another one
            seen.version, seen.same = version, 0
        walk = seen.same < STABLE
        found = self._behind(losses, leaves=walk)
        if not walk and not seen.modules.issuperset(called.get(each, 0) for each in found.forwards):  # of another model
            walk, seen.same = True, 0
            found = self._behind(losses, leaves=True)
        if not walk:
            found.leaves = seen.leaves
            return found
        seen.modules = {called.get(each, 0) for each in found.forwards}
        same = len(found.leaves) == len(seen.leaves) and {*map(id, found.leaves)} == {*map(id, seen.leaves)}
        seen.same = seen.same + 1 if same else 0
        seen.leaves = found.leaves
        return found

    def _behind(self, losses: list[Any], *, leaves: bool) -> Behind:
        """Everything behind all of the losses."""
        found = Behind()
        for loss in losses:
            one = behind(loss.grad_fn, leaves=leaves)
            found.forwards |= one.forwards
            found.retained |= one.retained
            found.complete &= one.complete
            found.leaves += one.leaves
            found.broadcasts += one.broadcasts
            if loss.grad_fn is None and loss.requires_grad:
                found.leaves.append(loss)
        return found

    # --- after ---

    def _after(self, before: Before, keywords: dict[str, Any]) -> None:
        recorder, here = self._recorder, before.here
        got = []
        for leaf, was, version in before.states:
            now = leaf.grad
            if now is not None and (id(now) != was or now._version != version):
                got.append(leaf)
        modules = self._watch.modules.owners(got, here)
        kept = before.reached.retained
        scaled, divided = treated(before.losses[0].grad_fn)
        hooked = any(leaf._backward_hooks or leaf._post_accumulate_grad_hooks for leaf in got)
        for broadcast in before.reached.broadcasts:
            recorder.event("Broadcast", here, **broadcast)
        if before.divisor is not None:
            recorder.event("LossDivided", here, number=before.divisor)
        number = recorder.event(
            "Backward",
            here,
            name=before.fact.get("name", ""),
            through="backward",
            loss=before.fact,
            modules=sorted(modules),
            whole=before.reached.complete,
            forwards=before.fact.get("forwards", []),
            retained=sorted(kept),
            retain_graph=bool(keywords.get("retain_graph", keywords.get("create_graph", False))),
            inputs_only=keywords.get("inputs") is not None and not any(map(self._watch.modules.is_owned, got)),
            weighted=before.weighted,
            scaled=scaled,
            divided=None if hooked and not divided else divided,  # a hook may do it
            retained_at=self._retained_at(here.site, keywords),
            autocast=self._watch.autocasting.current,
        )
        self._watch.gradients.filled(got, here)
        recorder.happened(here, trained=True)
        if before.old:
            self._measure(before, number)
        self._watch.tell(InstrumentHooks.on_backward, before.losses, got, here, number)

    def _retained_at(self, site: int, keywords: dict[str, Any]) -> int | None:
        """The place of the argument `retain_graph=True`."""
        if keywords.get("retain_graph") is not True or keywords.get("create_graph"):
            return None
        call = self._recorder.call(site, "backward")
        for keyword in call.keywords if call is not None else ():
            if keyword.arg == "retain_graph":
                return self._recorder.sites.number(span_of(self._recorder.span(site).path, keyword.value))
        return site

    def _refused(self, before: Before) -> None:
        """Why torch does not take the loss: it has no graph, or several numbers."""
        loss, site = before.losses[0], before.here.site
        self._watch.tell(InstrumentHooks.on_refused, before.losses, before.here)
        if not loss.requires_grad:
            self._recorder.measured(claims.LOSSES_WITHOUT_GRAPH, 1, "losses", site=site)
        elif loss.numel() != 1 and not before.weighted:
            self._recorder.measured(claims.REFUSED_LOSS_SIZE, loss.numel(), "numbers", site=site)

    def _measure(self, before: Before, number: int) -> None:
        """How much of the gradient is of earlier passes."""
        site = before.here.site
        self._proofs[site] = self._proofs.get(site, 0) + 1
        total = own = 0.0
        for leaf, old in before.old:
            if leaf.grad is not None and leaf.grad.shape == old.shape:
                total += float(leaf.grad.detach().double().norm()) ** 2
                own += float((leaf.grad.detach() - old).double().norm()) ** 2
        if own > 0:
            ratio = (total / own) ** 0.5
            self._recorder.measured(claims.GRADIENT_RATIO, ratio, "times", site=site, about=[number])

    # --- torch.autograd.grad ---

    def _wrapping_grad(self, original: Any) -> Any:
        recorder = self._recorder

        def grad(*arguments: Any, **keywords: Any) -> Any:
            if self._busy or recorder.quiet or recorder.rests():
                return original(*arguments, **keywords)
            self._busy = True
            try:
                told = recorder.safely(self._grad, arguments, keywords)
                result = original(*arguments, **keywords)
                if told is not None:
                    recorder.safely(self._went, *told)
                return result
            finally:
                self._busy = False

        return grad

    def _went(self, here: Here, fields: dict[str, Any]) -> None:
        self._recorder.event("Backward", here, **fields)
        self._recorder.happened(here, trained=True)

    def _grad(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Here, dict[str, Any]] | None:
        recorder = self._recorder
        here = recorder.here()
        outputs = list(self._watch.marks.tensors(arguments[0] if arguments else keywords.get("outputs")))
        inputs = arguments[1] if len(arguments) > 1 else keywords.get("inputs")
        if here.frame is None or not outputs:
            return None
        self._watch.gradients.look(here)
        fact = self._watch.facts.of(outputs[0], recorder.argument(here.site, 0, "outputs", "grad"))
        owned = [each for each in self._watch.marks.tensors(inputs) if self._watch.modules.is_owned(each)]
        reached = self._reached(outputs, here.site)
        return here, {
            "name": fact.get("name", ""),
            "through": "autograd.grad",
            "loss": fact,
            "modules": sorted(self._watch.modules.owners(owned, here)) if owned else [],
            "whole": True,
            "forwards": fact.get("forwards", []),
            "retained": sorted(reached.retained),
            "retain_graph": bool(keywords.get("retain_graph", keywords.get("create_graph", False))),
            "inputs_only": not owned,
        }
