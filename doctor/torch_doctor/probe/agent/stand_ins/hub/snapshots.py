"""The files that a model's repository on the hub would give: made up in a folder, for models that are not in the cache."""

from __future__ import annotations

import importlib
import json
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from . import architectures, vocabulary
from .layouts import Layout, layout_of

if TYPE_CHECKING:
    from ..source import Sources
    from ..told import Teller

NORMAL, LONGEST = 512, 2_048  # tokens of a text: where the configuration does not say, and at most
POSITIONS = ("max_position_embeddings", "n_positions")
CHATS = re.compile(r"(^|[^a-z])(chat|instruct|it|zephyr|qwen[\d.]*)($|[^a-z])", re.IGNORECASE)
"""What is in the names of models that come with a template for conversations."""
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}{{ eos_token or '' }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
LOWER = frozenset({"electra", "mobilebert", "albert", "funnel", "mpnet"})


class Vocabulary(NamedTuple):
    """What a made-up vocabulary is like."""

    layout: Layout
    size: int
    lower: bool


class Snapshots:
    """Folders with the configuration, the vocabulary and the like of models, each made once."""

    def __init__(self, sources: Sources, teller: Teller) -> None:
        self._sources = sources
        self._teller = teller
        self._folders: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}
        self._vocabularies: dict[str, Vocabulary] = {}
        self.shrunk: dict[str, str] = {}

    def named(self, path: Any) -> str | None:
        """The name of the model whose made-up folder this is."""
        return self._names.get(str(path))

    def of(self, name: Any, kind: str = "", cache: Any = None, *, beside: bool = False) -> str | None:
        """The folder that stands in for a model's repository; None where the real files are there.

        Args:
            name: the model as the script calls it.
            kind: the type of model, where the class that loads it tells.
            cache: the folder that the script names for its cache.
            beside: whether the type of another model that the script names will do.

        Raises:
            OSError: the name does not tell the architecture.
        """
        if str(name) in self._names:
            return str(name)
        if not isinstance(name, (str, os.PathLike)) or is_there(os.fspath(name), cache):
            return None
        name = os.fspath(name)
        from transformers import CONFIG_MAPPING

        found = kind if kind in CONFIG_MAPPING else architectures.architecture(name, list(CONFIG_MAPPING.keys()))
        if found is None and beside:
            found = architectures.beside(self._sources, list(CONFIG_MAPPING.keys()))
        if found is None:
            text = f"the script loads {name}, which was not found, and its architecture is unknown: download it first"
            self._teller.missing(name, text)
            raise OSError(text)
        if (name, found) not in self._folders:
            folder = self._folders[name, found] = tempfile.mkdtemp(prefix="model-")
            self._names[folder] = name
            self._write(folder, found, name, CONFIG_MAPPING[found])
        return self._folders[name, found]

    def _write(self, folder: str, kind: str, name: str, configuration: Any) -> None:
        settings = architectures.sizes(kind, name)
        whole = configuration(**settings)
        fewer = architectures.fitted(whole, self._sources)
        config = configuration(**{**settings, **fewer}) if fewer else whole
        given = {**config.to_dict(), "model_type": kind}
        for key in ("id2label", "label2id", "transformers_version"):  # they follow from what the script gives
            given.pop(key, None)
        if isinstance(given.get("vocab_size"), int):
            layout = layout_of(kind, tokenizer_class(kind))
            special = {f"{key}_id": place % given["vocab_size"] for key, (_, place) in layout.special.items()}
            given.update({key: place for key, place in special.items() if given.get(key) is not None})
        _write(folder, "config.json", json.dumps(given, default=str))
        before = whole.to_dict()
        self.shrunk[folder] = ", ".join(
            f"{key} {value} for {before[key]}" for key, value in fewer.items() if not key.endswith("_token_id")
        )
        _write(folder, "preprocessor_config.json", json.dumps(_preprocessor(kind)))
        if isinstance(given.get("vocab_size"), int):
            self._write_tokenizer(folder, kind, name, given)

    def _write_tokenizer(self, folder: str, kind: str, name: str, given: dict[str, Any]) -> None:
        cls = tokenizer_class(kind)
        layout = layout_of(kind, cls)
        longest = next((given[key] for key in POSITIONS if isinstance(given.get(key), int)), NORMAL)
        lower = "uncased" in name.lower() or kind in LOWER
        special = {key: token for key, (token, _) in layout.special.items()}
        types = ["token_type_ids"] * ((given.get("type_vocab_size") or 0) > 1)
        settings = {
            **special,
            "model_max_length": min(longest - longest % 8, LONGEST),  # some count on from the padding's place
            "do_lower_case": lower,
            "tokenizer_class": cls,
            "padding_side": "left" if layout.left else "right",
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", *types, "attention_mask"],
        }
        if CHATS.search(name):
            settings["chat_template"] = TEMPLATE
        self._vocabularies[folder] = Vocabulary(layout, given["vocab_size"], lower=lower)
        self.write_vocabulary(folder, 28 * (kind == "t5"))  # its model's is rounded up
        _write(folder, "tokenizer_config.json", json.dumps(settings))
        _write(folder, "special_tokens_map.json", json.dumps(special))

    def size(self, folder: str) -> int:
        """How many tokens the model of a folder knows."""
        known = self._vocabularies.get(folder)
        return known.size if known is not None else 0

    def write_vocabulary(self, folder: str, less: int) -> None:
        """Writes the vocabulary, with so many tokens less than the model knows."""
        layout, size, lower = self._vocabularies[folder]
        text = vocabulary.written(layout, size - less, lower=lower)
        _write(folder, "tokenizer.json", text)
        model = json.loads(text)["model"]
        if layout.model == "wordpiece":
            _write(folder, "vocab.txt", "".join(f"{token}\n" for token in model["vocab"]))
        elif layout.model == "bytes":
            merges = (pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"])
            _write(folder, "vocab.json", json.dumps(model["vocab"]))
            _write(folder, "merges.txt", "#version: 0.2\n" + "".join(f"{pair}\n" for pair in merges))


def is_there(name: str, cache: Any = None) -> bool:
    """Whether a name is a path of the script's, or in the cache of the hub."""
    from huggingface_hub import constants

    if os.path.lexists(name) or not name:
        return True
    folder = f"models--{name.replace('/', '--')}"
    return any(
        os.path.isdir(os.path.join(os.fspath(each), folder, "snapshots"))
        for each in (cache, constants.HF_HUB_CACHE)
        if each
    )


def tokenizer_class(kind: str) -> str:
    """The class of the tokenizers for a type of model, as the library's own table has it."""
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    names: Any = TOKENIZER_MAPPING_NAMES.get(kind)
    if isinstance(names, (list, tuple)):
        names = next((each for each in reversed(names) if each), None)
    return names or "PreTrainedTokenizerFast"


def _preprocessor(kind: str) -> dict[str, Any]:
    """What tells the classes of processors which of them is meant; their settings are the defaults."""
    found: dict[str, Any] = {}
    for module, table, key in (
        ("image_processing_auto", "IMAGE_PROCESSOR_MAPPING_NAMES", "image_processor_type"),
        ("feature_extraction_auto", "FEATURE_EXTRACTOR_MAPPING_NAMES", "feature_extractor_type"),
    ):
        names = getattr(importlib.import_module(f"transformers.models.auto.{module}"), table, {}).get(kind)
        if isinstance(names, dict):
            names = list(names.values())
        if isinstance(names, (list, tuple)):
            names = next((each for each in names if each), None)
        if names:
            found[key] = names
    return found


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)
