"""Made-up vocabularies of the kinds that pretrained tokenizers have, as the file `tokenizer.json` of the library `tokenizers`."""

from __future__ import annotations

import json
import string
from typing import Any

from ..texts import VOCABULARY
from .layouts import T5, Layout

SPACE = "▁"
EXTRAS = (
    100  # T5's sentinels, `extra_ids` of https://huggingface.co/docs/transformers/model_doc/t5#transformers.T5Tokenizer
)
LEARNT = 2_000  # pairs of letters that are merged


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}


def written(kind: Layout, size: int, *, lower: bool) -> str:
    """The file for a vocabulary of `size` tokens (more where the alphabet needs them)."""
    merges: list[Any] = []
    if kind.model == "wordpiece":
        letters = string.ascii_letters + string.digits + string.punctuation
        words = [*letters, *(f"##{letter}" for letter in letters), *VOCABULARY]
    elif kind.model == "unigram":
        letters = string.ascii_letters + string.digits + string.punctuation
        words = [SPACE, *letters, *(f"{SPACE}{word}" for word in dict.fromkeys(VOCABULARY))]
    else:
        words, merges = _merged(kind.model)
    tokens = _numbered(list(dict.fromkeys(words)), kind, size)
    special = {name: tokens.index(name) for name in kind.tokens}
    extras = {token: place for place, token in enumerate(tokens) if token.startswith("<extra_id_")}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": place,
                "content": token,
                "single_word": False,
                "lstrip": token == "<mask>",  # noqa: S105 - a token of another sort
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token, place in sorted({**special, **extras}.items(), key=lambda pair: pair[1])
        ],
        "normalizer": _normalizer(kind, lower=lower),
        "pre_tokenizer": _splitting(kind),
        "post_processor": _around(kind, special),
        "decoder": {"wordpiece": {"type": "WordPiece", "prefix": "##", "cleanup": True}, "bytes": BYTE_LEVEL}.get(
            kind.model, METASPACE
        ),
        "model": _model(kind, tokens, merges),
    }
    return json.dumps(content, ensure_ascii=False)


def _merged(sort: str) -> tuple[list[str], list[Any]]:
    """Byte-pair encoding, learnt from our words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    alphabet = [f"<0x{number:02X}>" for number in range(256)]
    if sort == "bytes":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=LEARNT,
        show_progress=False,
        initial_alphabet=alphabet if sort == "bytes" else list(string.printable[:95]),
    )
    texts = [" ".join(VOCABULARY), *(f" {word}" for word in VOCABULARY), " ".join(VOCABULARY).title()]
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    words = sorted(model["vocab"], key=model["vocab"].get)
    return [*([] if sort == "bytes" else alphabet), *words], model["merges"]


def _numbered(words: list[str], kind: Layout, size: int) -> list[str]:
    """The tokens by their numbers: the special ones in their places, then the words, then tokens that no text has."""
    special = kind.tokens
    extras = [f"<extra_id_{number}>" for number in reversed(range(EXTRAS))] if kind is T5 else []
    ends = [token for token, place in special.items() if place < 0]
    first = max(special.values(), default=0) + 1
    least = first + len(words) + len(extras) + len(ends)
    placed = {place: token for token, place in special.items() if place >= 0}
    rest = iter([*(f"[unused{number}]" for number in range(first - len(placed))), *words])
    found: list[str] = []
    while len(found) < max(size, least) - len(extras) - len(ends):
        number = len(found)
        found.append(placed[number] if number in placed else next(rest, f"[unused{number}]"))
    return [*found, *extras, *ends]


def _normalizer(kind: Layout, *, lower: bool) -> dict[str, Any] | None:
    if kind.model == "wordpiece":
        return {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lower,
        }
    return {"type": "Lowercase"} if lower and kind.model == "unigram" else None


def _splitting(kind: Layout) -> dict[str, Any]:
    if kind.model == "wordpiece":
        return {"type": "BertPreTokenizer"}
    return BYTE_LEVEL if kind.model == "bytes" else METASPACE


def _around(kind: Layout, special: dict[str, int]) -> dict[str, Any] | None:
    def parts(template: str) -> list[dict[str, Any]]:
        found = []
        for part in template.split():
            word, _, sort = part.partition(":")
            name = {"id": word.removeprefix("$"), "type_id": int(sort or 0)}
            found.append({"Sequence" if word.startswith("$") else "SpecialToken": name})
        return found

    if kind.single == "$A":
        return BYTE_LEVEL if kind.model == "bytes" else None
    used = {name: number for name, number in special.items() if name in kind.single or name in kind.pair}
    tokens = {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in used.items()}
    return {
        "type": "TemplateProcessing",
        "single": parts(kind.single),
        "pair": parts(kind.pair),
        "special_tokens": tokens,
    }


def _model(kind: Layout, tokens: list[str], merges: list[Any]) -> dict[str, Any]:
    unknown = kind.special["unk_token"][0]
    if kind.model == "unigram":
        scores = [[token, 0.0 if token in kind.tokens else -float(9 - min(len(token), 8))] for token in tokens]
        return {"type": "Unigram", "unk_id": tokens.index(unknown), "vocab": scores, "byte_fallback": False}
    numbers = {token: place for place, token in enumerate(tokens)}
    if kind.model == "wordpiece":
        return {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": numbers,
        }
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None if kind.model == "bytes" else unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": kind.model == "pieces",
        "vocab": numbers,
        "merges": merges,
    }
