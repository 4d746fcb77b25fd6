"""Data of nltk that is not there: punctuation takes texts apart, the usual stop words are known, and words stay as they are."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


WHY = "nltk data not found"
STOP_WORDS = (
    "i me my we our you your he him his she her it its they them their what which who this that these those am is are was were "
    "be been being have has had do does did a an the and but if or because as until while of at by for with about to from in "
    "out on off over under again then once here there when where why how all any both each few more most other some such no "
    "nor not only own same so than too very can will just don should now"
).split()
PARTS_OF_SPEECH = {"ADJ": "a", "ADJ_SAT": "s", "ADV": "r", "NOUN": "n", "VERB": "v"}
"""Constants of WordNet."""


class NltkData(StandIn):
    """Stop words, a WordNet that knows no word, and sentences and words taken apart by punctuation."""

    replaces = "nltk data not found"
    voids = (told.VALUES,)

    def prepare(self) -> None:
        """Patches nltk when it is imported."""
        after("nltk.corpus.util", functools.partial(_patch_corpora, self))
        after("nltk.tokenize", functools.partial(_patch_tokenizers, self))
        after("nltk.tag", functools.partial(_patch_tags, self))
        after("nltk.downloader", functools.partial(_patch_download, self))


def _patch_download(stand_in: StandIn, module: ModuleType) -> None:
    downloader: Any = module

    def download(*arguments: Any, **_: Any) -> bool:
        what = " ".join(str(each) for each in arguments)
        stand_in.tell(f"nltk.download({what!r})", "nothing", why="the probe downloads nothing", voids=[])
        return True

    downloader.download = downloader.Downloader.download = downloader._downloader.download = download


def _patch_tokenizers(stand_in: StandIn, module: ModuleType) -> None:
    tokenize: Any = module
    for name, pattern in (("sent_tokenize", r"[^.!?]+[.!?]*"), ("word_tokenize", r"\w+|[^\w\s]")):
        setattr(tokenize, name, _apart(getattr(tokenize, name), name, re.compile(pattern), stand_in))


def _apart(real: Callable[..., Any], name: str, pattern: re.Pattern[str], stand_in: StandIn) -> Any:
    @functools.wraps(real)
    def taken_apart(text: str, *arguments: Any, **keywords: Any) -> Any:
        try:
            return real(text, *arguments, **keywords)
        except LookupError:
            stand_in.tell(f"nltk.{name}", "splitting at punctuation")
            return [part.strip() for part in pattern.findall(text) if part.strip()]

    return taken_apart


def _patch_tags(stand_in: StandIn, module: ModuleType) -> None:
    tag: Any = module
    real = tag.pos_tag

    @functools.wraps(real)
    def pos_tag(tokens: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return real(tokens, *arguments, **keywords)
        except LookupError:
            stand_in.tell("nltk.pos_tag", "a noun for each word")
            return [(each, "NN") for each in tokens]

    tag.pos_tag = pos_tag


def _patch_corpora(stand_in: StandIn, module: ModuleType) -> None:
    loader: Any = getattr(module, "LazyCorpusLoader", None)
    if loader is None:
        return
    read = loader.__getattr__

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807
        try:
            return read(self, name)
        except LookupError:
            corpus = self.__dict__.get("_LazyCorpusLoader__name")
            if corpus == "wordnet":
                stand_in.tell("nltk.corpus.wordnet", "a WordNet without words")
                return PARTS_OF_SPEECH.get(name, lambda *_, **__: [])
            if name != "words" or corpus != "stopwords":
                raise
            stand_in.tell("nltk.corpus.stopwords", f"{len(STOP_WORDS)} English stop words")
            return lambda *_, **__: list(STOP_WORDS)

    loader.__getattr__ = __getattr__
