"""Texts: tokenizers and parsers."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

LIBRARY = Library(harmless=words("nltk spacy sentencepiece jieba lxml regex tiktoken pyparsing"))
