"""Writes that something is saved, and makes state dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.language import outcomes
from torch_doctor.static.language.command_lines import PARSED
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import losses, training
from torch_doctor.static.training.checkpoint import origins, paths, snapshots
from torch_doctor.static.values import (
    NOTHING,
    NOWHERE,
    Call,
    Const,
    Either,
    Fact,
    Instance,
    Mapping,
    Module,
    Optimizer,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.static.values.symbols import SCALAR
from torch_doctor.trace import CheckpointCopied, Loaded, Saved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri

OPTIMIZER_STATE = "optimizer state"
"""The operation of the tensors in an optimizer's state."""
SCHEDULER_STATE = "scheduler state"
SCALER_STATE = "scaler state"
_ALLOWING = ("add_safe_globals", "safe_globals", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
"""Words of a project that says which classes `torch.load` may read, or that it may read any."""
_OBJECTS = ("sklearn.", "torch.optim.lr_scheduler.", "pandas.")
"""Libraries whose objects are read only without limits."""
_ARITHMETIC = ("+", "-", "*", "/", "//", "**")
_PLAIN = {"array": "a NumPy array", SCALAR: "a number of NumPy's own type", PARSED: "the parsed arguments"}
"""What is known by its symbol; lists that were arrays have another."""


@library_family(training.SAVES)
def saved(run: Run, name: str, call: Call) -> Value:
    """Write what goes into a checkpoint."""
    position = training.SAVES[name]
    value = call.argument(position, "obj") or Unknown()
    found = list(_whole_modules(value))
    run.emit(
        Saved,
        call.node,
        what=run.text_of_argument(call.node, position, "obj"),
        modules=tuple(module.id for _, module in found),
        names=tuple(name for name, _ in found),
        buffer=_buffer((*call.args[position + 1 :], call.keywords.get("f"))),
        states=snapshots.states_in(run, value).taken,
        keys=_keys(value),
        optimizer=_state_in(run, value, OPTIMIZER_STATE),
        scheduler=_state_in(run, value, SCHEDULER_STATE),
        scaler=_state_in(run, value, SCALER_STATE),
        objects=tuple(dict.fromkeys(_objects_in(value))),
        shared=paths.shared(run, call.node, position + 1, "f"),
        file=paths.written(run, call, position + 1, "f"),
    )
    return NOTHING


@library_family(training.FILE_COPIES, stage=Stage.NOTE)
def copied(run: Run, _: str, call: Call) -> None:
    """Write that a file is copied or moved that a checkpoint was written to."""
    file = paths.written(run, call, 0, "src")
    saves = frozenset(event.index for event in run.trace.of(Saved) if file and event.file == file)
    if saves:
        run.emit(CheckpointCopied, call.node, saves=saves)


@library_family(training.LOADS, stage=Stage.NOTE)
def loaded(run: Run, _: str, call: Call) -> None:
    """Write that a checkpoint is read."""
    only = call.keywords.get("weights_only")
    is_open = "**" in call.keywords
    run.emit(
        Loaded,
        call.node,
        module=0,
        name=run.text_of_argument(call.node, 0, "f"),
        buffer=_buffer((*call.args, call.keywords.get("f"))),
        weights_only=None if only is None else outcomes.truth_of(only),
        by_default=only is None and not is_open,
        file=paths.spelled(run, call, 0, "f"),
        told=paths.told(run, call, 0, "f"),
        outside=origins.is_outside(run, call, 0, "f"),
        path=origins.path(run, call, 0, "f"),
        own=bool(run.imports.ask("own read", str(run.frame.unit.source.path), str(run.site(call.node).row))),
        allowed=run.imports.mentioned_by(run.main.source.path, *_ALLOWING),
        mapped=True if len(call.args) > 1 or "map_location" in call.keywords else None if is_open else False,
    )


def _buffer(values: Iterable[Value | None]) -> int:
    """The number of the buffer in memory among arguments; 0 where there is none."""
    return next((value.id for value in values if isinstance(value, Tool) and value.name == "io.BytesIO"), 0)


def _whole_modules(value: Value, name: str = "", depth: int = 2) -> Any:
    """The module objects that lie in what is saved."""
    if isinstance(value, Module):
        if value.layer not in losses.LOSSES and not value.fact(Fact.BY_NAME):
            yield name, value
    elif isinstance(value, Either):
        found = [list(_whole_modules(option, name, depth)) for _, option in value.options]
        if all(found):
            yield from found[0]
    elif depth and isinstance(value, Mapping):
        for key, item in value.fields.items():
            if isinstance(key, tuple):
                yield from _whole_modules(item, str(key[1]), depth - 1)
    elif depth and isinstance(value, Sequence):
        for item in value.content.all():
            yield from _whole_modules(item, name, depth - 1)


def _objects_in(value: Value, key: str = "", depth: int = 3) -> Iterator[tuple[str, str]]:
    """The keys and kinds of what lies in a value and is read only without limits, as far as it is known."""
    if isinstance(value, Either):
        found = [list(_objects_in(option, key, depth)) for _, option in value.options]
        yield from found[0] if all(found) else ()
    elif depth and isinstance(value, Mapping):
        for name, item in value.fields.items():
            if isinstance(name, tuple) and isinstance(item, Value):
                yield from _objects_in(item, str(name[1]), depth - 1)
    elif depth and isinstance(value, Sequence):
        for item in value.content.all():
            yield from _objects_in(item, key, depth - 1)
    elif (kind := _kind_of_object(value)) is not None:
        yield key, kind


def _kind_of_object(value: Value) -> str | None:
    """What an object is that is read only without limits; None for others."""
    if isinstance(value, Module):
        return None if value.fact(Fact.BY_NAME) else "the model object"
    if isinstance(value, Optimizer):
        return "the optimizer object"
    if isinstance(value, Tool) and value.name.startswith(_OBJECTS):
        return f"an object of class {value.name.rpartition('.')[2]}"
    if isinstance(value, Instance):
        return f"an object of class {value.cls.name}"
    if isinstance(value, Plain):
        converted = value.size is not None and value.size.name == "number"  # by `float` or `int`
        return None if converted else _kind_of_symbol(value.symbol)
    return None


def _kind_of_symbol(symbol: Symbol) -> str | None:
    """The kind of a plain value, by its symbol: what is computed of NumPy's numbers is one of them."""
    if symbol[0] not in _ARITHMETIC:
        return _PLAIN.get(symbol[0])
    kinds = [_kind_of_symbol(part) for part in symbol[1:] if isinstance(part, tuple) and part]
    return next((kind for kind in kinds if kind is not None), None)


def _keys(value: Value) -> tuple[str, ...]:
    """The strings under which a dict has something."""
    if not isinstance(value, Mapping):
        return ()
    return tuple(key[1] for key in value.fields if isinstance(key, tuple) and isinstance(key[1], str))


def _state_in(run: Run, value: Value, state: str, depth: int = snapshots.DEEP, key: object = None) -> Tri:
    """Whether such a state, or an optimizer itself, is in what is saved; None where something of it is not known.

    `key` is what it is saved under: what was read from there has what other saves put there.
    """
    if isinstance(value, Tensor):
        return value.origin.operation == state
    if isinstance(value, Optimizer):
        return state == OPTIMIZER_STATE
    if isinstance(value, (Const, Plain, Module)) or origins.is_read_from(run, value, key):
        return False
    inner = [(key, option) for _, option in value.options] if isinstance(value, Either) else []
    if not inner and not depth:
        return None
    if isinstance(value, Mapping):
        inner = [(each, item) for each, item in value.fields.items() if isinstance(item, Value)]
    elif isinstance(value, Sequence):
        inner = [(None, item) for item in value.content.all()]
    elif not inner:
        return None
    found = {_state_in(run, item, state, depth - 1, each) for each, item in inner}
    return True if True in found else None if None in found else False


def state_dict(run: Run, node: p.Node, operation: str = "") -> Value:
    """A state dict: tensors without a graph under names that are not known."""
    mapping: Mapping = run.own(Mapping(run.site(node)))
    mapping.fields["rest"] = Tensor(origin=NOWHERE.by(operation))
    return mapping
