"""Metrics of libraries that get labels of which some are padding or void, and are not told to leave these out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import counting, padding
from torch_doctor.static.domains.padding import JOINED, Padded
from torch_doctor.static.libraries import measures
from torch_doctor.static.libraries.library import members
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.data import arrays
from torch_doctor.static.values import (
    Const,
    Lib,
    Making,
    Method,
    Plain,
    Sequence,
    Tensor,
    Tool,
    UnknownAttribute,
    Value,
    symbol_of,
)
from torch_doctor.trace import PaddingScored

if TYPE_CHECKING:
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol

_OF_LABELS: Final = frozenset(
    members(
        "sklearn.metrics",
        """
        accuracy_score balanced_accuracy_score f1_score fbeta_score precision_score recall_score jaccard_score
        matthews_corrcoef cohen_kappa_score hamming_loss zero_one_loss
        """,
    )
)
"""Functions that compare each label with an answer (https://scikit-learn.org/stable/api/sklearn.metrics.html)."""
_LEAVE_OUT: Final = frozenset(("labels", "sample_weight", "**"))
_LOAD: Final = "evaluate.load"
_LOADED: Final = frozenset(("accuracy", "f1", "precision", "recall"))
_COMPARING: Final = frozenset(("compute", "add", "add_batch"))
_ADDING: Final = frozenset(("update", "forward"))


def _scores(name: str) -> bool:
    return canonical(name) in _OF_LABELS or name.startswith("torchmetrics.")


class PaddedMetrics(
    Observer,
    invoked=(Named(Lib, _scores), Named(Method, _ADDING), Tool, UnknownAttribute),
    called=(Named(Lib, (_LOAD,)), Named(Method, ("tolist", "extend")), Plain),
):
    """What such metrics compare."""

    writes = (PaddingScored,)

    _loaded: set[Symbol] = per_run(set)
    _listed: dict[Symbol, Tensor] = per_run(dict)  # what `tolist` was called on, by the symbol of its result
    _extended: dict[int, list[Tensor]] = per_run(dict)  # whose numbers were added to a list, by its number
    _told: set[object] = per_run(set)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """`evaluate.load("accuracy")`, and `truths.extend(labels.tolist())`."""
        made = func.size if isinstance(func, Plain) else None
        if isinstance(func, Lib):
            which = call.argument(0, "path")
            if isinstance(which, Const) and which.value in _LOADED:
                self._loaded.add(symbol_of(result))
        elif made is not None and made.name == arrays.METHOD and made.of == "tolist" and made.args:
            self._lists(made.args[0], result)
        elif isinstance(func, Method) and func.name == "tolist":
            self._lists(func.of, result)
        elif isinstance(func, Method) and isinstance(func.of, Sequence) and len(call.args) == 1:
            given = _tensor(call.args[0]) or self._listed.get(symbol_of(call.args[0]))
            if given is not None:
                self._extended.setdefault(func.of.id, []).append(given)

    def _lists(self, of: Value, result: Value) -> None:
        tensor = _tensor(of)
        if tensor is not None and isinstance(result, Plain):
            self._listed[symbol_of(result)] = tensor

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Find the answers and labels among the arguments of a metric."""
        of = func.of if isinstance(func, (Method, UnknownAttribute)) else func
        if isinstance(func, UnknownAttribute):
            if func.name in _COMPARING and symbol_of(func.of) in self._loaded:
                answers, labels = call.keywords.get("predictions"), call.keywords.get("references")
                self._compared(run, call, answers, labels)
        elif isinstance(of, Lib) and canonical(of.name) in _OF_LABELS:
            by_class = _by_class(call.keywords.get("average"))
            if len(call.args) <= 2 and not _LEAVE_OUT & call.keywords.keys() and not by_class:
                self._compared(run, call, call.argument(1, "y_pred"), call.argument(0, "y_true"))
        elif isinstance(of, (Lib, Tool)):
            self._measured(run, of, call)

    def _measured(self, run: Run, of: Lib | Tool, call: Call) -> None:
        """A metric of torchmetrics is called, or gets a batch."""
        given, own = (call, call.args[2:]) if isinstance(of, Lib) else (of, of.args)
        task = given.keywords.get("task") or next(iter(own), None)
        name, classes = canonical(of.name), given.keywords.get("num_classes")
        if not measures.chooses(name, task.value if isinstance(task, Const) else None) or len(own) > 1:
            return
        if "multiclass" in name.lower() and own:
            classes = own[0]
        average = given.keywords.get("average")
        if {"ignore_index", "**"} & {*given.keywords, *call.keywords} or _by_class(average):
            return
        settings = run.site(call.node) if isinstance(of, Lib) else of.born
        most = classes.value if isinstance(classes, Const) and isinstance(classes.value, int) else 1
        if settings is not None:
            self._compared(
                run, call, call.argument(0, "preds"), call.argument(1, "target"), settings_at=settings, classes=most
            )

    def _compared(self, run: Run, call: Call, answers: Value | None, labels: Value | None, **settings: object) -> None:
        """Write that a metric counts all of these labels, if some may be padding."""
        forwards = frozenset[int]().union(*(each.flow.forwards for each in self._parts(answers)))
        given, here = self._parts(labels), run.site(call.node)
        if not forwards or not given or any(each.flow.forwards for each in given):
            return
        found = _alike([run.ask(Padded, each) for each in given])
        if (found is None and not (len(given) == 1 and counting.is_raw(run, given[0]))) or here in self._told:
            return
        self._told.add(here)
        fill = None if found is None else found.fill
        spelled = "" if fill is None else str(fill.value) if isinstance(fill, Const) else str(symbol_of(fill))
        run.emit(
            PaddingScored,
            here,
            name=call.name,
            counted=True,
            fill=spelled,
            known=isinstance(fill, Const) and isinstance(fill.value, int) and fill.value < 0,
            padded_at=None if found is None else found.site,
            forwards=forwards,
            **settings,
        )

    def _parts(self, value: Value | None) -> list[Tensor]:
        """The tensors whose numbers a metric gets one behind the other; none where that is not known."""
        if isinstance(value, Sequence):
            added = self._extended.get(value.id, [])
            return added if len(added) == len(value.content.all()) else []
        tensor = None if value is None else _tensor(value)
        made = inner = None if tensor is None else tensor.meta
        while isinstance(inner, Making) and inner.args and padding.arranges(inner):
            inner = inner.args[0].meta if isinstance(inner.args[0], Tensor) else None
        made = inner if isinstance(inner, Making) and inner.name in JOINED else made
        if isinstance(made, Making) and made.name in JOINED and made.args and isinstance(made.args[0], Sequence):
            parts = [_tensor(each) for each in made.args[0].content.all()]
            return [each for each in parts if each is not None] if None not in parts else []
        return [] if tensor is None else [tensor]


def _tensor(value: Value) -> Tensor | None:
    return value if isinstance(value, Tensor) else arrays.tensor_of(value)


def _alike(found: list[Padding | None]) -> Padding | None:
    """How tensors were padded, if all were at one place."""
    sites = {None if each is None else each.site for each in found}
    return found[0] if len(sites) == 1 else None


def _by_class(average: Value | None) -> bool:
    """Whether there may be a score for each class, so that the one of padding can be left out."""
    return average is not None and not (isinstance(average, Const) and average.value not in (None, "none"))
