"""What a collate function of the project makes of the rows of a data set, where it pads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.domains import shifting
from torch_doctor.static.domains.masks import TOKENS, Masks
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.measuring import measured
from torch_doctor.static.state import per_run
from torch_doctor.static.values import (
    Bound,
    Call,
    Const,
    Content,
    FunctionValue,
    Instance,
    Loader,
    Making,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    summary,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run

_CONVERTED: Final = {"bool": "bool", "int64": "long", "float32": "float"}
"""The method that gives a mask its dtype."""
STEPS = 400
"""Steps that the look at one batch may take."""


class Collated(Lasting):
    """What the project's collate functions give, by the number of the loader."""

    known: dict[int, tuple[Value, Value | None]] = per_run(dict)  # the function, and its batch


def collated(run: Run, loader: Loader, item: Value | None, flow: Flow) -> Value | None:
    """The batch that a collate function of the project makes, where tensors in it are padded; None for any other.

    The function is run aside, on a list of such rows. Of what is not padded nothing is told, as where nobody looks into the
    function.
    """
    function = loader.fields.get("collate_fn")
    node = None if function is None else definition(run.resolve(function))
    if function is None or node is None:
        return None
    then, batch = run.of(Collated).known.get(loader.id, (None, None))
    if then is not function:
        batch = _made(run, run.resolve(function), node, item or _of_list(run, loader.fields.get("dataset")))
        run.of(Collated).known[loader.id] = function, batch
    return None if batch is None else _fresh(run, batch, flow)


def of_function(run: Run, function: Value, item: Value, flow: Flow) -> Value | None:
    """The batch that such a function makes of rows like this one; None where nothing in it is padded."""
    node = definition(function)
    batch = None if node is None else _made(run, function, node, item)
    return None if batch is None else _fresh(run, batch, flow)


def definition(function: Value) -> p.Node | None:
    """Return the definition of a function of the project that a call runs; None for what nobody can look into."""
    if isinstance(function, Partial):
        return definition(function.func)
    if isinstance(function, Bound):
        return function.function.node
    if isinstance(function, Instance):
        found = function.cls.find("__call__")
        return definition(found[0]) if found is not None else None
    return function.node if isinstance(function, FunctionValue) else None


def _of_list(run: Run, data: object) -> Value:
    """A row of a list that is a data set; any value for what is no list."""
    rows = run.resolve(data) if isinstance(data, Value) else None
    return summary(rows.content.all()) if isinstance(rows, Sequence) and rows.content.all() else Unknown()


def looked_at(run: Run, loader: Loader, item: Value | None) -> None:
    """Run a collate function of the project aside, for whoever listens."""
    function = loader.fields.get("collate_fn")
    node = None if function is None else definition(run.resolve(function))
    if function is not None and node is not None:
        _made(run, run.resolve(function), node, item or _of_list(run, loader.fields.get("dataset")))


def _made(run: Run, function: Value, node: p.Node, item: Value) -> Value | None:
    """What the function returns, of which only what is padded is known; None where nothing is."""
    with run.aside(STEPS):
        try:
            result = run.call(function, Call((Sequence("list", Content((), item)),), {}, node))
        except OutOfBudget:
            return None
        kept = _kept(run, result, {})
    return kept if _pads(kept) else None


def _kept(run: Run, value: Value, records: dict[Making, Making]) -> Value:
    """The structure of a batch, with the tensors that are padded, and the masks that tell where; `records` are those of them."""
    value = run.resolve(value)
    if isinstance(value, Sequence) and value.kind in ("tuple", "list") and value.content.rest is None:
        return Sequence(
            value.kind, Content(tuple(_kept(run, each, records) for each in value.content.items)), names=value.names
        )
    if isinstance(value, Mapping) and "rest" not in value.fields:
        mapping = Mapping(value.born)
        for key, each in value.fields.items():
            if isinstance(each, Value):
                mapping.fields[key] = _kept(run, each, records)
        return mapping
    if isinstance(value, Tensor) and (made := _lasting(run, value, records) or _mask(run, value, records)) is not None:
        return Tensor(value.flow, value.kind, meta=made)
    if isinstance(value, Tensor) and shifting.is_stretch(value):
        return value
    return value if isinstance(value, (Const, Plain)) else Unknown()


def _lasting(run: Run, value: Value, records: dict[Making, Making]) -> Making | None:
    """One record of a padded tensor for all that is made of it; None of any other."""
    made = None if run.ask(Padded, value) is None else run.of(Padded).record(value)
    if made is not None and made not in records and (lasting := run.of(Padded).lasting(value)) is not None:
        records[made] = lasting
    return None if made is None else records.get(made)


def _mask(run: Run, value: Tensor, records: dict[Making, Making]) -> Making | None:
    """How a mask is made that compares padded tokens with a number; None of anything else."""
    mask, dtype = run.ask(Masks, value), measured(value).dtype
    tokens = None if mask is None or mask.tokens is None else _lasting(run, mask.tokens, records)
    if mask is None or tokens is None or mask.number is None or dtype not in _CONVERTED:
        return None
    made = Making("!=" if mask.marks == TOKENS else "==", (Tensor(meta=tokens), mask.number), site=mask.site)
    return Making(_CONVERTED[dtype], (Tensor(meta=made),), site=mask.site)


def _pads(value: Value) -> bool:
    """Whether something in a batch is padded."""
    if isinstance(value, Sequence):
        return any(map(_pads, value.content.items))
    return any(map(_pads, value.values())) if isinstance(value, Mapping) else isinstance(value, Tensor)


def _fresh(run: Run, value: Value, flow: Flow) -> Value:
    """A batch of its own for each pass: others may put something into it."""
    if isinstance(value, Sequence):
        content = Content(tuple(_fresh(run, each, flow) for each in value.content.items))
        return run.own(Sequence(value.kind, content, names=value.names))
    if isinstance(value, Mapping):
        mapping: Mapping = run.own(Mapping(value.born))
        for key, each in value.fields.items():
            mapping.fields[key] = _fresh(run, each, flow)
        return mapping
    if isinstance(value, Tensor):
        return Tensor(flow, meta=value.meta)
    return Unknown(flow)
