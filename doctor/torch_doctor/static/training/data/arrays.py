"""Arrays and tables of numpy, pandas and scikit-learn: their dtypes and shapes, and whether they hold labels.

An array is a plain value whose `size` is `ARRAY` of the tensor that torch would make of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.flow import EMPTY, Flow, blend
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.tables import arrays as table
from torch_doctor.static.tables import shapes as torch_table
from torch_doctor.static.tables.kinds import Effect
from torch_doctor.static.tables.shapes import REDUCTIONS
from torch_doctor.static.training import kinds
from torch_doctor.static.training.drawing import GENERATOR
from torch_doctor.static.values import (
    ARRAY,
    Call,
    Const,
    Content,
    Lib,
    Making,
    Meta,
    Plain,
    Sequence,
    Tensor,
    Value,
    compound,
    fresh_symbol,
    plain_from,
    shapes,
)
from torch_doctor.static.values.symbols import SCALAR
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.libraries.library import Array
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Keywords, Symbol
    from torch_doctor.trace import Site

METHOD: Final = "method of an array"
"""Names how a method is made that was looked up on an array: of the array, and by its name."""


def tensor_of(value: Value | None) -> Tensor | None:
    """The tensor that torch would make of an array; None for anything else."""
    size = value.size if isinstance(value, Plain) else None
    return size.args[0] if size is not None and size.name == ARRAY and isinstance(size.args[0], Tensor) else None


def is_certain(value: Plain) -> bool:
    """Whether a value is an array, and no number of NumPy."""
    array = tensor_of(value)
    return array is not None and array.meta is not None and measured(array).shape != ()


def _array(made: Making | Meta | None, kind: Kind = Kind.UNKNOWN) -> Making | None:
    return None if made is None else Making(ARRAY, (Tensor(_history(made), kind, meta=made),))


def _history(made: Making | Meta) -> Flow:
    """What an array was computed of: predictions of a model, or what a loader gave."""
    given = made.args if isinstance(made, Making) else ()
    found = [each.flow.cut() for each in given if isinstance(each, Tensor) and each.flow is not EMPTY]
    return blend(found) if found else EMPTY


UNKNOWN: Final = Making(ARRAY, (Tensor(),))
"""What may be an array of any shape, or a number."""


# --- where they come from ---


@library_family(table.RETURNED, stage=Stage.ADAPTER)
def returned(run: Run, name: str, call: Call) -> Value | None:
    """A function of a library that returns arrays or tables; None where an argument asks for something else."""
    found = table.RETURNED[name]
    if any(setting in call.keywords for setting in found.unless):
        return None
    if found.only_with and not call.flag(found.only_with, default=False):
        return None
    symbol = fresh_symbol()
    parts = [plain_from(call.values, symbol, size=_declared(array)) for array in found.arrays]
    if len(parts) == 1:
        return parts[0]
    named = [plain_from((part,), compound("[]", symbol, ("const", i)), size=part.size) for i, part in enumerate(parts)]
    return run.own(Sequence("tuple", Content(tuple(named)), run.site(call.node)))


def _declared(array: Array) -> Making | None:
    shape = None if array.rank is None else (None,) * array.rank
    return _array(Meta(array.dtype, shape), Kind.LABELS if array.labels else Kind.UNKNOWN)


def computed(name: str, call: Call) -> Making | None:
    """What a function of numpy makes of its arguments; None where that is not known."""
    alike = table.ALIKE.get(name)
    if alike is None or not table.OTHERWISE.isdisjoint(call.keywords):
        return UNKNOWN if name.startswith(table.PACKAGES) else None
    if alike.startswith(table.DRAWN):
        return _drawn(alike, call) or UNKNOWN
    at = table.DTYPE_AT.get(alike)
    if at is None or len(call.args) <= at:
        return _like(alike, call.args, call.keywords) or UNKNOWN
    return _like(alike, call.args[:at], {**call.keywords, "dtype": call.args[at]}) or UNKNOWN


def is_scalar(name: str, call: Call) -> bool:
    """Whether what a function returns is a number of NumPy's own, or an array: of numbers and lists, not of tensors."""
    return (
        table.ALIKE.get(name) in table.SCALARS
        and bool(call.args)
        and isinstance(call.args[0], (Const, Plain, Sequence))
    )


