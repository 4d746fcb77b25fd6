"""Catches the first update of the script, the loop that it lies in, and what feeds that loop; then has the climb drive it."""

from __future__ import annotations

import importlib
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..faults import is_ours
from ..identities import IdentitySet
from ..loops import NOTHING
from .by_hand import ByHand
from .caught import RECENT, Caught, Pass, frames_of
from .climb import Climb
from .feeding import Feeding
from .keeping import Chance, Keeping, state_of
from .logs import Logs
from .stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..loop import Loop


class Catcher(Caught):
    """Listens until there was an update; `over` when the climb is."""

    def install(self) -> None:
        """Puts everything in place."""
        torch, patches = self.torch, self.watch.patches
        self.observer.install()
        self.norms.install()
        self.observer.before_first_step, self.observer.after_step = self._about_to_step, self._stepped
        data = torch.utils.data
        patches.replace(data.DataLoader, "__init__", self._remembering(self.loaders))
        patches.replace(data.DataLoader, "__iter__", self._starting)
        patches.replace(data.dataloader._BaseDataLoaderIter, "__next__", self._taking)
        schedules = importlib.import_module("torch.optim.lr_scheduler")
        scheduler = getattr(schedules, "LRScheduler", None) or schedules._LRScheduler
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        for kind in (torch.optim.Optimizer, scheduler, schedules.ReduceLROnPlateau, scaler):
            patches.replace(kind, "__init__", self._remembering(self.machinery))
        self.seeding.install()
        self.observer.by_hand, self.observer.around = ByHand(torch), self._around
        Logs(self).install()
        self.births.install()
        self.recorder.caps.climb = self
        self.recorder.at_end.insert(0, self._at_end)

    def _remembering(self, found: Any) -> Callable[[Any], Any]:
        def wrap(original: Any) -> Any:
            def __init__(thing: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
                original(thing, *arguments, **keywords)
                if isinstance(thing, self.torch.optim.Optimizer) and not self.recorder.quiet:
                    self.observer.by_hand = None
                if isinstance(found, IdentitySet):
                    found.add(thing)
                else:
                    found.setdefault(thing, False)

            return __init__

        return wrap

    # --- what gives batches ---

    def _starting(self, original: Any) -> Any:
        def __iter__(loader: Any) -> Any:  # noqa: N807
            iterator = original(loader)
            if not self.over and isinstance(iterator, self.torch.utils.data.dataloader._BaseDataLoaderIter):
                self.of[iterator] = loader
            return iterator

        return __iter__

    def _taking(self, original: Any) -> Any:
        def __next__(iterator: Any) -> Any:  # noqa: N807
            feeding = self.feeding
            if self.over or (feeding is not None and not feeding.playing):
                return original(iterator)
            if feeding is not None:
                return feeding.batch_of(iterator, original)
            if self.caught and self.loop is None and iterator is self.feeder:
                given = self._start(None)
                if given is not NOTHING:
                    return given
                return original(iterator)
            batch = original(iterator)
            if not self.recorder.quiet:
                self.recorder.safely(self._took_batch, iterator, batch)
            return batch

        return __next__

    def _took_batch(self, iterator: Any, batch: Any) -> None:
        recent = self.last.setdefault(iterator, [])
        recent.append(batch)
        self.counts[iterator] = self.counts.get(iterator, 0) + 1
        del recent[:-2]
        self.order = [*[each for each in self.order if each is not iterator][-3:], iterator]
        for loop in self._around()[-1:]:
            self.passes.setdefault(loop.node.key, Pass()).loaded = True

    def _around(self) -> list[Loop]:
        """The loops under way, the script's own and those of a trainer that it uses, outermost first."""
        loops, trainers = self.recorder.here().loops, self.recorder.index.trainers
        if not trainers:
            return loops
        sites, known = self.recorder.sites, self.recorder.scopes.loops
        frames = [each for each in frames_of(self.recorder) if each.f_code.co_filename in trainers]
        if not frames:
            return loops
        return [
            loop
            for frame in reversed(frames_of(self.recorder))
            for loop in known.of_frame(frame, sites.position(frame))
        ]

    # --- what the loops tell ---

    def given(self, loop: Loop, following: Callable[[], Any] | None) -> Any:
        """The item for the next pass of a loop; NOTHING where it goes on by itself."""
        if self.over:
            return NOTHING
        feeding = self.feeding
        if feeding is None:
            if not self.caught:
                self.recorder.safely(self._look_for_updates_by_hand, loop)
            if self.caught and loop is self.loop:
                return self._start(following)
            if not self.caught and loop.node.kind != "comprehension":
                known = self.passes.setdefault(loop.node.key, Pass())
                if loop.watched or not loop.number:
                    known.chance = Chance(self.torch)
                if not loop.number and loop.node.span.path in self.recorder.index.trainers:
                    known.trainer = Keeping.of_trainer(self.watch, frames_of(self.recorder))
            return NOTHING
        if not feeding.playing:
            return NOTHING
        if loop is self.loop:
            return feeding.turn()
        if loop in self.outer:
            feeding.broken("the script left its loop while a step was repeated")
        return NOTHING

    def took(self, loop: Loop, item: Any) -> None:
        """A loop makes a pass with an item of its own."""
        if self.caught or self.over:
            return
        known = self.passes.setdefault(loop.node.key, Pass())
        if loop.number <= 1:
            known.items.clear()
        known.items.append(item)
        del known.items[: -RECENT if loop.trained or known.trainer is not None else -1]

    # --- updates ---

    def _about_to_step(self, optimizer: Any) -> None:
        """Before the first update of an optimizer its parameters are those that the script began with."""
        if self.caught or self.over:
            return
        if optimizer not in self.fresh:
            self.fresh[optimizer] = state_of(self.torch, optimizer)
        for group in optimizer.param_groups:
            for each in group["params"]:
                if id(each) not in self.initial:
                    self.initial[id(each)] = (each, each.detach().clone())

    def _stepped(self, _: Any) -> None:
        if self.caught or self.over or self.recorder.quiet:
            return
        self.observer.by_hand = None
        self._catch(self._around())

    def _catch(self, loops: list[Loop]) -> None:
        """Remembers the loop with the first update, of those around it, and what feeds it."""
        fed = [loop for loop in loops if loop.node.key in self.passes and self.passes[loop.node.key].loaded]
        chosen = fed[-1] if fed else loops[-1] if loops else None
        iterator = self.order[-1] if self.order else None
        if chosen is None and iterator is None:
            return
        if (not fed and iterator is not None and not loops) or fed:
            self.feeder = iterator
        self.loop, self.outer = chosen, loops[: loops.index(chosen)] if chosen is not None else []
        if self.feeder is not None and self.feeder in self.of:
            self.loaders[self.of[self.feeder]] = True
        self.caught = True
        self.observer.before_first_step = None

    def _look_for_updates_by_hand(self, loop: Loop) -> None:
        """Whether the last pass of a loop, in which something went backward, moved what has no optimizer."""
        found = self.observer.by_hand
        if found is None or not found.loops or found.loops[-1] is not loop:
            return
        self.recorder.quiet += 1
        try:
            updated = found.updated()
        finally:
            self.recorder.quiet -= 1
        if not updated:
            return
        self.initial.update(found.initial())
        self.observer.seen.steps += 1
        self.observer.seen.optimizers.append(found.optimizer)
        self._catch(found.loops)

    # --- the climb ---

    def _start(self, following: Callable[[], Any] | None) -> Any:
        """The pass with the first update is over: the climb begins, with the item for its first step."""
        self.observer.on = False
        self.recorder.quiet += 1
        try:
            stage = Stage(self, self.observer.seen)
            climb = Climb(stage, self.plan)
            self.feeding = Feeding(self, stage, climb, following)
            return self.feeding.begin()
        except Exception as error:  # noqa: BLE001 - a fault of ours is not one of the script
            self.finish()
            self.recorder.note(f"the checkup failed: {type(error).__name__}: {error}")
            return NOTHING

    def _at_end(self, error: BaseException | None) -> None:
        """The script ended: before its first update, or while it repeated a step, or at last."""
        if self.over:
            return
        said = "" if error is None else f": {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        late = self.recorder.caps.stopping or monotonic() - self.recorder.caps.began > self.recorder.caps.seconds
        if self.feeding is not None:
            ended = (
                "the time limit was reached" if late else "the script ended" + (said or " while a step was repeated")
            )
            self.feeding.broken(ended, late=bool(late))
            return
        self.observer.on = False
        ended = (
            "the time limit was reached before the first optimizer step"
            if late
            else "the script ended before the first optimizer step"
        )
        self.recorder.quiet += 1
        ours = isinstance(error, Exception) and is_ours(error, self.recorder.sites)
        if ours and not late and not self.caught:
            ended = f"the checkup itself failed{said}"
        elif said and not late and not self.caught:  # what the error is, is said once
            ended = "the script stops with an error"
            self.recorder.channel.write(t="stopped")
        if self.caught:
            ended = f"the script left its loop after the first optimizer step, so the step could not be repeated{said}"
        Climb(Stage(self, self.observer.seen), self.plan).without_steps(ended)
        self.finish()
