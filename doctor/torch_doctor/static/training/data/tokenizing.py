"""Tokenizers: the texts that they pad, and the numbers of words that come of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from torch_doctor.static.domains.padding import TOKENIZED
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import EMPTY, NONE, blend
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.libraries import transformers
from torch_doctor.static.library import library_family
from torch_doctor.static.measuring import making
from torch_doctor.static.training.data import preparers
from torch_doctor.static.values import (
    ARRAY,
    Call,
    Const,
    Lib,
    Making,
    Mapping,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    UnknownAttribute,
    Value,
)
from torch_doctor.trace import TOKENS, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_MARK: Final = "tokenizer"
"""The last part of the symbols of tokenizers."""
_LONGEST: Final = (True, "longest")
"""Settings that pad to the longest of several texts; of one text they do nothing."""
METHODS: Final = frozenset(("__call__", "encode_plus", "batch_encode_plus", "encode", "pad"))
"""Methods that turn texts into numbers, or pad these."""


@library_family(transformers.is_tokenizer)
def built(run: Run, name: str, call: Call) -> Value:
    """Make a tokenizer: anything, of which it is known that it is one, and perhaps which."""
    made = opaque_calls.opaque(run, Lib(name), call)
    if not isinstance(made, Unknown):
        return made
    given = call.argument(0, "pretrained_model_name_or_path") if name.endswith(".from_pretrained") else None
    word = given.value if isinstance(given, Const) else None
    lower = call.keywords.get("do_lower_case")
    told = lower.value if isinstance(lower, Const) and isinstance(lower.value, bool) else None
    left = lower is None and "**" not in call.keywords
    how = transformers.vocabulary(word, "" if left else told) if isinstance(word, str) else ""
    rows = preparers.built(run, TOKENS, str(word), how, call.node) if how and not run.modules_called else NONE
    return Unknown(replace(made.flow, rows=rows), made.holds, (*made.symbol, _MARK))


def encoded(run: Run, func: Value, of: Value, name: str, call: Call) -> Value | None:
    """What a tokenizer makes of texts, by `func`, which is a method of this name; None where nothing is known of that."""
    if not isinstance(of, Unknown) or of.symbol[-1] != _MARK or name not in METHODS:
        return None
    made = _padded(run, of, name, call)
    return _by(of, made or opaque_calls.opaque(run, func, call)) if of.flow.rows else made


def _by(of: Unknown, made: Value) -> Value:
    """What is made of texts, with what the tokenizer is."""
    if isinstance(made, Mapping):
        for key, value in made.fields.items():
            if isinstance(value, Value):
                made.fields[key] = _by(of, value)
        return made
    return holding.with_rows(made, made.flow.rows | of.flow.rows)


def _padded(run: Run, of: Unknown, name: str, call: Call) -> Value | None:
    """What a tokenizer makes of texts that it pads; None where it surely pads none."""
    if not _pads(name, call):
        return None
    kind = call.keywords.get("return_tensors")
    wanted = kind.value if isinstance(kind, Const) else "" if kind is not None else None
    if wanted not in (None, "pt", "np"):
        return None
    fill = UnknownAttribute(of, "pad_token_id", EMPTY)
    flow = blend(value.flow for value in call.values).cut()
    made = making(TOKENIZED, (), of=fill, site=run.site(call.node))
    tokens: Value = Tensor(flow, meta=made)
    mask: Value = Tensor(flow, meta=making("long", (Tensor(meta=making("ne", (Tensor(meta=made), fill))),)))
    if wanted != "pt":
        tokens, mask = (Plain(size=Making(ARRAY, (each,))) for each in (tokens, mask))
    if name == "encode":
        return tokens
    mapping: Mapping = run.own(Mapping(run.site(call.node), run.frame.what))
    mapping.fields["key", "input_ids"] = tokens
    mapping.fields["key", "attention_mask"] = mask
    return mapping


def fills(value: Value) -> bool:
    """Whether this is the number that a tokenizer fills up with."""
    return isinstance(value, UnknownAttribute) and value.name == "pad_token_id" and value.of.symbol[-1] == _MARK


def _pads(name: str, call: Call) -> bool:
    """Whether shorter texts are filled up."""
    asked = call.argument(1, "padding") if name == "pad" else call.keywords.get("padding")
    if name == "pad":
        return asked is None or (isinstance(asked, Const) and asked.value in (*_LONGEST, "max_length"))
    if asked is None:
        return call.flag("pad_to_max_length", default=False) is True
    if not isinstance(asked, Const):
        return False
    texts = call.argument(0, "text", "batch_text_or_text_pairs")
    several = isinstance(texts, Sequence) or (texts is not None and texts.flow.source is Source.LOADER)
    return asked.value == "max_length" or (asked.value in _LONGEST and several)
