"""What a model's name tells of its tokenizer, what serves where a class cannot read the vocabulary, and where models are."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from torch_doctor.probe.agent.stand_ins.hub import models, snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

ABSENT = "requires the protobuf library but it was not found"


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-0.5B", "meta-llama/Llama-2-7b-chat-hf", "google/gemma-2-2b-it"])
def test_models_that_are_made_to_chat_have_a_template(name: str) -> None:
    assert snapshots.CHATS.search(name)


@pytest.mark.parametrize("name", ["gpt2", "meta-llama/Llama-2-7b-hf", "bert-base-uncased", "facebook/opt-iml", "split"])
def test_other_models_have_none(name: str) -> None:
    assert not snapshots.CHATS.search(name)


@pytest.mark.parametrize("error", [ImportError(ABSENT), OSError("no such file"), TypeError("not a string")])
def test_a_class_that_cannot_read_the_vocabulary_leaves_it_to_the_fast_one(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: Any, **__: Any) -> NoReturn:
        raise error

    fast: Callable[[str], str] = "fast tokenizer of {}".format
    library = SimpleNamespace(PreTrainedTokenizerFast=SimpleNamespace(from_pretrained=fast))
    monkeypatch.setitem(sys.modules, "transformers", library)
    assert models.loaded(fails, "folder", (), {}) == "fast tokenizer of folder"


@pytest.mark.parametrize(
    "keywords",
    [
        {"device_map": "auto"},
        {"device_map": 0},
        {"device_map": {"": "cpu", "lm_head": "cuda:0"}},
        {"load_in_4bit": True},
    ],
)
def test_a_model_is_loaded_to_the_gpus_that_are_there(keywords: dict[str, Any]) -> None:
    assert models.dispatched(keywords)


@pytest.mark.parametrize("keywords", [{}, {"device_map": "cpu"}, {"device_map": {"": "cpu"}}, {"load_in_8bit": False}])
def test_a_model_is_loaded_to_the_cpu(keywords: dict[str, Any]) -> None:
    assert not models.dispatched(keywords)
