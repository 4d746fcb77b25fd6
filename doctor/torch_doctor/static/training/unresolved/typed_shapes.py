"""Shapes that annotations state: `Float[Tensor, "batch steps 3"]` of jaxtyping, `TensorType["batch", 3]` of torchtyping.

Sources: the documentation of jaxtyping 0.2 ("Array annotations") and the README of torchtyping 0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.values import Lib, Tensor, shapes
from torch_doctor.static.values.shapes import Meta

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value
    from torch_doctor.static.values.shapes import Shape, Size

_DTYPES: Final = {
    "Float": "floating",
    "Bool": "bool",
    "Int": "",
    "Integer": "",
    "Num": "",
    "Real": "",
    "Shaped": "",
} | {
    f"{kind}{bits}": f"{kind.lower()}{bits}"
    for kind, widths in (("Float", (16, 32, 64)), ("Int", (8, 16, 32, 64)))
    for bits in widths
}
"""The dtypes that jaxtyping's classes stand for, "" where several do."""
_PAIR: Final = 2


def stated(run: Run, annotation: p.Expr | None, flow: Flow | None = None) -> Tensor | None:
    """Return a tensor of the shape that an annotation states, with this history; None where it states none."""
    if not isinstance(annotation, p.Index):
        return None
    cls: Value = run.evaluate(annotation.value)
    name = cls.name if isinstance(cls, Lib) else ""
    items = annotation.key.items if isinstance(annotation.key, p.Display) else (annotation.key,)
    package, _, word = name.rpartition(".")
    if package == "jaxtyping" and word in _DTYPES and len(items) == _PAIR and isinstance(items[1], p.Const):
        shape = _of_words(str(items[1].value).split())
        return None if shape is None else Tensor(flow or Flow(graph=None), meta=Meta(_DTYPES[word], shape))
    if name.startswith("torchtyping") and word == "TensorType":
        sizes = [each.value for each in items if isinstance(each, p.Const)]
        shape = tuple(_size(each) for each in sizes if isinstance(each, (int, str)))
        return Tensor(flow or Flow(graph=None), meta=Meta("", shape)) if len(sizes) == len(items) else None
    return None


def _of_words(words: list[str]) -> Shape | None:
    """The shape of `batch *others 3`; None where dimensions of an unknown number are not the first ones."""
    many = [place for place, word in enumerate(words) if word.startswith("*") or word == shapes.ANY]
    if many not in ([], [0]):
        return None
    sizes = tuple(map(_size, words[len(many) :]))
    return (shapes.ANY, *sizes) if many else sizes


def _size(word: int | str) -> Size:
    """A number, or a name: the same one has the same size wherever it stands. Sums and sizes that may be 1 are unknown."""
    if isinstance(word, int) or word.isdecimal():
        return int(word)
    name = word.partition("=")[2] or word
    return int(name) if name.isdecimal() else name if name.isidentifier() and name != "_" else None
