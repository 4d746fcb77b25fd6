"""Masks that attention gets, and those by which scores are filled before a softmax or a maximum."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains import masks, unmasked, weighing
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.axes.origins import At
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.domains.masks import Masks
from torch_doctor.static.domains.unmasked import READERS
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Const, Making, Module, Tensor, Value
from torch_doctor.trace import MaskGiven

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

    _Given: TypeAlias = tuple[Value | None, ...]

_FILLING: Final = frozenset(("masked_fill", "masked_fill_"))
_ATTENTION: Final = "torch.nn.functional.scaled_dot_product_attention"
_FAR_BELOW: Final = -1e3
"""A number that nothing is left of in a softmax, and that no maximum takes."""
_FILLED: Final = ("input", "mask", "value")
_WHERE: Final = ("condition", "input", "other")


class GivenMasks(
    Observer,
    made=lambda name: name == _ATTENTION or name.rpartition(".")[2] in (*_FILLING, "softmax") or name == "torch.where",
):
    """Watches what gets masks of which the source shows what is True in them."""

    writes = (MaskGiven,)

    _told: set[Site] = per_run(set)
    _ordered: dict[Making, Callable[[], None]] = per_run(
        dict
    )  # scores that were filled by their order, and what to write

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A layer of torch with attention was called: it leaves out what is True."""
        if module.cls is None and module.layer in READERS and "**" not in call.keywords:
            self._to_attention(run, module.layer, call, leaves_out=True)
        elif unmasked.unmasked_tokens(run, module, call, told=True) is not None:
            self._nothing(run, call, module.layer, (1, "attention_mask"), leaves_out=False)
        elif module.layer == "torch.nn.Softmax":
            self._weighed(call.argument(0, "input"))

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """Attention as a function uses what is True; what fills scores leaves it out, and `where` uses it."""
        if canonical(name) == _ATTENTION:
            self._to_attention(run, _ATTENTION, call, leaves_out=False)
        elif name.rpartition(".")[2] == "softmax":
            self._weighed(call.argument(0, "input"))
        elif name == "torch.where":
            mask, scores, other = (call.argument(place, keyword) for place, keyword in enumerate(_WHERE))
            self._filled(run, name, call, (scores, mask, other), (0, _WHERE[0]), result)
        else:
            given = tuple(call.argument(place, keyword) for place, keyword in enumerate(_FILLED))
            self._filled(run, name, call, given, (1, _FILLED[1]), result)

    def _weighed(self, scores: Value | None) -> None:
        """A softmax gets scores: filled by their order they are those of attention, and not of pairs that are counted once."""
        made = None if scores is None else made_of(scores)
        if made is not None and made in self._ordered:
            self._ordered[made]()

    def _to_attention(self, run: Run, name: str, call: Call, *, leaves_out: bool) -> None:
        for place, keyword, places in READERS[name].sequences:
            sequence = call.argument(place, keyword)
            for each in places:
                mask = call.argument(*each)
                if isinstance(mask, Tensor) and measured(mask).dtype == "bool":
                    self._write(run, name, call, (sequence, mask), each, leaves_out=leaves_out)
        for _, each in unmasked.told_nothing(run, name, call):
            self._nothing(run, call, name, each, leaves_out=leaves_out)

    def _filled(self, run: Run, name: str, call: Call, given: _Given, argument: tuple[int, str], result: Value) -> None:
        scores, mask, filling = given
        below = isinstance(filling, Const) and isinstance(filling.value, (int, float)) and filling.value <= _FAR_BELOW
        found = run.ask(Masks, mask) if below and mask is not None else None
        nothing = 1.0 if name == "torch.where" else 0.0
        if below and mask is not None and scores is not None and run.ask(Filled, mask) == nothing:
            rank = len(measured(scores).shape or ()) or None
            if weighing.padding_at(run, At(scores, -1, rank), scores=True) is not None:
                self._nothing(run, call, name, argument, leaves_out=name != "torch.where")
        if found is None:
            return
        write = partial(self._write, run, name, call, (scores, mask), argument, leaves_out=name != "torch.where")
        made = made_of(result)
        if found.marks not in (masks.PAST, masks.FUTURE):
            write()
        elif made is not None:
            self._ordered[made] = write

    def _nothing(self, run: Run, call: Call, name: str, argument: tuple[int, str], *, leaves_out: bool) -> None:
        """Write that a mask leaves nothing out, although some places are padding."""
        here = run.site(call.node)
        if here not in self._told:
            self._told.add(here)
            text = run.text_of_argument(call.node, self._place(call, argument[0]), argument[1])
            short = name.rpartition(".")[2]
            run.emit(MaskGiven, call.node, name=short, mask=text, leaves_out=leaves_out, inverted=False, nothing=True)

    @staticmethod
    def _place(call: Call, place: int) -> int:
        """The place of an argument as written: the object of a method is not among them."""
        written = call.node.args if isinstance(call.node, p.Call) else ()
        return place - (len(call.args) - len(written))

    def _write(
        self, run: Run, name: str, call: Call, given: _Given, argument: tuple[int, str], *, leaves_out: bool
    ) -> None:
        sequence, mask = given
        place, keyword = argument
        found = None if mask is None else run.ask(Masks, mask)
        here = run.site(call.node)
        told = keyword.endswith("padding_mask")
        if found is None or here in self._told or not masks.is_of(run, found, sequence, told=told):
            return
        self._told.add(here)
        place = self._place(call, place)
        run.emit(
            MaskGiven,
            call.node,
            name=name.rpartition(".")[2],
            mask=run.text_of_argument(call.node, place, keyword),
            keyword=keyword,
            position=place,
            marks=found.marks,
            leaves_out=leaves_out,
            inverted=(found.marks in masks.USED) is leaves_out,
            made_at=found.site,
        )
