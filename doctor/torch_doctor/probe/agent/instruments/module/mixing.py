"""Replaces one row of a batch, on a copy of the model in evaluation mode: which layers, views and norms change other rows?"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...watching.naming import class_name
from .. import chance
from ..copies import copied, elements
from ..instrument import Instrument as Base
from . import row_norms
from .last_batch import LastBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

LARGEST = 20_000_000  # parameters of a model that is copied
MOST = 2_000_000  # numbers of a tensor that is compared
ROW = 0  # that is replaced, by the first other that differs
FEWEST = 3  # rows of a batch
CLOSE = 1e-5  # by the largest number: what is nearer is rounding


class Instrument(Base):
    """Looks at the first batch at each place that calls a model with layers for sequences, or with norms over rows."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        nn = watch.torch.nn
        self._layers = (
            nn.RNNBase,
            nn.MultiheadAttention,
            nn.TransformerEncoderLayer,
            nn.TransformerDecoderLayer,
            nn.TransformerEncoder,
            nn.TransformerDecoder,
            nn.Transformer,
        )
        self._plain: dict[int, bool] = {}  # whether a loader collates its rows as torch does, by its number
        self._batch = LastBatch(watch)
        self._norms: dict[str, bool] = {}  # whether a file has norms over rows
        self._done: set[int] = set()
        self._before: tuple[Any, Any, Any, int, int] | None = None

    def on_loader(self, loader: Any, workers: int, setup: Any, event: int, site: int) -> None:
        """A loader was built."""
        collate = getattr(loader, "collate_fn", None)
        plain = str(getattr(collate, "__module__", "")).startswith("torch.utils.data")
        self._plain[self.watch.recorder.references.number(loader)] = plain

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is about to be called: it and the batch are copied as they are now."""
        self._before = None
        if here.site in self._done or not (self._has_layers(module) or self._has_norms()):
            return
        given = list(self.watch.marks.tensors([arguments, keywords]))
        batch = [place for place, each in enumerate(given) if self._is_batch(each)]
        rows = len(given[batch[0]]) if batch else 0
        if rows < FEWEST or any(len(given[place]) != rows for place in batch):
            return
        parameters = self.watch.modules.family(module).parameters
        if elements(self.watch, parameters) > LARGEST or any(map(self.watch.torch.nn.parameter.is_lazy, parameters)):
            return
        self._done.add(here.site)
        with self.watch.unwatched(), self.watch.torch.no_grad(), self._undisturbed():
            other = copied(self.watch, (arguments, keywords))
            if not self._replaced([each for n, each in enumerate(self.watch.marks.tensors(other)) if n in batch]):
                return
            loader = self.watch.marks.of(given[batch[0]]).loader
            self._before = (
                copied(self.watch, module).eval(),
                copied(self.watch, (arguments, keywords)),
                other,
                rows,
                loader,
            )

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch: only what is in it has the rows in dimension 0 for certain, not what the script makes of it."""
        self._batch.take(batch)

    def _has_layers(self, module: Any) -> bool:
        return any(isinstance(part, self._layers) for part in module.modules())

    def _has_norms(self) -> bool:
        trees = self.watch.recorder.index.trees()
        for file in [each for each in trees if each not in self._norms]:
            self._norms[file] = row_norms.written_in(trees[file])
        return any(self._norms.values())

    def _is_batch(self, tensor: Any) -> bool:
        return self._batch.has(tensor) and self._plain.get(self.watch.marks.of(tensor).loader, False)

    def _replaced(self, batch: list[Any]) -> bool:
        """Puts another row in the place of one in all of these tensors; False where all rows are alike."""
        for other in range(1, len(batch[0])):
            if any(not self.watch.torch.equal(each[ROW], each[other]) for each in batch):
                for each in batch:
                    each[ROW] = each[other].clone()
                return True
        return False

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """It ran: copies run with the batch, and with the batch in which one row is another."""
        before, self._before = self._before, None
        if before is None:
            return
        copy, given, other, rows, loader = before
        with self.watch.unwatched(), self.watch.torch.no_grad(), self._undisturbed():
            first = self._run(copied(self.watch, copy), module, given, rows)
            second = self._run(copy, module, other, rows)
        if [each[0] for each in first] != [each[0] for each in second]:
            return  # which layers it calls depends on the rows
        answers = max((self._others(*pair, rows) or 0 for pair in zip(first[-1][2], second[-1][2])), default=0)  # noqa: B905 - as many
        told: set[int] = set()
        for (key, inputs, outputs), (_, its, results) in zip(first[:-1], second[:-1]):  # noqa: B905 - as many
            how, name, site, used_at = key
            changed = self._compared(how, (inputs, its), (outputs, results), rows)
            if changed is None or site in told:
                continue
            told.add(site)
            self.watch.recorder.event(
                "RowsMixed",
                here,
                site=site,
                how=how,
                name=name,
                loader=loader,
                shape=list(inputs[0].shape),
                rows=rows,
                changed=changed,
                answers=answers,
                used_at=used_at or here.site,
            )

    def _run(self, copy: Any, module: Any, given: Any, rows: int) -> list[Any]:
        """What a copy's layers and views get and give: what each is, the tensors that went in, and those that came out."""
        watch, seen = self.watch, list[Any]()
        mine = {id(one): other for one, other in zip(copy.modules(), module.modules())}  # noqa: B905 - of a copy

        def called(part: Any, arguments: Any, keywords: Any, result: Any) -> None:
            site = watch.modules.birthplace(mine.get(id(part)))
            if site is not None:
                name = class_name(type(part), watch.recorder)
                frame = watch.recorder.sites.frame()
                used_at = 0 if frame is None else watch.recorder.sites.of_frame(frame)
                seen.append((("layer", name, site, used_at), self._kept([arguments, keywords]), self._kept(result)))

        for part in list(copy.modules()):
            if isinstance(part, self._layers):
                part.register_forward_hook(called, with_kwargs=True)
        chance.seed(watch.torch, 0)
        norms = row_norms.Norms(watch.torch, rows)

        def viewed(site: int, text: str, one: Any, other: Any) -> None:
            seen.append((("view", text, site, 0), self._kept(one), self._kept(other)))

        with _functions(watch, viewed if self._has_layers(copy) else None, norms):
            result = copy(*given[0], **given[1])
        seen += [
            (("norm", "", each.site, 0), self._kept(each.given), self._kept(each.result))
            for each in norms.found.values()
        ]
        return [*seen, (("", "", 0, 0), [], self._kept(result))]

    def _kept(self, thing: Any) -> list[Any]:
        """Copies of the first tensors in something, where they are small."""
        found = [
            each
            for each in self.watch.marks.tensors(thing)
            if each.numel() <= MOST and each.dtype != self.watch.torch.bool
        ]
        return [each.detach().clone() for each in found[:1]]

    def _compared(self, how: str, given: tuple[Any, Any], results: tuple[Any, Any], rows: int) -> int | None:
        """How many other rows changed in the result, where one changed in what was given; None where that cannot be told."""
        if not all((*given, *results)):
            return None
        one, other, first, second = given[0][0], given[1][0], results[0][0], results[1][0]
        if one.shape != other.shape or first.shape != second.shape:
            return None
        if how != "view":
            dims = (0, 1) if how == "layer" else (0,)
            dim = next(
                (d for d in dims if one.shape[d : d + 1] == (rows,) and self._changed(one, other, d) == [ROW]), None
            )
            return None if dim is None else self._others(first, second, rows, dim)
        if list(one.shape).count(rows) != 1 or list(first.shape).count(rows) != 1:
            return None
        before, after = list(one.shape).index(rows), list(first.shape).index(rows)
        kept = before == 0 < after and first.shape[0] % rows == 0
        if kept or self._changed(one, other, before) != [ROW]:
            return None
        return len(self._changed(first, second, after)) - 1

    def _others(self, first: Any, second: Any, rows: int, dim: int = 0) -> int | None:
        """How many rows but the one that was replaced changed along a dimension."""
        if first.shape[dim : dim + 1] != (rows,) or first.shape != second.shape:
            return None
        return len([row for row in self._changed(first, second, dim) if row != ROW])

    def _changed(self, first: Any, second: Any, dim: int) -> list[int]:
        """Where two tensors differ along a dimension."""
        apart = (first.double() - second.double()).abs().nan_to_num(nan=0.0)
        limit = (
            CLOSE * float(first.double().abs().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).max())
            if first.numel()
            else 0.0
        )
        found = (apart > limit).movedim(dim, 0).reshape(apart.shape[dim], -1).any(1)
        return [int(each) for each in found.nonzero().flatten()]

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        with chance.undisturbed(self.watch.torch):
            yield


def _functions(watch: Watch, viewed: Any, norms: row_norms.Norms) -> Any:
    """A mode of torch under which a module runs: tells of the views and norms that the script itself takes."""
    torch, sites = watch.torch, watch.recorder.sites

    def site() -> int | None:
        frame = sites.frame()
        return None if frame is None else sites.of_frame(frame)

    class Functions(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            name = getattr(function, "__name__", "")
            if viewed is not None and name in ("view", "reshape") and isinstance(result, torch.Tensor):
                frame = sys._getframe(1)
                if frame.f_back is not None and sites.is_agents(frame.f_code.co_filename):  # who watches reshapes
                    frame = frame.f_back
                if sites.is_users(frame.f_code.co_filename) and args:
                    viewed(sites.of_frame(frame), name, args[0], result)
            norms.ran(name, args, kwargs or {}, result, site)
            return result

    return Functions()
