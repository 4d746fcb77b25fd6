"""What functions that make tensors give them: a dtype and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.arguments import argument, dtype_in, is_counted, sizes_in
from torch_doctor.static.measuring.core import first_of, measured, size_at
from torch_doctor.static.tables import arrays
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Const, Plain, Sequence, Tensor, Value, counting, number_dtype, shapes
from torch_doctor.static.values.shapes import UNKNOWN_META, Meta, Shape, Size

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect
    from torch_doctor.static.values.shapes import Making


def _maker(made: Making) -> Meta:
    method = made.name.startswith("new_")
    sizes = made.args[1:2] if made.name == "new_full" else made.args[1:] if method else made.args
    given = made.keywords.get("size")
    shape = sizes_in(given) if given is not None else sizes_in(*sizes)
    dtype = dtype_in(made) or ("" if "dtype" in made.keywords else table.MAKERS[made.name])
    if method and "dtype" not in made.keywords:
        dtype = first_of(made).dtype
    return Meta(dtype, shape)


def _normal(made: Making) -> Meta:
    """Of tensors: as large as these; of numbers: of the size that is asked for."""
    if any(isinstance(value, Tensor) for value in made.args):
        shape: Shape | None = ()
        for value in made.args[:2]:
            shape = shapes.broadcast(shape, measured(value).shape)
        return Meta("floating", shape)
    given = argument(made, 2, "size")
    return Meta(dtype_in(made) or "floating", sizes_in(given) if given is not None else None)


def _eye(made: Making) -> Meta:
    rows, columns = argument(made, 0, "n"), argument(made, 1, "m")
    size = None if rows is None else size_at(rows)
    dtype = dtype_in(made) or ("" if "dtype" in made.keywords else "float32")
    return Meta(dtype, (size, size if columns is None else size_at(columns)))


def _randint(made: Making) -> Meta:
    position = 2 if len(made.args) > 2 or (len(made.args) == 2 and not isinstance(made.args[1], Sequence)) else 1
    given = argument(made, position, "size")
    return Meta(dtype_in(made) or ("" if "dtype" in made.keywords else "int64"), sizes_in(given) if given else None)


def _full(made: Making) -> Meta:
    filled = argument(made, 1, "fill_value")
    dtype = "" if "dtype" in made.keywords else measured(filled).dtype if isinstance(filled, Const) else ""
    given = argument(made, 0, "size")
    return Meta(dtype_in(made) or dtype, sizes_in(given) if given is not None else None)


def _range(made: Making) -> Meta:
    """`arange`: as many numbers as there are between its bounds; NumPy's fractions are float64."""
    dtypes = {number_dtype(value) for value in made.args}
    numbers = [value.value for value in made.args if isinstance(value, Const) and isinstance(value.value, (int, float))]
    size: Size = size_at(made.args[0]) if len(made.args) == 1 else None
    if len(numbers) == len(made.args):
        size = counting.steps(numbers)
    fractions = "float64" if made.of == shapes.ARRAY else "float32"
    dtype = fractions if any(map(shapes.is_floating, dtypes)) else "" if "" in dtypes or not dtypes else "int64"
    return Meta(dtype_in(made) or ("" if "dtype" in made.keywords else dtype), (size,))


def _spaced(made: Making) -> Meta:
    """`linspace`: as many numbers as are asked for; between rows of bounds, rows of numbers."""
    steps = argument(made, 2, "steps")
    several = any(_is_tensor(value) or isinstance(value, Sequence) for value in made.args[:2])
    dtype = dtype_in(made) or ("" if "dtype" in made.keywords else "float32")
    return Meta(dtype, None if several else (None if steps is None else size_at(steps),))


def _literal(made: Making) -> Meta:
    """`torch.tensor([...])`."""
    given = made.args[0] if made.args else None
    if given is None:
        return UNKNOWN_META
    if _is_tensor(given):
        meta = measured(given)
        return Meta(dtype_in(made) or ("" if "dtype" in made.keywords else meta.dtype), meta.shape)
    shape, found = _written(given)
    fractions = "float64" if made.of == shapes.ARRAY else "float32"
    dtype = fractions if "fractions" in found and not any(map(shapes.is_floating, found)) else shapes.promoted(found)
    return Meta(dtype_in(made) or ("" if "dtype" in made.keywords or "" in found else dtype), shape)


def _is_array(value: Value) -> bool:
    return isinstance(value, Plain) and value.size is not None and value.size.name == shapes.ARRAY


def _written(value: Value) -> tuple[Shape | None, set[str]]:
    """The shape of numbers written in lists, and their dtypes; "fractions" stands for Python's own."""
    if _is_tensor(value):
        meta = measured(value)
        return meta.shape, {meta.dtype}
    if isinstance(value, Const) or number_dtype(value):
        dtype = number_dtype(value)
        return measured(value).shape, {"fractions" if shapes.is_floating(dtype) else dtype}
    if not isinstance(value, Sequence):
        return None, {""}
    content = value.content
    inner = [_written(item) for item in content.all()]
    sizes = {shape for shape, _ in inner}
    kinds = set[str]().union(*(kinds for _, kinds in inner))
    first = next(iter(sizes)) if len(sizes) == 1 else None
    return None if first is None else (len(content.items) if is_counted(value) else None, *first), kinds


