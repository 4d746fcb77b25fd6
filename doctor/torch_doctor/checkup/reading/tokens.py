"""The words of a sentence: split, stemmed, and corrected where one is misspelt."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from torch_doctor.checkup.reading.figures import spoken

if TYPE_CHECKING:
    from collections.abc import Collection

BREAK = "|"
"""Stands for punctuation that ends a clause."""
NOT = "not"
ALIKE, LONG = 0.81, 5
"""How much of two words is the same where one is a misspelt other, and how many letters such a word has at least."""
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z][a-z]{2,})")
_NEGATED = re.compile(
    r"\b(?:(?:do|does|did|is|was|are|were|has|have|had|would|should|could|must|need|ca|ai)n['\u2019\u00b4`]?t"
    r"|wo(?:n['\u2019\u00b4`]t|nt)|dosen['\u2019]?t|does['\u2019]nt|do['\u2019]nt|is['\u2019]nt|can['\u2019]t|cant|cannot)\b"
)
_LOSS = re.compile(r"\b[A-Z]\w*Loss\b")
_MODE = re.compile(r"\b(?:\w+\.)?(eval|train)\(\s*\)|\.(eval|train)\b")
_FROZEN = re.compile(r"\brequires? grads?\b[^.;,?!]{0,20}?\bfalse\b")
_MARK = re.compile(r"<(\w+)>")
_SIGNS = {"->": " , ", "=>": " , ", "<": " less than ", ">": " greater than "}
"""What is written in place of signs."""
_WORD = re.compile(
    r"""
    (?P<word> [a-z]+ (?:[0-9]+[a-z]*)? )
    | (?P<number> \d+ (?:[.,]\d+)* (?:e-?\d+)? ) (?P<percent> \s*% | \s*percent\b )?
    | (?P<break> [,;:?!\n\u2013\u2014] | \.(?=\s|$) | (?<=\s)\( | \)(?=\s) | \s-+\s | \u2192 )
    """,
    re.VERBOSE,
)
_FORMS = {
    "became": "become", "got": "get", "gotten": "get", "went": "go", "goes": "go", "gone": "go", "rose": "rise", "fell": "fall",
    "grew": "grow", "kept": "keep", "began": "begin", "took": "take", "froze": "freeze",
}  # fmt: skip
"""Forms that no ending makes."""
_VOWEL = re.compile(r"[aeiouy]")
LARGE = 1000
"""From which on a number that is written with an exponent is called high."""
GOOD, BAD = 90, 70
"""Per cent: from which on a score is called high, and up to which low."""
_COMMON = """
about above after again alone along already always among another around because before below better between both
bring broken build built called cause chance charge check clear close coming complete could create custom different
doing during either enough error every example explain false faster first found given giving graph great group guess
happen happens having hello helps image inside issue itself large later lead leading leads least leave length letter
level light limit little local longer looks lower making matter maybe meaning means might modal mode much multi
never night normal nothing number often older other others output paper parts place please point possible pretrained
pretty print problem program project question quite rather ready reason recent recently resume right round scale
score scores script scripts second seconds sense shape shapes share short should shown simple since single small
smaller someone something sometimes speech spend split stage start state stated steps still store stores strange
string strong style super sure table taken taking target tensor term their there these theta thing things think
those thread three through thus titles today together tokens topic total touch trace train trend trial tried tries
truth trying turn types under units until upper usage using usual value values version video views wanted watch wave
weird where whether which while white whole whose windows within without words works world would write written wrong
years yesterday
"""
COMMON = frozenset(_COMMON.split())
"""Words that are spelt as they are meant, however near to one of the lexicon."""


def tokens(said: str) -> list[str]:
    """The words of a sentence in lower case, its numbers, and `BREAK` for what divides clauses."""
    text = _MODE.sub(r" \1\2 mode ", _LOSS.sub("loss", said))
    text = spoken(_HUMPS.sub(" ", text.replace("_", " ")).lower())
    text = _FROZEN.sub(" requires grad false ", text)
    text = _MARK.sub(r" \1 ", text)
    for sign, words in _SIGNS.items():
        text = text.replace(sign, words)
    text = _NEGATED.sub(NOT, text)
    text = re.sub(r"(?<=\s)-(?=\d)", " negative ", text)
    text = re.sub(r"['\u2019](?:s|re|m|ve|ll|d)\b", "", text)
    return [_token(match) for match in _WORD.finditer(text)]


def _token(match: re.Match[str]) -> str:
    if match["number"]:
        return _number(match["number"], percent=bool(match["percent"]))
    return match["word"] or BREAK


def _number(text: str, *, percent: bool) -> str:
    """A whole number as it is, 0 in whatever form, and a percentage by whether it is high or low."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return "number"
    if number == 0:
        return "0"
    if number >= LARGE and "e" in text:
        return "high"
    if percent:
        return "high" if number >= GOOD else "lowish" if number <= BAD else "number"
    return text


def stem(word: str) -> str:
    """A word without what its forms add."""
    word = _FORMS.get(word, word)
    if len(word) <= 3:  # noqa: PLR2004 - so short words have no endings
        return word
    if len(word) > 6:  # noqa: PLR2004 - as in "realise"; "noise" and "raise" are no verbs of this kind
        word = re.sub(r"is(e|es|ed|er|ing|ation)$", r"iz\1", word)
    word = re.sub(r"ies$", "y", word)
    word = re.sub(r"(ss|sh|ch|x)es$", r"\1", word)
    word = re.sub(r"(?<=[^su])s$|(?<=^..u)s$", "", word)
    word = re.sub(r"(?<=[a-z]{3})ly$", "", word)
    without = re.sub(r"(ing|ed)$", "", word)
    if without != word and len(without) > 2 and _VOWEL.search(without):  # noqa: PLR2004 - "thing" and "need" stay
        word = re.sub(r"([bdgmnprt])\1$", r"\1", without)
    word = re.sub(r"(?<=[a-z]{3}[st])ion$", "", word)
    return re.sub(r"(?<=[a-z]{3})e$", "", word)


def corrected(word: str, known: Collection[str]) -> str:
    """The word of the lexicon that is meant by one that is not in it; the word itself where none is near."""
    if len(word) < LONG or word in COMMON:
        return word
    near = [each for each in known if each[0] == word[0] and abs(len(each) - len(word)) < 3]  # noqa: PLR2004 - letters
    swapped = (each for each in near if len(each) == len(word) and sorted(each) == sorted(word))
    return next(swapped, None) or next(iter(difflib.get_close_matches(word, near, n=1, cutoff=ALIKE)), word)
