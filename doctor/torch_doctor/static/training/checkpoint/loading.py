"""`load_state_dict`: what it is given, and what becomes of the report of keys that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_run
from torch_doctor.static.training.checkpoint import snapshots
from torch_doctor.static.values import Call, Const, Module, Object, Plain, Value
from torch_doctor.trace import Loaded, LoadMisused, OptimizerRestored

if TYPE_CHECKING:
    from typing_extensions import Self

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


class Reports(Knowledge):
    """What loads of weights returned."""

    reports: dict[int, LoadReport] = per_run(dict)  # by id

    def copied(self) -> Self:
        """A copy with reports of its own: more may be said of them."""
        other = super().copied()
        other.reports = {key: report.copied() for key, report in self.reports.items()}
        return other


REPORTS = frozenset(("count", "index", "missing_keys", "unexpected_keys"))
"""What the named tuple that it returns for a module has (`torch.nn.modules.module._IncompatibleKeys`)."""


class LoadReport:
    """What a load returned: where that was, whose weights were loaded, and what was said of it."""

    __slots__ = ("name", "of", "reported", "site", "value")

    def __init__(self, value: Value, site: Site, of: Object, name: str, *, reported: bool = False) -> None:
        self.value = value
        self.site = site
        self.of = of
        self.name = name
        self.reported = reported

    def copied(self) -> LoadReport:
        """The same report for another run, which may say more of it."""
        return LoadReport(self.value, self.site, self.of, self.name, reported=self.reported)


def loaded(run: Run, of: Object, call: Call) -> Value:
    """Write that a state is loaded into a module or an optimizer."""
    state = call.argument(0, "state_dict")
    if isinstance(of, Module):
        for observe in run.observers.changed:
            observe(run, of, call)
        states = snapshots.NONE if state is None else snapshots.states_in(run, state)
        run.emit(Loaded, call.node, module=of.id, name=call.receiver, states=states.taken, only=states.only)
    else:
        run.emit(OptimizerRestored, call.node, optimizer=of.id)
    result = Plain()
    if _is_torchs(of):
        run.of(Reports).reports[id(result)] = LoadReport(result, run.site(call.node), of, call.receiver)
        if isinstance(state, Const) and isinstance(state.value, str):
            run.emit(
                LoadMisused, call.node, name=call.receiver, path=run.text_of_argument(call.node, 0) or repr(state.value)
            )
    return result


def bound(run: Run, node: p.Assign, value: Value) -> Value:
    """What an assignment binds; `model = model.load_state_dict(state)` is written, and goes on with the model."""
    report = run.of(Reports).reports.get(id(value))
    if report is None or not isinstance(node.value, p.Call) or not isinstance(node.value.func, p.Attribute):
        return value
    receiver = run.text(node.value.func.value)
    if not any(isinstance(target, (p.Name, p.Attribute)) and run.text(target) == receiver for target in node.targets):
        return value
    run.emit(LoadMisused, report.site, name=report.name, overwritten=True)
    return report.of


def meant(run: Run, value: Value, name: str, node: p.Node) -> Value:
    """What a value is taken for that is asked for `name` ("": called): a report may stand for what was loaded into."""
    report = run.of(Reports).reports.get(id(value))
    if report is None or name in REPORTS or name.startswith("_"):
        return value
    if not report.reported:
        report.reported = True
        run.emit(LoadMisused, report.site, name=report.name, fails_at=run.site(node))
    return report.of


def _is_torchs(of: Object) -> bool:
    """Whether the method is surely torch's own."""
    if isinstance(of, Module):
        return bool(of.layer) if of.cls is None else not of.cls.opaque_base()
    return True
