"""Packages that take texts apart into words: at spaces and marks, and what is written without spaces letter by letter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

TOKEN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W\u3040-\u30ff\u4e00-\u9fff]+|[^\w\s]")
KIND = "Noun"
KOREAN = ("Okt", "Twitter", "Mecab", "Komoran", "Hannanum", "Kkma")
FEATURES = "名詞,一般,*,*,*,*,*"


def words_of(text: Any, *_: Any, **__: Any) -> list[str]:
    """The words and marks of a text."""
    return TOKEN.findall(str(text))


class Tagger:
    """As the classes of `konlpy.tag`."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.morphs = self.nouns = self.phrases = words_of

    def pos(self, text: Any, *, flatten: bool = True, join: bool = False, **_: Any) -> list[Any]:
        """The words, each with its kind."""
        parts = [[f"{each}/{KIND}" if join else (each, KIND) for each in words_of(part)] for part in str(text).split()]
        return [each for part in parts for each in part] if flatten else parts


class Mecab:
    """As `MeCab.Tagger`."""

    def __init__(self, options: str = "") -> None:
        self._apart = "wakati" in options

    def parse(self, text: Any) -> str:
        """The words in one line, or each in its own with what is known of it."""
        if self._apart:
            return " ".join(words_of(text)) + " \n"
        return "".join(f"{each}\t{FEATURES}\n" for each in words_of(text)) + "EOS\n"


class Moses:
    """As the classes of `sacremoses`."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.normalize = lambda text: text

    def tokenize(self, text: Any, *_: Any, return_str: bool = False, **__: Any) -> Any:
        """The words."""
        return " ".join(words_of(text)) if return_str else words_of(text)

    def detokenize(self, words: Any, *_: Any, **__: Any) -> str:
        """One text."""
        return " ".join(words)


class Word:
    """A word of a document of spaCy."""

    def __init__(self, text: str, place: int) -> None:
        self.text = self.orth_ = self.lemma_ = self.norm_ = text
        self.lower_, self.i, self.whitespace_ = text.lower(), place, " "
        self.pos_, self.tag_, self.dep_, self.ent_type_ = KIND.upper(), "NN", "dep", ""
        self.is_alpha, self.is_digit, self.is_space = text.isalpha(), text.isdigit(), text.isspace()
        self.is_punct, self.is_stop, self.like_num = not text[:1].isalnum(), False, text.isdigit()

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.text)


class Document(list[Word]):
    """A document of spaCy: its words, of which all are one sentence."""

    def __init__(self, text: Any) -> None:
        super().__init__(Word(each, place) for place, each in enumerate(words_of(text)))
        self.text, self.ents = str(text), ()

    @property
    def sents(self) -> Iterator[Document]:
        """The sentences."""
        yield self


class Pipeline:
    """As what `spacy.load` gives."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.tokenizer = self.make_doc = Document
        self.add_pipe = self.disable_pipes = self.select_pipes = lambda *_, **__: None

    def __call__(self, text: Any, **_: Any) -> Document:
        """The document of a text."""
        return Document(text)

    def pipe(self, texts: Iterable[Any], **_: Any) -> Iterator[Document]:
        """The documents of texts."""
        return map(Document, texts)


class LanguageModels(StandIn):
    """Has spaCy's models of languages that are not installed be empty ones, which take texts apart."""

    replaces = "model not found"
    voids = (told.VALUES,)

    def prepare(self) -> None:
        """Hooks the package when it is imported."""
        after("spacy", self._patch)

    def _patch(self, module: ModuleType) -> None:
        spacy: Any = module
        load = spacy.load

        def loading(name: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                return load(name, *arguments, **keywords)
            except OSError:
                if not self.sources.called_by_user():
                    raise
                self.tell(str(name), "an empty model of the language")
                return spacy.blank(str(name).partition("_")[0] or "en")

        spacy.load = loading


def _jieba() -> dict[str, Any]:
    def nothing(*_: Any, **__: Any) -> None: ...

    quiet = ("load_userdict", "initialize", "set_dictionary", "enable_parallel", "add_word", "del_word", "setLogLevel")
    cutting = ("cut", "lcut", "cut_for_search", "lcut_for_search")
    return {**dict.fromkeys(cutting, words_of), **dict.fromkeys(quiet, nothing)}


def _sacremoses() -> dict[str, Any]:
    return dict.fromkeys(("MosesTokenizer", "MosesDetokenizer", "MosesPunctNormalizer"), Moses)


HOW = "texts taken apart at spaces and marks"
NAMES: dict[str, tuple[str, Any]] = {
    "konlpy": (HOW, lambda: dict.fromkeys(KOREAN, Tagger)),
    "jieba": (HOW, _jieba),
    "MeCab": (HOW, lambda: {"Tagger": Mecab}),
    "sacremoses": (HOW, _sacremoses),
    "spacy": (HOW, lambda: {"load": Pipeline, "blank": Pipeline}),
}
"""Packages: what their names are told to be, and these names."""
