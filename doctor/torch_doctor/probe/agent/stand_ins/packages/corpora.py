"""What torchtext 0.9 to 0.18 gives scripts: sets of texts, their words, and vocabularies. There is none for newer torch."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from .. import told
from ..texts import VOCABULARY
from ..unknown.names import Unknown
from ..unknown.things import current
from .words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROWS, LENGTH = 2_000, 16  # texts of a part, and words of one at most
CLASSES = {
    "AG_NEWS": 4,
    "SogouNews": 5,
    "DBpedia": 14,
    "YelpReviewPolarity": 2,
    "YelpReviewFull": 5,
    "YahooAnswers": 10,
    "AmazonReviewPolarity": 2,
    "AmazonReviewFull": 5,
    "IMDB": 2,
}
"""Sets whose rows are a class from 1 on, and a text. https://docs.pytorch.org/text/stable/datasets.html"""
PAIRS, LINES = ("Multi30k", "IWSLT2016", "IWSLT2017"), ("WikiText2", "WikiText103", "PennTreebank")
USUAL = ("train", "test")
VALIDATED = ("train", "valid", "test")


class MadeUpTexts(list[Any]):
    """The rows of a part, in order; an iterator, too, as those of earlier versions were."""

    def __next__(self) -> Any:
        self._left: Iterator[Any] = getattr(self, "_left", None) or iter(self)
        return next(self._left)

    def shuffle(self, *_: Any, **__: Any) -> MadeUpTexts:
        """The same rows: they are random."""
        return self

    sharding_filter = shuffle


class TextSet:
    """A function of `torchtext.datasets`; what else is asked of its name belongs to earlier versions."""

    def __init__(self, name: str) -> None:
        self.__name__ = self._name = name

    def __call__(self, root: Any = None, split: Any = None, *_: Any, **__: Any) -> Any:
        """The rows of a part, or of each of several."""
        count = CLASSES.get(self._name, 0)
        kind = f"{count} classes" if count else "pairs of sentences" if self._name in PAIRS else "lines"
        what, how = f"torchtext.datasets.{self._name}", f"{ROWS} texts of random words, {kind}"
        current().user.tell(what, how, why="package not installed", voids=(told.FILES, told.VALUES, told.SHAPES))
        if root in VALIDATED and split is None:  # before version 0.9 was out, the part came first
            split = root
        parts = split or (USUAL if count else VALIDATED)
        if isinstance(parts, str):
            return self._rows(parts)
        return tuple(self._rows(part) for part in parts)

    def _rows(self, part: str) -> MadeUpTexts:
        draw, count = random.Random(f"{self._name} {part}"), CLASSES.get(self._name, 0)  # noqa: S311 - not for secrets
        texts = [" ".join(draw.choices(VOCABULARY, k=draw.randint(4, LENGTH))) for _ in range(2 * ROWS)]
        if self._name in LINES:
            return MadeUpTexts(texts[:ROWS])
        if count:
            return MadeUpTexts((1 + place % count, text) for place, text in enumerate(texts[:ROWS]))
        return MadeUpTexts(zip(texts[:ROWS], texts[ROWS:], strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(Unknown(f"torchtext.datasets.{self._name}", current()), name)


class TextVocabulary:
    """As `torchtext.vocab.Vocab`."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = list(dict.fromkeys(words))
        self._places = {word: place for place, word in enumerate(self._words)}
        self._default: int | None = None

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def __getitem__(self, word: str) -> int:
        place = self._places.get(word, self._default)
        if place is None:
            message = f"Token {word} not found and default index is not set"  # as torchtext says it
            raise RuntimeError(message)
        return place

    def lookup_indices(self, tokens: Iterable[str]) -> list[int]:
        """The numbers of words."""
        return [self[word] for word in tokens]

    forward = __call__ = lookup_indices

    def set_default_index(self, index: int | None) -> None:
        """What words are that it does not have."""
        self._default = index

    def get_default_index(self) -> int | None:
        """What words are that it does not have."""
        return self._default

    def lookup_token(self, index: int) -> str:
        """The word of a number."""
        return self._words[index]

    def lookup_tokens(self, indices: Iterable[int]) -> list[str]:
        """The words of numbers."""
        return [self._words[index] for index in indices]

    def get_itos(self) -> list[str]:
        """The words by their numbers."""
        return list(self._words)

    def get_stoi(self) -> dict[str, int]:
        """The numbers of the words."""
        return dict(self._places)

    def append_token(self, token: str) -> None:
        """One more, the last."""
        self.insert_token(token, len(self))

    def insert_token(self, token: str, index: int) -> None:
        """One more, at a place."""
        self._words.insert(index, token)
        self._places = {word: place for place, word in enumerate(self._words)}


def build_vocab_from_iterator(
    iterator: Iterable[Iterable[str]],
    min_freq: int = 1,
    specials: Iterable[str] | None = None,
    special_first: bool = True,  # noqa: FBT001, FBT002 - torchtext's
    max_tokens: int | None = None,
) -> TextVocabulary:
    """The vocabulary of texts, the most frequent words first."""
    return vocab(Counter(word for text in iterator for word in text), min_freq, specials, special_first, max_tokens)


def vocab(
    ordered_dict: dict[str, int],
    min_freq: int = 1,
    specials: Iterable[str] | None = None,
    special_first: bool = True,  # noqa: FBT001, FBT002 - torchtext's
    max_tokens: int | None = None,
) -> TextVocabulary:
    """The vocabulary of counted words."""
    first = list(specials or ())
    counted = sorted(ordered_dict.items(), key=lambda item: (-item[1], item[0]))
    words = [word for word, count in counted if count >= min_freq and word not in first]
    words = words[: None if max_tokens is None else max_tokens - len(first)]
    return TextVocabulary([*first, *words] if special_first else [*words, *first])


def get_tokenizer(tokenizer: Any, *_: Any, **__: Any) -> Callable[[str], list[str]]:
    """What takes texts apart: a function of the script, or words and marks."""
    if callable(tokenizer):
        return tokenizer  # type: ignore[no-any-return]
    return lambda text: words_of(text.lower())


def _datasets() -> dict[str, Any]:
    return {name: TextSet(name) for name in (*CLASSES, *PAIRS, *LINES)}


def _tokenizers() -> dict[str, Any]:
    return {"get_tokenizer": get_tokenizer}


def _rows() -> dict[str, Any]:
    return {"to_map_style_dataset": MadeUpTexts}


def _vocabularies() -> dict[str, Any]:
    return {"build_vocab_from_iterator": build_vocab_from_iterator, "vocab": vocab}


PARTS: dict[str, Any] = {
    "torchtext.datasets": _datasets,
    "torchtext.data": _tokenizers,
    "torchtext.data.utils": _tokenizers,
    "torchtext.data.functional": _rows,
    "torchtext.vocab": _vocabularies,
}
"""Modules of which only these names are known."""
