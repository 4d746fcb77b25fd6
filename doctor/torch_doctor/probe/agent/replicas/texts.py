"""What scripts use of torchtext: tokenizers, vocabularies, and data sets of sentences that are made up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

WORDS = (
    "the a this that one some man woman child dog film book song house river city road tree hand day is was has makes sees finds "
    "likes takes reads opens good bad long short old new red quiet bright near far and or but so then now here there"
).split()
LENGTHS = (5, 9, 14, 7, 11)
TRAIN, TEST = 1_000, 200


def sentence(number: int) -> str:
    """One of so many sentences, the same for the same number."""
    length = LENGTHS[number % len(LENGTHS)]
    words = [WORDS[(number * 7 + place * place * 3 + place) % len(WORDS)] for place in range(length)]
    return " ".join([*words, "."])


def get_tokenizer(tokenizer: Any = None, language: str = "en") -> Callable[[str], list[str]]:
    """A function that cuts a text at white space, or the one that it is given."""
    del language
    return tokenizer if callable(tokenizer) else lambda text: text.lower().split()


class Vocab:
    """Numbers of words; what is not among them has the number that was set for it."""

    def __init__(self, words: Any = (), **options: Any) -> None:
        specials = list(options.get("specials", ()))
        if isinstance(words, Counter):
            words = [word for word, count in words.most_common() if count >= options.get("min_freq", 1)]
        elif isinstance(words, Vocab):
            words = words.get_itos()
        self.itos: list[str] = [*dict.fromkeys([*specials, *words])]
        self.stoi = {word: number for number, word in enumerate(self.itos)}
        self._default: int | None = None

    def __len__(self) -> int:
        return len(self.itos)

    def __contains__(self, word: str) -> bool:
        return word in self.stoi

    def __getitem__(self, word: str) -> int:
        if word in self.stoi:
            return self.stoi[word]
        if self._default is None:
            message = f"Token {word} not found and default index is not set"
            raise RuntimeError(message)
        return self._default

    def __call__(self, words: Iterable[str]) -> list[int]:
        """The numbers of several words."""
        return [self[word] for word in words]

    forward = lookup_indices = __call__

    def set_default_index(self, index: int | None) -> None:
        """The number of what is no word of it."""
        self._default = index

    def get_default_index(self) -> int | None:
        """That number."""
        return self._default

    def get_stoi(self) -> dict[str, int]:
        """All of them, by word."""
        return dict(self.stoi)

    def get_itos(self) -> list[str]:
        """All of them, by number."""
        return list(self.itos)

    def lookup_token(self, index: int) -> str:
        """The word of a number."""
        return self.itos[index]

    def lookup_tokens(self, indices: Iterable[int]) -> list[str]:
        """The words of several."""
        return [self.itos[index] for index in indices]

    def append_token(self, token: str) -> None:
        """One more."""
        self.insert_token(token, len(self.itos))

    def insert_token(self, token: str, index: int) -> None:
        """One more, at a place."""
        self.itos.insert(index, token)
        self.stoi = {word: number for number, word in enumerate(self.itos)}


def build_vocab_from_iterator(
    iterator: Iterable[Iterable[str]],
    min_freq: int = 1,
    specials: Any = None,
    special_first: Any = 1,
    max_tokens: Any = None,
) -> Vocab:
    """Of all words that come often enough, the most frequent first."""
    counted: Counter[str] = Counter()
    for words in iterator:
        counted.update(words)
    known = list(specials or ())
    words = [word for word, count in counted.most_common() if count >= min_freq and word not in known]
    words = words[: max_tokens - len(known)] if max_tokens else words
    return Vocab([*known, *words] if special_first else [*words, *known])


def vocab(ordered_dict: Any, min_freq: int = 1, specials: Any = None, special_first: Any = 1) -> Vocab:
    """Of words that were counted."""
    words = [word for word, count in ordered_dict.items() if count >= min_freq]
    return Vocab([*(specials or ()), *words] if special_first else [*words, *(specials or ())])


class Vectors:
    """Vectors of words, which are random."""

    def __init__(self, name: Any = None, dim: int = 300, **_: Any) -> None:
        del name
        self.dim = dim
        self.itos = list(WORDS)
        self.stoi = {word: number for number, word in enumerate(self.itos)}
        self.vectors = torch.randn(len(self.itos), dim, generator=torch.Generator().manual_seed(0))

    def __getitem__(self, word: str) -> torch.Tensor:
        return self.vectors[self.stoi[word]] if word in self.stoi else torch.zeros(self.dim)

    def __len__(self) -> int:
        return len(self.itos)

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: Any = None) -> torch.Tensor:
        """Those of one word, or of several."""
        del lower_case_backup
        return self[tokens] if isinstance(tokens, str) else torch.stack([self[word] for word in tokens])


class Sentences(torch.utils.data.IterableDataset[Any]):
    """The rows of one part of a data set, which can be gone through again and again, and asked for by number."""

    def __init__(self, count: int, row: Callable[[int], Any], begin: int = 0) -> None:
        self._count, self._row, self._begin = count, row, begin

    def __iter__(self) -> Iterator[Any]:
        return (self._row(self._begin + number) for number in range(self._count))

    def __len__(self) -> int:
        return self._count

    def __next__(self) -> Any:
        self._begin, self._count = self._begin + 1, max(self._count - 1, 0)
        return self._row(self._begin - 1)


def labelled(classes: int) -> Callable[[int], Any]:
    """Rows of a class, from 1, and a sentence."""
    return lambda number: (number % classes + 1, sentence(number))


def pair(number: int) -> tuple[str, str]:
    """A sentence and another one, as its translation."""
    return sentence(number), sentence(number + 3)


ROWS: dict[str, Callable[[int], Any]] = {
    **{name: labelled(4) for name in ("AG_NEWS",)},
    **{name: labelled(2) for name in ("IMDB", "SST2", "YelpReviewPolarity", "AmazonReviewPolarity", "CoLA")},
    **{name: labelled(5) for name in ("YelpReviewFull", "AmazonReviewFull", "SogouNews")},
    "DBpedia": labelled(14),
    "YahooAnswers": labelled(10),
    **dict.fromkeys(("WikiText2", "WikiText103", "PennTreebank", "EnWik9"), sentence),
    **dict.fromkeys(("Multi30k", "IWSLT2016", "IWSLT2017"), pair),
}
PARTS = {"train": (TRAIN, 0), "valid": (TEST, TRAIN), "test": (TEST, TRAIN + TEST)}
TWO_PARTS = frozenset("AG_NEWS IMDB YelpReviewPolarity YelpReviewFull DBpedia YahooAnswers SogouNews".split())
SIDES = ("train", "valid", "test")


def data_set(name: str) -> Callable[..., Any]:
    """The function that gives the parts of a data set by its name."""
    row = ROWS[name]

    def parts(*arguments: Any, split: Any = None, **_: Any) -> Any:
        usual = ("train", "test") if name in TWO_PARTS else SIDES
        given = next((each for each in arguments if isinstance(each, tuple) or each in SIDES), None)
        chosen = split or given or usual
        made = [
            Sentences(PARTS[each][0], row, PARTS[each][1])
            for each in ((chosen,) if isinstance(chosen, str) else chosen)
        ]
        return made[0] if isinstance(chosen, str) else tuple(made)

    return parts


NAMES: dict[str, Any] = {
    "torchtext.data.utils.get_tokenizer": get_tokenizer,
    "torchtext.data.get_tokenizer": get_tokenizer,
    "torchtext.vocab.build_vocab_from_iterator": build_vocab_from_iterator,
    "torchtext.vocab.vocab": vocab,
    "torchtext.vocab.Vocab": Vocab,
    **{f"torchtext.vocab.{name}": Vectors for name in ("GloVe", "FastText", "CharNGram", "Vectors")},
    **{f"torchtext.datasets.{name}": data_set(name) for name in ROWS},
}