def _cast(array: Tensor, dtype: str) -> Making | None:
    """The same array with another dtype, with the record of how it was made where torch would convert it so."""
    meta = Meta(dtype, measured(array).shape)
    made = making("to", (array, Lib(f"torch.{dtype}"))) if dtype else None
    return _array(made if made is not None and measured(Tensor(meta=made)) == meta else meta, array.kind)


def _drawn(name: str, call: Call) -> Making | None:
    """What a random draw gives, as a function or as a method of a generator."""
    args = tuple(map(as_tensor, call.args))
    keywords = {key: as_tensor(value) for key, value in call.keywords.items()}
    return _array(making(name, args, keywords, table.DRAWS.get(name.removeprefix(table.DRAWN))))


def _like(alike: str, args: Args, named: Keywords) -> Making | None:
    """What torch would make of the arguments under this name, with the dtypes of numpy."""
    keywords = {SETTINGS.get(name, name): value for name, value in named.items()}
    given = tuple(as_tensor(value) for value in args)
    if alike in _ELEMENTWISE and all(isinstance(each, Plain) and each.size is None for each in given):
        return None  # numbers, or arrays that come from out of sight
    if _differs(alike, given, keywords):
        return None
    if alike == "permute" and len(given) == 1:
        alike = "T"
    elif alike == "dot":
        alike = "matmul"
    made = making(alike, given, keywords, ARRAY if alike in table.OWN_FRACTIONS else None)
    if made is None:
        return None
    kept = kinds.leading(given[0]) if given and alike in _MOVING else None
    chosen = alike in _CHOOSING and bool(given) and given[0].flow is not EMPTY
    kind = Kind.LABELS if chosen or (kept is not None and kept.kind is Kind.LABELS) else Kind.UNKNOWN
    if "dtype" in keywords:
        return _array(made, kind)
    meta = measured(Tensor(meta=made))
    whole = given and shapes.is_integer(measured(given[0]).dtype)
    if alike in table.DOUBLE or (alike in table.AVERAGES and whole):
        return _cast(Tensor(EMPTY, kind, meta=made), "float64")
    if given and measured(given[0]).dtype in table.WIDENED.get(alike, ()):
        return _array(Meta("", meta.shape), kind)
    return _array(made, kind)


def _differs(alike: str, given: Args, keywords: Keywords) -> bool:
    """Whether numpy's function does something else with these arguments than torch's of this name."""
    rank = len(measured(given[0]).shape or ()) if given else 0
    if alike == "where":
        return len(given) == 1  # a tuple of indices
    if alike in table.FLATTENING:
        return rank != 1
    if alike == "dot":
        return any(not 0 < len(measured(value).shape or ()) <= _MATRIX for value in given)
    return len(given) > _MATRIX and alike in REDUCTIONS  # what is third is no `keepdim`


_ELEMENTWISE: Final = torch_table.ELEMENTWISE | torch_table.TESTS | torch_table.SAME | torch_table.FLOATING
_MATRIX: Final = 2
"""The dimensions of a matrix."""
SETTINGS: Final = {"axis": "dim", "keepdims": "keepdim", "num": "steps"}
"""Arguments that torch calls otherwise."""
_CHOOSING: Final = ("argmax", "argmin")
_MOVING: Final = frozenset((*table.METHODS.values(), "cat", "stack", "unsqueeze", "as_tensor", "clone", "long"))
"""Functions that leave labels what they are."""


def as_tensor(value: Value) -> Value:
    """Return the tensor that torch would make of an array, also in a list; another value as it is."""
    if isinstance(value, Sequence):
        return Sequence(value.kind, Content(*_content(value)))
    return tensor_of(value) or value


def _content(value: Sequence) -> tuple[tuple[Value, ...], Value | None]:
    content = value.content
    return tuple(map(as_tensor, content.items)), None if content.rest is None else as_tensor(content.rest)


# --- what is made of them ---


