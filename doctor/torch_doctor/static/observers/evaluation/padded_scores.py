"""Scores that count every comparison of predictions with labels, although some labels are padding or void."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains import counting
from torch_doctor.static.domains.hits import Hits
from torch_doctor.static.domains.merits import Merits
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.observers.loss.ranking import sides_of
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import losses, words
from torch_doctor.static.tables.canonical import among, canonical
from torch_doctor.static.tables.language import IGNORED
from torch_doctor.static.tables.libraries import MEANS
from torch_doctor.static.training.data import arrays
from torch_doctor.static.training.reductions import setting
from torch_doctor.static.values import Const, Lib, Module, Plain, Tensor, Unknown, Value, symbol_of
from torch_doctor.trace import LabelsIgnored, PaddingScored

if TYPE_CHECKING:
    from torch_doctor.static.domains.hits import Marks
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

_LOSSES: Final = frozenset(
    words(
        """
        torch.nn.CrossEntropyLoss torch.nn.NLLLoss torch.nn.functional.cross_entropy torch.nn.functional.nll_loss
        """
    )
)
_MATRIX: Final = 2
"""The dimensions of scores of samples that have one label each."""
_TEXTS: Final = ("f'", 'f"')
"""How a text begins in which an expression has no place of its own before Python 3.12."""
_MEAN: Final = frozenset(("mean", "torch.mean"))


class PaddedScores(
    Observer,
    invoked=(Named(Module, _LOSSES), Named(Lib, among(_LOSSES))),
    called=(Plain, Named(Lib, MEANS)),
    computed="/",
    made=_MEAN,
):
    """Means of comparisons, and sums of them that are divided by the number of all labels."""

    writes = (LabelsIgnored, PaddingScored)

    _told: set[tuple[Site, Site]] = per_run(set)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write which labels a loss leaves out."""
        module = func if isinstance(func, Module) else None
        name = module.layer if module is not None else canonical(func.name) if isinstance(func, Lib) else ""
        if name not in _LOSSES or (name in losses.CLASSES) is not (module is not None):
            return
        scores, target = call.argument(0, "input"), call.argument(1, "target")
        given = setting(name, "ignore_index", call, module)
        if (
            not isinstance(given, (Const, Plain, Unknown))
            or not isinstance(scores, (Tensor, Unknown))
            or target is None
        ):
            return
        default = isinstance(given, Const) and given.value in (IGNORED, None)
        run.emit(
            LabelsIgnored,
            call.node,
            name=call.name,
            value=_spelled(given),
            named=not default and _several(run, scores, target),
            forwards=scores.flow.forwards,
        )

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`correct / total`."""
        if len(operands) == 2:
            sums = self._marks(run, operands[0])
            last = sums[-1] if sums else None
            if last and all(each is not None and each.counted and each.labels is not None for each in sums):
                total = self._added(run, operands[1])
                if total and all(counting.counts_all(each) for each in total):
                    self._scored(run, last, node)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """`(predictions == labels).float().mean()`."""
        self._averaged(run, call)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """`numpy.mean(predictions == labels)`, or the method of an array."""
        made = func.size if isinstance(func, Plain) else None
        if made is None and isinstance(func, Lib):
            self._averaged(run, call)
        elif made is not None and made.name == arrays.METHOD and made.of == "mean" and made.args:
            self._averaged(run, call.with_first(made.args[0]))

    def _averaged(self, run: Run, call: Call) -> None:
        if len(call.args) == 1 and not call.keywords.keys() - {"dtype"}:
            marks = run.ask(Hits, call.args[0])
            if marks is not None and not marks.counted and marks.labels is not None:
                self._scored(run, marks, call.node)

    def _marks(self, run: Run, value: Value) -> list[Marks | None]:
        return [run.ask(Hits, each) for each in self._added(run, value)]

    def _added(self, run: Run, value: Value) -> list[Value]:
        """What was added up to a sum, or the value itself; nothing where that is not known."""
        events = value.flow.sums if isinstance(value, (Plain, Tensor)) else ()
        added = run.of(Merits).added
        return [added[event] for event in events] if all(event in added for event in events) and events else [value]

    def _scored(self, run: Run, marks: Marks, node: p.Node) -> None:
        """Write that a score counts all its marks, if some may be padding."""
        labels, here = marks.labels, run.site(node)
        padded = run.ask(Padded, labels) if labels is not None else None
        plain = labels is not None and counting.is_raw(run, labels)
        if marks.site is None or (padded is None and not plain) or (marks.site, here) in self._told:
            return
        self._told.add((marks.site, here))
        fill = None if padded is None else padded.fill
        known = isinstance(fill, Const) and isinstance(fill.value, int) and fill.value < 0
        run.emit(
            PaddingScored,
            marks.site,
            name=text if (text := run.text(node)) and text[:2] not in _TEXTS else "",
            counted=True,
            fill="" if fill is None else _spelled(fill),
            known=known,
            padded_at=None if padded is None else padded.site,
            scored_at=here,
            labels=_labels_within(run, node, marks),
            forwards=marks.answers,
        )


def _labels_within(run: Run, node: p.Node, marks: Marks) -> str:
    """The expression for the labels of a comparison within that for its mean; "" if it is not there, or not known to be that."""
    inner: p.Node | None = node
    while isinstance(inner, p.Call) and run.site(inner) != marks.site:
        bare = isinstance(inner.func, p.Attribute) and not inner.args
        inner = inner.func.value if bare and isinstance(inner.func, p.Attribute) else next(iter(inner.args), None)
    if inner is None or run.site(inner) != marks.site:
        return ""
    sides = [each for each in sides_of(inner) if each is not None]
    found = [each for each in sides if isinstance(base := _base(each), p.Name) and not _predicted(run, base)]
    return run.text(found[0]) if len(sides) == 2 and len(found) == 1 else ""


def _base(side: p.Expr) -> p.Expr:
    """What is moved or converted by methods without arguments."""
    while isinstance(side, p.Call) and isinstance(side.func, p.Attribute) and not side.args:
        side = side.func.value
    return side


def _predicted(run: Run, name: p.Name) -> bool:
    value = run.resolve(run.evaluate(name))
    return not isinstance(value, (Tensor, Plain)) or bool((arrays.tensor_of(value) or value).flow.forwards)


def _spelled(value: Value) -> str:
    """A number as text, or what identifies a value."""
    return str(value.value) if isinstance(value, Const) else str(symbol_of(value))


def _several(run: Run, scores: Value, target: Value) -> bool:
    """Whether each sample has more than one label."""
    return len(measured(scores).shape or ()) > _MATRIX or counting.are_several(run, target)
