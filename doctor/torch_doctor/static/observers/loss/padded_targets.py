"""Losses that get padded targets: does the padding count among them?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import ends, regressed
from torch_doctor.static.domains.ends import KnownPlaces
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import losses
from torch_doctor.static.tables.canonical import among, canonical
from torch_doctor.static.tables.language import IGNORED
from torch_doctor.static.training.data import tokenizing
from torch_doctor.static.training.frameworks import trainers
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.training.reductions import reduction_of
from torch_doctor.static.values import Const, Lib, Making, Method, Module, Plain, Tensor, Unknown, Value, symbol_of
from torch_doctor.trace import PaddedTargets

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol
    from torch_doctor.trace import Site, Tri

_LOSSES: Final = frozenset(
    (
        "torch.nn.CrossEntropyLoss",
        "torch.nn.NLLLoss",
        "torch.nn.functional.cross_entropy",
        "torch.nn.functional.nll_loss",
    )
)
_DISTANCES: Final = frozenset(
    each
    for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
    for each in (f"torch.nn.{name}", losses.functional_of[f"torch.nn.{name}"])
)
"""Losses that compare numbers, one by one."""
_EMBEDDING: Final = "torch.nn.Embedding"
_PADDING_INDEX: Final = 2


class PaddedTargeting(
    Observer,
    invoked=(Named(Module, {*_LOSSES, *_DISTANCES, _EMBEDDING}), Named(Lib, among(_LOSSES | _DISTANCES))),
    called=(Named(Method, ("train",)),),
    made=frozenset(("mean", "torch.mean")),
):
    """What the targets of a loss were filled up with, and whether it leaves that out.

    A filling whose number the source does not give may be the one that is left out by default, unless it is an index: of the
    embedding that is built for it, or that gets sequences filled with it.
    """

    writes = (PaddedTargets,)

    _indices: set[Symbol] = per_run(set)
    _given: set[Making] = per_run(set)  # the padded sequences that models got
    _labels: dict[Site, Site] = per_run(dict)  # where something padded became labels, by where it was padded

    @override
    def built(self, _: Run, thing: object, __: Call) -> None:
        """An embedding is told which index is padding."""
        if isinstance(thing, Module) and thing.layer == _EMBEDDING:
            given = (
                thing.given[_PADDING_INDEX] if len(thing.given) > _PADDING_INDEX else thing.settings.get("padding_idx")
            )
            self._is_index(given)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write what a loss does with the padding of its targets."""
        module = func if isinstance(func, Module) else None
        name = module.layer if module is not None else canonical(func.name) if isinstance(func, Lib) else ""
        if name == _EMBEDDING and module is not None and (given := call.argument(0, "input")) is not None:
            found = run.ask(Padded, given)
            self._is_index(None if found is None else found.fill)
        if (name in losses.CLASSES) is not (module is not None):
            return
        if name in _DISTANCES and reduction_of(name, call, module) in ("mean", "sum"):
            self._compared(run, call, call.argument(0, "input"), call.argument(1, "target"))
        if name not in _LOSSES:
            return
        scores, target = call.argument(0, "input"), call.argument(1, "target")
        found = run.ask(Padded, target)
        if (
            found is None
            or not isinstance(scores, (Tensor, Unknown))
            or not (scores.flow.forwards or scores.flow.graph)
            or self._tells(run, found)
            or self._predicts_ends(run, scores, target, found)
        ):
            return
        run.emit(
            PaddedTargets,
            call.node,
            name=call.name,
            target=run.text_of_argument(call.node, 1, "target"),
            counted=self._counted(name, call, module, found.fill),
            padded_at=found.site,
            fill=str(found.fill.value) if isinstance(found.fill, Const) else "",
            trains=run.grad is not False,
            settings_at=run.site(call.node) if module is None else module.born,
        )

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """`(predictions - targets).abs().mean()`."""
        pair = regressed.compared(call.args[0]) if len(call.args) == 1 and not call.keywords else None
        for scores, target in (pair, pair[::-1]) if pair is not None else ():
            self._compared(run, call, scores, target, by_hand=True)

    def _compared(
        self, run: Run, call: Call, scores: Value | None, target: Value | None, *, by_hand: bool = False
    ) -> None:
        """Write that a loss compares numbers at all places, if there is padding among them."""
        found = regressed.padded(run, target) if scores is not None and scores.flow.forwards else None
        if found is None or not regressed.is_everywhere(run, scores) or self._tells(run, found):
            return
        if ends.known(run, scores, found) is not KnownPlaces.ENDS:
            return
        run.emit(
            PaddedTargets,
            call.node,
            name=run.text(call.node) if by_hand else call.name,
            target="" if by_hand else run.text_of_argument(call.node, 1, "target"),
            counted=True,
            compares=True,
            padded_at=found.site,
            trains=run.grad is not False,
        )

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """Note what a model gets; write what it does with the padding of its labels, once its loss of them is used."""
        self._given.update(found.made for each in call.values if (found := run.ask(Padded, each)) is not None)
        if language_models.loss_of(module) and language_models.has_loss(run, result):
            event = self._labelled(run, call, call.keywords["labels"], used=False)
            if event is not None:
                language_models.speaks(run, result, event)

    @override
    def called(self, run: Run, func: Value, call: Call, _: Value) -> None:
        """Write what the model of a library's trainer does with the padding of its labels."""
        given = trainers.labelled(run, func.of) if isinstance(func, Method) else None
        if given is not None:
            self._labelled(run, call, given.labels, owned=True)

    @override
    def item_set(self, run: Run, holder: Value, key: Value, value: Value, node: p.Node) -> None:
        """`batch["labels"] = tokens`, of tokens that are padded."""
        if isinstance(key, Const) and key.value == "labels" and (found := run.ask(Padded, value)) is not None:
            self._labels[found.site] = run.site(node)

    def _labelled(
        self, run: Run, call: Call, labels: Value | None, *, used: bool = True, owned: bool = False
    ) -> PaddedTargets | None:
        """Write what a model's own loss does with the padding of its labels; `owned`: a trainer of a library passes them."""
        found = run.ask(Padded, labels)
        if found is None:
            return None
        event: PaddedTargets = run.emit(
            PaddedTargets,
            call.node,
            name=call.name,
            target=run.text_of_argument(call.node, len(call.args), "labels"),
            counted=self._counts(found.fill, Const(IGNORED)),
            padded_at=found.site,
            within=True,
            labelled_at=self._labels.get(found.site, found.site) if owned else None,
            trains=run.grad is not False,
            used=used,
        )
        return event

    def _predicts_ends(self, run: Run, scores: Value, target: Value | None, found: Padding) -> bool:
        """Whether a model has to predict where sequences end, or may have to: it gets what it is to give back as a whole."""
        known = ends.known(run, scores, found)
        whole = target is not None and ends.is_whole(target) and found.made in self._given
        return known is KnownPlaces.NO_ENDS or (known is KnownPlaces.MAYBE and whole)

    def _tells(self, run: Run, found: Padding) -> bool:
        """Whether padding tells, or may tell, where to stop: it is no index of padding."""
        index = found.fill is not None and symbol_of(found.fill) in self._indices
        return not index and (ends.tells(run, found) or ends.may_tell(found))

    def _is_index(self, value: Value | None) -> None:
        if isinstance(value, (Plain, Unknown)):
            self._indices.add(symbol_of(value))

    def _counted(self, name: str, call: Call, module: Module | None, fill: Value | None) -> Tri:
        """Whether the filling counts; None where that is not known, or where weights decide."""
        if reduction_of(name, call, module) not in ("mean", "sum"):
            return None
        order = losses.SETTINGS[name]
        given, named = (
            (call.args[2:], call.keywords) if module is None else (module.given, {**module.settings, **module.fields})
        )
        settings = {**dict(zip(order, given, strict=False)), **named}
        if "**" in settings or not _is_none(settings.get("weight")):
            return None
        return self._counts(fill, settings.get("ignore_index", Const(IGNORED)))

    def _counts(self, fill: Value | None, ignored: object) -> Tri:
        """Whether a filling counts where a loss ignores something."""
        if isinstance(fill, Const) and isinstance(ignored, Const):
            return None if not isinstance(fill.value, int) or fill.value < 0 else fill.value != ignored.value
        if not isinstance(fill, (Plain, Unknown)) or not isinstance(ignored, Value):
            return None
        if isinstance(ignored, Const):
            negative = isinstance(ignored.value, int) and ignored.value < 0
            return True if negative and (symbol_of(fill) in self._indices or tokenizing.fills(fill)) else None
        return False if symbol_of(fill) == symbol_of(ignored) else None


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, Const) and value.value is None)
