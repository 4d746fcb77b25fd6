"""Reverses the samples of a batch, on a copy of a model that packs sequences: do its outputs come out reversed?"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...watching.naming import class_name
from ..copies import copied, elements
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

LARGEST = 20_000_000  # parameters of a model that is copied
FEWEST = 3  # samples of a batch
CLOSE = 1e-5
PACKING = "pack_padded_sequence"
SEQUENCES = 2  # dimensions of padded ids: samples and steps


class Instrument(Base):
    """Looks at the first batch at each place that calls a model, in scripts that pack sequences."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._done: set[int] = set()
        self._packs: dict[str, bool] = {}  # whether a file packs sequences

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is about to be called."""
        if here.site in self._done or not self._any_packs():
            return
        given = list(self.watch.marks.tensors([arguments, keywords]))
        rows = next((len(each) for each in given if each.dim() == 1), 0)  # the lengths
        if rows < FEWEST or elements(self.watch, self.watch.modules.family(module).parameters) > LARGEST:
            return
        dims = [_dim(each, rows) for each in given]
        if None in dims:  # nobody knows which dimension has the samples
            return
        self._done.add(here.site)
        torch = self.watch.torch
        with self.watch.unwatched(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            twin = copied(self.watch, module).eval()
            first = self._run(twin, arguments, keywords, dims, reverse=False)
            again = self._run(twin, arguments, keywords, dims, reverse=False)
            second = self._run(twin, arguments, keywords, dims, reverse=True)
        if first is None or second is None or again is None or first.shape != second.shape:
            return
        if first.shape[:1] != (rows,) or not torch.equal(first, again):
            return
        moved = self._moved(first, second)
        if moved is not None:
            self.watch.recorder.event(
                "RowsMixed",
                here,
                site=here.site,
                how="order",
                name=class_name(type(module), self.watch.recorder),
                loader=next((of for each in given if (of := self.watch.marks.of(each).loader)), 0),
                shape=[],
                rows=rows,
                changed=moved,
                answers=moved,
                used_at=here.site,
            )

    def _any_packs(self) -> bool:
        trees = self.watch.recorder.index.trees()
        for file in [each for each in trees if each not in self._packs]:
            self._packs[file] = any(PACKING in _names(node) for node in ast.walk(trees[file]))
        return any(self._packs.values())

    def _run(self, twin: Any, arguments: Any, keywords: Any, dims: list[Any], *, reverse: bool) -> Any:
        """What a copy gives for the batch, or for the batch in reverse; None where it gives no tensor."""
        given = copied(self.watch, (arguments, keywords))
        for tensor, dim in zip(self.watch.marks.tensors(given), dims) if reverse else ():  # noqa: B905 - as many
            tensor.data = tensor.data.flip(dim)
        found = list(self.watch.marks.tensors(copied(self.watch, twin)(*given[0], **given[1])))
        return found[0].detach() if found and found[0].is_floating_point() else None

    def _moved(self, first: Any, second: Any) -> int | None:
        """How many outputs are those of other samples, where both have the same ones in some order; None where they have not."""
        torch = self.watch.torch
        one, other = (each.flatten(1).double() for each in (first.flip(0), second))
        apart = torch.cdist(one[None], other[None])[0]
        close = apart <= CLOSE * max(1.0, float(one.abs().max()))
        if not bool(close.any(0).all()) or not bool(close.any(1).all()):
            return None
        return int((~close.diagonal()).sum())


def _names(node: ast.AST) -> tuple[str, ...]:
    """What a node of the source names."""
    if isinstance(node, ast.ImportFrom):
        return tuple(each.name for each in node.names)
    return (getattr(node, "attr", ""), getattr(node, "id", ""))


def _dim(tensor: Any, rows: int) -> int | None:
    """Which dimension has the samples; None where that is not certain."""
    sizes = list(tensor.shape[:SEQUENCES])
    return sizes.index(rows) if sizes.count(rows) == 1 else None
