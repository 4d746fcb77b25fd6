"""Masks that attention gets: do they leave out the padding and later positions, or all the rest?"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ..data.padded import padded_in
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from types import CodeType

    from ...watching.watch import Watch

MOST = 4  # masks of one place that are told
PLACES = 300
KEPT = 8  # tensors of tokens that are remembered
LARGEST = 1_000_000  # elements of one, and of a mask
FAR_BELOW = -1e3  # what is added to scores, or put in their place, where they are left out
ATTENTION = "scaled_dot_product_attention"
USING = (ATTENTION, "where")  # use what is True; all others leave it out
LAYERS = {
    "MultiheadAttention": ("key_padding_mask", "attn_mask"),
    "TransformerEncoderLayer": ("src_key_padding_mask", "src_mask"),
    "TransformerEncoder": ("src_key_padding_mask", "mask"),
    "TransformerDecoderLayer": ("tgt_key_padding_mask", "memory_key_padding_mask", "tgt_mask"),
    "TransformerDecoder": ("tgt_key_padding_mask", "memory_key_padding_mask", "tgt_mask"),
    "Transformer": ("src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask", "tgt_mask"),
}
PLACED = {
    "MultiheadAttention": ("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask"),
    "TransformerEncoderLayer": ("src", "src_mask", "src_key_padding_mask"),
    "TransformerEncoder": ("src", "mask", "src_key_padding_mask"),
    "TransformerDecoderLayer": ("tgt", "memory", "tgt_mask", "", "tgt_key_padding_mask", "memory_key_padding_mask"),
    "TransformerDecoder": ("tgt", "memory", "tgt_mask", "", "tgt_key_padding_mask", "memory_key_padding_mask"),
    "Transformer": (
        *("src", "tgt", "src_mask", "tgt_mask", "memory_mask"),
        *("src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask"),
    ),
}


class Instrument(Base):
    """Wraps attention and what fills scores; compares each mask with the tokens that embeddings got last."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._tokens: deque[Any] = deque(maxlen=KEPT)
        self._padded = padded_in(watch)
        self._seen: dict[tuple[CodeType, int], int] = {}
        self._inside = 0
        self._ordered: list[
            tuple[Any, dict[str, Any]]
        ] = []  # scores that were filled by their order, and what to write
        torch, replace = watch.torch, watch.patches.replace
        functions = torch.nn.functional
        replace(functions, "embedding", self._embedding)
        for name in LAYERS:
            replace(getattr(torch.nn, name), "forward", self._layer(name))
        replace(functions, "scaled_dot_product_attention", self._attention)
        for name in ("masked_fill", "masked_fill_"):
            replace(torch.Tensor, name, self._filling)
        replace(torch, "where", self._choosing)
        for owner in (torch, torch.Tensor, functions):
            replace(owner, "softmax", self._weighing)

    def _embedding(self, original: Any) -> Any:
        recorder = self.watch.recorder

        def embedding(*arguments: Any, **keywords: Any) -> Any:
            if not recorder.quiet:
                recorder.safely(self._remember, arguments[0] if arguments else keywords.get("input"))
            return original(*arguments, **keywords)

        return embedding

    def _remember(self, tokens: Any) -> None:
        if not tokens.is_nested and tokens.dim() == 2 and tokens.numel() <= LARGEST:  # noqa: PLR2004 - samples, positions
            self._tokens.append(tokens.detach())

    def _layer(self, name: str) -> Any:
        recorder, note = self.watch.recorder, self._note

        def wrapping(original: Any) -> Any:
            def forward(layer: Any, *arguments: Any, **keywords: Any) -> Any:
                if recorder.quiet or self._inside:
                    return original(layer, *arguments, **keywords)
                given = {**dict(zip(PLACED[name], arguments)), **keywords}  # noqa: B905 - not all are given
                for mask in LAYERS[name]:
                    if given.get(mask) is not None:
                        recorder.safely(note, name, given[mask], sys._getframe(1))
                self._inside += 1
                try:
                    return original(layer, *arguments, **keywords)
                finally:
                    self._inside -= 1

            return forward

        return wrapping

    def _attention(self, original: Any) -> Any:
        recorder = self.watch.recorder

        def scaled_dot_product_attention(*arguments: Any, **keywords: Any) -> Any:
            mask = arguments[3] if len(arguments) > 3 else keywords.get("attn_mask")  # noqa: PLR2004 - the fourth
            if mask is not None and not recorder.quiet and not self._inside:
                recorder.safely(self._note, ATTENTION, mask, sys._getframe(1))
            return original(*arguments, **keywords)

        return scaled_dot_product_attention

    def _filling(self, original: Any) -> Any:
        recorder = self.watch.recorder

        def masked_fill(scores: Any, *arguments: Any, **keywords: Any) -> Any:
            if not recorder.quiet and not self._inside:
                given = {**dict(zip(("mask", "value"), arguments)), **keywords}  # noqa: B905 - not all are given
                value = given.get("value")
                if isinstance(value, (int, float)) and value <= FAR_BELOW:
                    result = original(scores, *arguments, **keywords)
                    recorder.safely(self._note, "masked_fill", given.get("mask"), sys._getframe(1), result)
                    return result
            return original(scores, *arguments, **keywords)

        return masked_fill

    def _choosing(self, original: Any) -> Any:
        recorder = self.watch.recorder

        def where(*arguments: Any, **keywords: Any) -> Any:
            given = {**dict(zip(("condition", "input", "other"), arguments)), **keywords}  # noqa: B905 - not all are given
            value = given.get("other")
            result = original(*arguments, **keywords)
            if isinstance(value, (int, float)) and value <= FAR_BELOW and not recorder.quiet and not self._inside:
                recorder.safely(self._note, "where", given.get("condition"), sys._getframe(1), result)
            return result

        return where

    def _weighing(self, original: Any) -> Any:
        recorder = self.watch.recorder

        def softmax(*arguments: Any, **keywords: Any) -> Any:
            if self._ordered and not recorder.quiet:
                recorder.safely(self._weighed, arguments[0] if arguments else keywords.get("input"))
            return original(*arguments, **keywords)

        return softmax

    def _weighed(self, scores: Any) -> None:
        """A softmax gets scores: filled by their order they are those of attention, and not of pairs that are counted once."""
        found = [told for filled, told in self._ordered if filled() is scores]
        self._ordered = [each for each in self._ordered if each[0]() is not scores]
        for told in found:
            self.watch.recorder.event("MaskGiven", self.watch.recorder.here(), **told)

    def _note(self, name: str, mask: Any, frame: Any, filled: Any = None) -> None:
        """Writes what a mask leaves out, if it is the user's call."""
        recorder, torch = self.watch.recorder, self.watch.torch
        sites = recorder.sites
        while frame is not None and not sites.is_users(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or not isinstance(mask, torch.Tensor) or mask.is_nested:
            return
        place = (frame.f_code, frame.f_lasti)
        if len(self._seen) >= PLACES or self._seen.get(place, 0) >= MOST:
            return
        self._seen[place] = self._seen.get(place, 0) + 1
        out = None if mask.numel() > LARGEST else _left_out(mask.detach(), leaves_out=name not in USING)
        found = None if out is None else _causal(torch, out) or self._padding(out)
        behind = None if out is None or bool(out.any()) else self._behind(out)
        if behind is not None:
            hidden = {"inverted": False, "nothing": True, "hidden": int(behind.sum())}
            recorder.event("MaskGiven", recorder.here(), site=sites.of_frame(frame), name=name, **hidden)
            return
        told: dict[str, Any] = dict(zip(("inverted", "rows", "token", "hidden"), found or (None, 0, None, 0)))  # noqa: B905 - of one length
        told = {**told, "site": sites.of_frame(frame), "name": name, "leaves_out": name not in USING}
        if filled is not None and found is not None and told["token"] is None:
            self._ordered = [*self._ordered[1 - KEPT :], (weakref.ref(filled), told)]
        else:
            recorder.event("MaskGiven", recorder.here(), **told)

    def _behind(self, out: Any) -> Any:
        """Where the tokens were padded that a mask of this shape is for; None where they were not, or where that is not known."""
        for tokens in reversed(self._tokens):
            if tokens.shape == out.shape:
                behind = self._padded.of(tokens)
                return behind if behind is not None and bool(behind.any()) else None
        return None

    def _padding(self, out: Any) -> tuple[bool, int, int, int] | None:
        """Whether only one token is used (True) or left out (False); how many rows, which one, how many others."""
        for tokens in reversed(self._tokens):
            if tokens.shape != out.shape:
                continue
            hidden, used = tokens[out].unique(), tokens[~out].unique()
            rows = int(out.any(1).sum())
            if len(used) == 1 and len(hidden) > 1 and _is_padding(tokens == used):
                return True, rows, int(used), len(hidden)
            if len(hidden) == 1 and len(used) > 1 and _is_padding(tokens == hidden):
                return False, rows, int(hidden), len(used)
        return None


def _left_out(mask: Any, *, leaves_out: bool) -> Any:
    """Where a mask leaves elements out: dimensions of size 1 are dropped, down to two; None where that is not known."""
    if mask.is_floating_point():
        out = mask <= FAR_BELOW
        if not bool(out.any()):
            return None
    elif str(mask.dtype) == "torch.bool":
        out = mask if leaves_out else ~mask
    else:
        return None
    for dimension in reversed(range(out.dim())):
        if out.dim() > 2 and out.shape[dimension] == 1:  # noqa: PLR2004 - rows and positions
            out = out.squeeze(dimension)
    return out if out.dim() == 2 and out.numel() else None  # noqa: PLR2004 - rows and positions


def _is_padding(where: Any) -> bool:
    """Whether one token is at the end of rows only, or at their beginning only, several times and not equally often."""
    counts = where.sum(1)
    steps = range(where.shape[1])
    ends = all(bool((where[:, at] == (counts > (where.shape[1] - 1 - at))).all()) for at in steps)
    begins = all(bool((where[:, at] == (counts > at)).all()) for at in steps)
    return (ends or begins) and int(counts.max()) > 1 and len(counts.unique()) > 1


def _causal(torch: Any, out: Any) -> tuple[bool, int, None, int] | None:
    """Whether earlier positions are left out (True) or later ones (False); how many positions, and how many are left out."""
    rows, columns = out.shape
    if rows != columns or rows < 2:  # noqa: PLR2004 - one has no order
        return None
    later = torch.ones_like(out).triu(1)
    if torch.equal(out, ~later):
        return True, rows, None, int(out.sum())
    return (False, rows, None, int(out.sum())) if torch.equal(out, later) else None