def _draw(made: Making) -> Meta:
    """A random draw of NumPy: as many numbers as are asked for, else one for each of its parameters."""
    place, dtype = made.of if isinstance(made.of, tuple) else (0, "")
    size, parameters = argument(made, place, "size"), list(made.args[:place])
    shape: Shape | None = ()
    if size is not None and not (isinstance(size, Const) and size.value is None):
        shape = _asked(size)
    else:
        for value in (*parameters, *(each for name, each in made.keywords.items() if name not in ("size", "dtype"))):
            number = isinstance(value, Const) or number_dtype(value)
            shape = shapes.broadcast(shape, () if number else measured(value).shape if _is_tensor(value) else None)
    typed = "dtype" in made.keywords or len(made.args) > place + 1
    return Meta(dtype_in(made) or ("" if typed else dtype), shape)


def _pick(made: Making) -> Meta:
    """NumPy's `choice` and `permutation`: items of the first argument, or of the numbers up to it."""
    given = made.args[0] if made.args else None
    counted = given is not None and number_dtype(given) == "int64"
    meta = UNKNOWN_META
    if given is not None and (counted or _is_tensor(given) or isinstance(given, Sequence)):
        shape, found = _written(given)
        dtype = "float64" if "fractions" in found else shapes.promoted(found)
        meta = Meta("int64", (size_at(given),)) if counted else Meta(dtype, shape)
    if made.name != f"{arrays.DRAWN}choice" or not meta.shape:
        return meta
    size = argument(made, 1, "size")
    several = _asked(size) if size is not None else ()
    known = several is not None and "axis" not in made.keywords
    return Meta(meta.dtype, (*several, *meta.shape[1:]) if several is not None and known else None)


def _asked(size: Value) -> Shape | None:
    """The shape that NumPy is asked for: one number or several; None of what may be both."""
    one = isinstance(size, Plain) and not number_dtype(size) and (size.size is None or size.size.name != "shape")
    return None if one else sizes_in(size)


def _is_tensor(value: Value) -> bool:
    return isinstance(value, Tensor) or _is_array(value)


def _typed(made: Making) -> Meta:
    """`torch.FloatTensor(...)`: of sizes or of numbers."""
    dtype = table.DTYPES[f"torch.{made.name}"]
    if made.args and isinstance(made.args[0], Sequence):
        return Meta(dtype, _written(made.args[0])[0])
    if made.args and _is_tensor(made.args[0]):
        return Meta(dtype, measured(made.args[0]).shape)
    return Meta(dtype, sizes_in(*made.args) if made.args and all(isinstance(v, Const) for v in made.args) else None)


def _one_hot(made: Making) -> Meta:
    classes = argument(made, 1, "num_classes")
    shape = first_of(made).shape
    size = size_at(classes) if classes is not None else None
    return Meta("int64", (shapes.ANY, size) if shape is None and size else None if shape is None else (*shape, size))


def _batched(made: Making) -> Meta:
    """What a loader makes of one item of a data set: one dimension more, as long as the batch (`of`)."""
    meta = first_of(made)
    size: Size = made.of if isinstance(made.of, (int, str)) else None
    return Meta(meta.dtype, None if meta.shape is None else (size, *meta.shape))


def _tokens(made: Making) -> Meta:
    """Numbers of words, in rows or as one row; what a tensor holds into which rows are put."""
    return first_of(made) if made.args else Meta("int64")


def _scores(_: Making) -> Meta:
    """A score of each word for each place of each row."""
    return Meta("floating", (None, None, None))


def _class_scores(made: Making) -> Meta:
    """A score of each class for each row, or for each place of each row."""
    return Meta("floating", (shapes.BATCH, *(None,) * (made.of - 1)) if isinstance(made.of, int) else None)


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(table.MAKERS, _maker),
    **dict.fromkeys(
        (f"{kind}Tensor" for kind in ("", "Float", "Double", "Half", "Long", "Int", "Byte", "Bool")), _typed
    ),
    "normal": _normal,
    "randint": _randint,
    "eye": _eye,
    "full": _full,
    "arange": _range,
    "linspace": _spaced,
    **{f"{arrays.DRAWN}{name}": _draw for name in arrays.DRAWS},
    **{f"{arrays.DRAWN}{name}": _pick for name in arrays.PICKS},
    "tensor": _literal,
    **dict.fromkeys(("as_tensor", "asarray", "from_numpy"), _literal),
    "one_hot": _one_hot,
    "batch": _batched,
    "tokenized": _tokens,
    "filled up": _tokens,
    "scores of tokens": _scores,
    "scores of classes": _class_scores,
    "parameter": first_of,
}
