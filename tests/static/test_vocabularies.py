from __future__ import annotations

import pytest

from torch_doctor.static.libraries.transformers import vocabulary


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("bert-base-uncased", ""), ("distilbert/distilbert-base-uncased", "")),
        (("bert-base-uncased", True), ("google-bert/bert-large-uncased", "")),
        (("bert-base-cased", False), ("bert-base-cased", "")),
        (("roberta-base", ""), ("FacebookAI/roberta-large", "")),
    ],
)
def test_tokenizers_with_the_same_words_are_alike(one: tuple[str, bool | str], other: tuple[str, bool | str]) -> None:
    assert vocabulary(*one) == vocabulary(*other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("bert-base-uncased", ""), ("bert-base-cased", "")),
        (("bert-base-uncased", False), ("bert-base-uncased", True)),
        (("gpt2", ""), ("roberta-base", "")),
    ],
)
def test_other_words_and_other_letters_are_told_apart(
    one: tuple[str, bool | str], other: tuple[str, bool | str]
) -> None:
    assert "" != vocabulary(*one) != vocabulary(*other) != ""


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("checkpoints/last", ""),
        ("somebody/bert-base-uncased", ""),
        ("bert-base-uncased", None),
        ("bert-base-chinese", True),
    ],
)
def test_of_other_tokenizers_nothing_is_known(name: str, lower: bool | str | None) -> None:
    assert vocabulary(name, lower) == ""