def attribute(value: Plain, name: str) -> Making | None:
    """An attribute of an array: a view, its shape, or a method that may be called."""
    array = tensor_of(value)
    if array is None:
        if value.size is None or value.size.name != GENERATOR:
            return None
        return Making(METHOD, (), of=f"{str(value.size.of).rpartition('.')[0]}.{name}")
    if name in table.VIEWS:
        return value.size
    if name == "T":
        return _array(making("T", (array,)), array.kind)
    return Making(name, (array,)) if name == "shape" else Making(METHOD, (array,), of=name)


def method(func: Plain, call: Call) -> Making | None:
    """What a method of an array returns; None where it is none, or returns something else."""
    if func.size is None or func.size.name != METHOD:
        return None
    array, name = func.size.args[0] if func.size.args else None, str(func.size.of)
    if not isinstance(array, Tensor):
        return computed(name, call)
    meta = measured(array)
    if name in table.UNCHANGED:
        return _array(Meta(meta.dtype if name != "replace" else "", meta.shape), array.kind)
    if name in table.OTHER_ROWS:
        return _array(Meta(meta.dtype, None if meta.shape is None else (None,) * len(meta.shape)), array.kind)
    if name in table.OTHER_NUMBERS:
        return _array(Meta("", meta.shape))
    if name == "astype":
        given = call.argument(0, "dtype")
        return _cast(array, "" if given is None else dtype_named(given))
    alike = table.METHODS.get(name)
    if alike is None:
        return UNKNOWN
    return _like(alike, (array, *call.args), call.keywords) or UNKNOWN


def reduced(func: Plain) -> Symbol | None:
    """The symbol of what a method gives that computes a number of an array, or of each of its rows; None for any other."""
    made = func.size
    if made is None or made.name != METHOD or not made.args or table.METHODS.get(str(made.of)) not in table.SCALARS:
        return None
    known = isinstance(made.args[0], Tensor) and made.args[0].meta is not None
    return (SCALAR, fresh_symbol()) if known else None


def dtype_named(value: Value) -> str:
    """The dtype that a name of numpy or a text stands for."""
    name = value.name if isinstance(value, Lib) else value.value if isinstance(value, Const) else None
    return torch_table.DTYPES.get(str(name), torch_table.DTYPES.get(f"numpy.{name}", ""))


def item(value: Plain, key: Value, node: p.Index) -> Making | None:
    """`array[key]`: a column by its name, rows, or what numpy's indexing gives."""
    array = tensor_of(value)
    if array is None:
        return None
    meta = measured(array)
    if isinstance(key, Const) and isinstance(key.value, str):
        return _array(Meta(meta.dtype, shapes.reduced(meta.shape, 1, keep=False)), array.kind)
    names = key.content.all() if isinstance(key, Sequence) and isinstance(node.key, p.Display) else ()
    if names and node.key.kind == "list" and all(isinstance(n, Const) and isinstance(n.value, str) for n in names):  # type: ignore[attr-defined]  # a Display
        return _array(Meta(meta.dtype, (None, len(names))), array.kind)
    parts = node.key.items if isinstance(node.key, p.Display) and node.key.kind == "tuple" else ()
    if meta.shape is None and len(parts) > 1:
        array = array.with_meta(Meta(meta.dtype, (None,) * len(parts)))
    if isinstance(key, Sequence) and parts:
        key = Sequence("tuple", Content(tuple(_place(part) for part in key.content.items)))
    return _array(making("[]", (array, tensor_of(key) or key), None, node.key), array.kind)


def _place(key: Value) -> Value:
    """One part of a key: the name of a column takes its dimension away, as a number does."""
    return Const(0) if isinstance(key, Const) and isinstance(key.value, str) else tensor_of(key) or key


def operated(op: str, operands: tuple[Value, ...], site: Site | None = None) -> Making | None:
    """What an operator makes of arrays and numbers, at `site`."""
    arrays = [tensor_of(value) for value in operands]
    if not any(arrays):
        return None
    given = tuple(array or value for array, value in zip(arrays, operands, strict=True))
    effect = next((each for each in Effect if each.value == op), Effect.OTHER)
    return _array(making(op, given, site=site), kinds.computed(effect, given).kind)


def some_rows(value: Value) -> Making | None:
    """Some rows of an array."""
    array = tensor_of(value)
    if array is None:
        return None
    meta = measured(array)
    return _array(Meta(meta.dtype, shapes.with_first(meta.shape, None)), array.kind)
