"""Which architecture the name of a pretrained model means, and its sizes, as far as the configuration's defaults are others."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from ..source import spelled

if TYPE_CHECKING:
    from ..source import Sources

# Words in names that are not the name of the architecture, and what it is.
NAMED = {
    "deberta-v3": "deberta-v2",
    "distilgpt": "gpt2",
    "dialogpt": "gpt2",
    "distilroberta": "roberta",
    "xlm-r-": "xlm-roberta",
    "minilm": "bert",
    "bge-": "bert",
    "e5-": "bert",
    "pythia": "gpt_neox",
    "alpaca": "llama",
    "vicuna": "llama",
    "smollm": "llama",
    "opus-mt": "marian",
    "pegasus": "pegasus",
    "codet5": "t5",
    "mt0-": "mt5",
    "phi-1": "phi",
    "phi-2": "phi",
}
# What differs from the defaults for the usual models of a type.
# Sizes are those of `config.json` in the models' repositories, https://huggingface.co/NAME.
USUAL: dict[str, dict[str, Any]] = {
    "roberta": {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "xlm-roberta": {"vocab_size": 250002, "max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "camembert": {"vocab_size": 32005, "max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "t5": {"decoder_start_token_id": 0},
    "mt5": {"decoder_start_token_id": 0},
    "longformer": {"vocab_size": 50265, "max_position_embeddings": 4098, "type_vocab_size": 1},
    "albert": {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
    "deberta-v2": {
        "vocab_size": 128100,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "type_vocab_size": 0,
    },
    "gpt_neo": {"hidden_size": 768, "num_heads": 12},
    "marian": {"d_model": 512, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 58101},
}
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
T5_LARGE = {"d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16}
# Pattern in the last part of a name → sizes.
SIZED: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"^(bert|roberta|xlm-roberta|deberta|electra)\S*-large", LARGE),
    (
        r"^electra-base",
        {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
    ),
    (r"bert-tiny", {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}),
    (r"bert-mini", {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}),
    (r"bert-small", {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 2048}),
    (r"bert-medium", {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "intermediate_size": 2048}),
    (r"minilm-l6", {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}),
    (r"minilm-l12", {"hidden_size": 384, "num_hidden_layers": 12, "intermediate_size": 1536}),
    (r"bert-base-cased", {"vocab_size": 28996}),
    (r"bert-base-chinese", {"vocab_size": 21128}),
    (r"bert-base-multilingual-cased", {"vocab_size": 119547}),
    (r"bert-base-multilingual-uncased", {"vocab_size": 105879}),
    (r"distilroberta|distilgpt2", {"num_hidden_layers": 6}),
    (r"gpt2-medium", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    (r"gpt2-large", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    (r"gpt2-xl", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    (r"t5\S*-base", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    (r"t5\S*-large", T5_LARGE),
    (r"(bart|pegasus)\S*-base", {"d_model": 768, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}),
    (r"vit-large", LARGE),
    (r"vit\S*-patch32", {"patch_size": 32}),
)
# A model for this machine: what is deeper than it has to be has fewer layers, what is wider than `WIDEST` is small.
DEPTHS = (
    "num_hidden_layers",
    "num_layers",
    "num_decoder_layers",
    "n_layer",
    "n_layers",
    "encoder_layers",
    "decoder_layers",
)
FEWEST, WIDEST = 2, 1_600
FEWER_WORDS = 8_192  # the loss over a vocabulary is what a step of a small model costs
NEAR = 64  # numbers this close to the size of the vocabulary are meant for it
SMALL: dict[str, int] = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "ffn_dim": 512,
    "word_embed_proj_dim": 256,
}
LOADING = ("from_pretrained", "from_config")
STACKS = frozenset({"layer", "layers", "h", "block", "blocks"})
NUMBERED = re.compile(r"\b(?:layers?|h|blocks?)\.\d+")


def architecture(name: str, known: Any) -> str | None:
    """The type of model that a name means; None where it means none of the `known` ones."""
    lowered = name.lower()
    for word, kind in NAMED.items():
        if word in lowered and kind in known:
            return kind
    flat = lowered.replace("_", "-")
    fitting = [kind for kind in known if kind.replace("_", "-") in flat]
    return max(fitting, key=len) if fitting else None


def beside(sources: Sources, known: Any) -> str | None:
    """The type of the first model that the user's code names otherwise: by `from_pretrained`, or by its class."""
    for tree in sources.trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOADING:
                names = [each.value for each in node.args[:1] if isinstance(each, ast.Constant)]
                for name in (*names, spelled(node.func.value)):
                    kind = architecture(str(name), known)
                    if kind is not None and not str(name).startswith("Auto"):
                        return kind
    return None


def sizes(kind: str, name: str) -> dict[str, Any]:
    """Settings of the configuration for the model of this name that are not its defaults."""
    last = name.rstrip("/").rpartition("/")[2].lower()
    found = dict(USUAL.get(kind, {}))
    for pattern, settings in SIZED:
        if re.search(pattern, last):
            found.update(settings)
    return found


def fitted(configuration: Any, sources: Sources) -> dict[str, Any]:
    """Settings that make a model fit for a few steps on this machine, of those that `configuration` has."""
    given = configuration.to_dict()
    found: dict[str, Any] = {}
    width = max((given.get(key) or 0 for key in ("hidden_size", "d_model", "n_embd")), default=0)
    least = _least(sources)
    if isinstance(width, int) and width > WIDEST:
        found.update({key: value for key, value in SMALL.items() if given.get(key) is not None})
    found.update({key: least for key in DEPTHS if least and isinstance(given.get(key), int) and given[key] > least})
    words = given.get("vocab_size")
    if isinstance(words, int) and words > FEWER_WORDS and not _counts_on(words, sources):
        found["vocab_size"] = FEWER_WORDS
        for key, value in given.items():  # `eos_token_id` and its like
            if key.endswith("_token_id") and isinstance(value, int) and value >= FEWER_WORDS:
                found[key] = FEWER_WORDS - 1
    return found


def _counts_on(words: int, sources: Sources) -> bool:
    """Whether the user's code has a number that is the size of the vocabulary, or one of its last tokens."""
    return any(
        isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value - words) <= NEAR
        for tree in sources.trees()
        for node in ast.walk(tree)
    )


def _least(sources: Sources) -> int:
    """How many layers a model needs; 0 where the script counts on all of them."""
    least = FEWEST
    for tree in sources.trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NUMBERED.search(node.value):
                return 0
            if isinstance(node, ast.Subscript):
                word = spelled(node.value)
                if word in STACKS:
                    return 0
                if word == "hidden_states":
                    least = 4
    return least
