"""Transformers, under its former names too, and the packages whose trainers are built on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.libraries.library import (
    EVALUATING,
    EVALUATING_UNSURE,
    SENSITIVE,
    UNSURE,
    Library,
    LibraryModel,
    Package,
    members,
)
from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import LOOP, Framework, trainers
from torch_doctor.static.tables.language import ANYWHERE, NEXT

if TYPE_CHECKING:
    from torch_doctor.trace.words import Tri

# https://huggingface.co/docs/transformers/main_classes/trainer
TRANSFORMERS = Framework(
    name="transformers",
    owners=frozenset(
        {
            *words(
                """
                transformers.Trainer transformers.Seq2SeqTrainer sentence_transformers.SentenceTransformerTrainer
                trl.SFTTrainer trl.DPOTrainer trl.PPOTrainer trl.RewardTrainer trl.GRPOTrainer trl.ORPOTrainer
                trl.KTOTrainer setfit.Trainer setfit.SetFitTrainer adapters.AdapterTrainer
                """
            ),
        }
    ),
    training_hooks=frozenset({"compute_loss"}),  # also called while evaluating
    methods=dict.fromkeys(("train", "evaluate", "predict", "hyperparameter_search", "step"), LOOP),
    owns_gradients=True,
)

_TOKENIZERS = (
    "Tokenizer",
    "TokenizerFast",
    "Config",
    "Processor",
    "FeatureExtractor",
    "ImageProcessor",
    "ProcessorFast",
)
_NO_MODELS = (
    "AutoTokenizer",
    "AutoConfig",
    "GenerationConfig",
    "AutoProcessor",
    "AutoFeatureExtractor",
    "AutoImageProcessor",
)


_HEADS = ("Model", "LM", "Classification", "QuestionAnswering", "ConditionalGeneration", "PreTraining")
# Their configurations set every dropout to 0, or may (whichever model the name stands for).
_WITHOUT_DROPOUT = (
    *words("Llama Mistral Mixtral Qwen Gemma Phi3 Falcon Bloom MPT Mamba Olmo Cohere StableLm Starcoder2 DeepSeek"),
    *words("AutoModelForCausalLM ViT Dinov2 CLIP Siglip Swin ConvNext"),
)


def _built(rest: str) -> LibraryModel | None:
    # https://huggingface.co/docs/transformers/main_classes/model: from_pretrained returns the model in evaluation mode.
    owner, _, method = rest.rpartition(".")
    if not owner and method.endswith(_HEADS) and not method.startswith(("Auto", "DataCollator")):
        return UNSURE  # built from a configuration
    if not owner or owner in _NO_MODELS or owner.endswith(_TOKENIZERS):
        return None
    if method == "from_pretrained":
        return EVALUATING_UNSURE if owner.startswith(_WITHOUT_DROPOUT) else EVALUATING
    if method in ("from_config", "_from_config") and owner.startswith("AutoModel"):
        return SENSITIVE
    return None


def _built_before(rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    if last != "from_pretrained" or owner.endswith(_TOKENIZERS):
        return None
    return LibraryModel(sensitive=True, training=None)


_IN_PLACE: tuple[str, ...] = words(
    """
    Bart MBart Mvp Pegasus PegasusX BigBirdPegasus Marian Blenderbot BlenderbotSmall PLBart ProphetNet XLMProphetNet TrOCR
    Whisper Musicgen XLM XLNet TransfoXL Reformer
    """
)
"""Models whose heads for language do not move their labels, or of which that is not certain."""


def is_tokenizer(name: str) -> bool:
    """Whether a call of this name returns a tokenizer."""
    package, _, rest = name.partition(".")
    owner, _, method = rest.rpartition(".")
    named = owner if method == "from_pretrained" else method if not owner else ""
    return package == "transformers" and named.endswith(("Tokenizer", "TokenizerFast"))


_WORDS: dict[str, str] = {
    **dict.fromkeys(words("bert-base-uncased bert-large-uncased distilbert-base-uncased"), "BERT, lower case"),
    **dict.fromkeys(words("bert-base-cased bert-large-cased distilbert-base-cased"), "BERT"),
    **dict.fromkeys(words("bert-base-multilingual-cased distilbert-base-multilingual-cased"), "multilingual BERT"),
    "bert-base-chinese": "Chinese BERT",
    **dict.fromkeys(words("roberta-base roberta-large distilroberta-base"), "RoBERTa"),
    **dict.fromkeys(words("xlm-roberta-base xlm-roberta-large"), "XLM-RoBERTa"),
    **dict.fromkeys(words("gpt2 gpt2-medium gpt2-large gpt2-xl distilgpt2"), "GPT-2"),
    **dict.fromkeys(words("albert-base-v1 albert-base-v2 albert-large-v2"), "ALBERT"),
    **dict.fromkeys(words("t5-small t5-base t5-large"), "T5"),
    **dict.fromkeys(words("xlnet-base-cased xlnet-large-cased"), "XLNet"),
}
"""The vocabularies of tokenizers, as in their `config.json` and `vocab` files at https://huggingface.co, by their names."""
_OWNERS = words("google-bert distilbert FacebookAI openai-community albert google-t5 xlnet")
"""Who has these tokenizers under the same names."""
_LOWER = {"BERT, lower case": True, "BERT": False, "multilingual BERT": False}
"""Whether a tokenizer with such a vocabulary makes texts lower case where nothing else is asked for."""


def vocabulary(given: str, lower: Tri | str) -> str:
    """What a pretrained tokenizer of this name makes of texts; "" where that is not known.

    `lower` is its `do_lower_case`: "" where it is not given, and None where it may be anything.
    """
    owner, _, name = given.rpartition("/")
    known = _WORDS.get(name, "") if owner in ("", *_OWNERS) else ""
    if not known or lower == "":
        return known
    if lower is None or known not in _LOWER:
        return ""
    return known if lower is _LOWER[known] else f"{known}, with `do_lower_case={lower}`"


def token_loss(name: str, given: str) -> str:
    """Where the loss looks of the model that a call of this name builds, with this text first: a word of `tables/language.py`.

    It is "" for a model without a loss of tokens. All of these losses leave labels of -100 out.
    """
    package, _, rest = name.partition(".")
    owner, _, method = rest.rpartition(".")
    if package != "transformers":
        return ""
    name = owner if method in ("from_pretrained", "from_config", "_from_config") else method if not owner else ""
    if name.endswith(("ForCausalLM", "LMHeadModel")):
        in_place = name.startswith(_IN_PLACE) or any(each.lower() in given.lower() for each in _IN_PLACE)
        return ANYWHERE if in_place else NEXT
    # The loss of taggers left out what the attention mask leaves out, too, before version 4.18.
    ends = ("ForConditionalGeneration", "ForSeq2SeqLM", "ForMaskedLM", "EncoderDecoderModel")
    return ANYWHERE if name.endswith((*ends, "MarianMTModel")) else ""


def holds_settings(name: str) -> bool:
    """Whether a call of this name builds the settings of a trainer, or the configuration of a model."""
    package, _, rest = name.partition(".")
    return package in ("transformers", "trl") and "." not in rest and rest.endswith(("TrainingArguments", "Config"))


_DIMS_OF_SCORES = {
    **dict.fromkeys(
        words("SequenceClassification ImageClassification VideoClassification MultipleChoice NextSentencePrediction"), 2
    ),
    **dict.fromkeys(words("TokenClassification CausalLM MaskedLM ConditionalGeneration Seq2SeqLM LMHeadModel CTC"), 3),
}
"""How many dimensions the `logits` of a model have, by the end of its name: rows, perhaps tokens, and classes."""


def dims_of_scores(name: str) -> int:
    """How many dimensions the `logits` have that the model gives which a call of this name builds; 0 where that is not known."""
    package, _, rest = name.partition(".")
    owner, _, method = rest.rpartition(".")
    name = owner if method in ("from_pretrained", "from_config", "_from_config") else method if not owner else ""
    known = (dims for end, dims in _DIMS_OF_SCORES.items() if package == "transformers" and name.endswith(end))
    return next(known, 0)


_ENCODERS: tuple[str, ...] = words(
    """
    Bert DistilBert Roberta XLMRoberta XLMRobertaXL Albert Electra Camembert Deberta DebertaV2 MPNet Ernie MobileBert
    SqueezeBert RemBert MegatronBert ConvBert Nystromformer RoFormer Funnel
    """
)
_OF_ENCODERS = words(
    "Model ForSequenceClassification ForTokenClassification ForQuestionAnswering ForMaskedLM ForMultipleChoice ForPreTraining"
)
_ENCODER_CLASSES = frozenset(f"{model}{head}" for model in _ENCODERS for head in _OF_ENCODERS)
_AUTO_HEADS = frozenset(words("Model")) | frozenset(f"Model{head}" for head in _OF_ENCODERS if head != "Model")
_ENCODER_WORDS = words("bert electra camembert mpnet ernie")
"""What the names of their weights contain; no name of the weights of another kind of model does."""


def attends_to_all(name: str, given: str) -> bool:
    """Whether the model that a call of this name builds, with this text first, is an encoder.

    Each token of its input attends to all others if no `attention_mask` says which of them are padding.
    """
    package, _, rest = name.partition(".")
    owner, _, method = rest.rpartition(".")
    name = owner if method in ("from_pretrained", "from_config", "_from_config") else method if not owner else ""
    if package != "transformers":
        return False
    automatic = name.removeprefix("Auto") in _AUTO_HEADS and name.startswith("Auto")
    return name in _ENCODER_CLASSES or (automatic and any(word in given.lower() for word in _ENCODER_WORDS))


PREPARING_TRAINERS = frozenset(members("trl", "SFTTrainer"))
"""Trainers of causal models, or of their names, that make rows of texts themselves, and mask what they fill up."""
GENERATING_TRAINER = "transformers.Seq2SeqTrainer"
"""The trainer that hands the texts that its model writes to the function which scores them, if it is told so."""
LABEL_TRAINERS = dict.fromkeys(
    (*members("transformers", "Trainer Seq2SeqTrainer"), *PREPARING_TRAINERS),
    words("model args data_collator train_dataset eval_dataset"),
)
"""Trainers that give their rows to the model with its labels, and the positional parameters of each."""
KEPT_ARGUMENTS = words("model args data_collator train_dataset eval_dataset compute_metrics")
"""Arguments that such a trainer keeps as attributes."""
TRAINER_METHODS = frozenset(words("train evaluate predict"))
"""Its methods that train or score."""
TRAINER_PARTS = frozenset(words("_prepare_inputs compute_loss training_step create_optimizer"))
"""Its methods that do a part of that, which a class of the project may call."""
LABEL_COLLATORS = frozenset(
    members("transformers", "default_data_collator DataCollatorWithPadding DataCollatorForSeq2Seq")
)
"""Functions and classes that put rows together, and leave their labels what they are."""


# The attributes of models, as in https://huggingface.co/docs/transformers/model_doc/bert: the body with its dropout or
# without, by the model, and heads that are one layer.
_PARTS: dict[str, Tri] = {
    **dict.fromkeys(
        words(
            """
            bert roberta distilbert albert electra deberta xlnet bart t5 transformer model base_model encoder decoder
            embeddings encoder_decoder vit deit swin beit dinov2 convnext wav2vec2 hubert whisper clip text_model
            vision_model longformer funnel mpnet camembert layer layers h block blocks shared wte wpe attention
            """
        ),
        True,
    ),
    **dict.fromkeys(words("lm_head qa_outputs score pooler visual_projection text_projection"), False),
    "classifier": None,
}

LIBRARY = Library(
    parts={"transformers.": _PARTS},
    packages={"transformers": Package(functions_of=frozenset({"optimization", "trainer_utils"}))},
    harmless=members(
        "transformers",
        """
        set_seed AutoTokenizer AutoConfig AutoProcessor logging utils.logging AutoImageProcessor HfArgumentParser
        AutoFeatureExtractor BertTokenizer GPT2Tokenizer TrainingArguments DataCollatorWithPadding
        DataCollatorForLanguageModeling
        """,
    ),
    frameworks=(
        TRANSFORMERS,
        trainers("sentence_transformers", "sentence_transformers.SentenceTransformer"),
    ),
    optimizers=(
        *members("transformers", "AdamW Adafactor BertAdam"),
        *members("pytorch_transformers", "AdamW optimization.AdamW"),
        *members("pytorch_pretrained_bert", "BertAdam optimization.BertAdam OpenAIAdam"),
    ),
    schedulers=("transformers.get_scheduler",),
    scheduler_functions=("transformers", "pytorch_transformers"),
    schedules=("pytorch_transformers.optimization", "pytorch_pretrained_bert.optimization"),
    models={"sentence_transformers.SentenceTransformer": LibraryModel(sensitive=True, training=None)},
    pretrained={"sentence_transformers.SentenceTransformer": {"model_name_or_path": 0}},
    builders={
        "transformers": _built,
        "pytorch_transformers": _built_before,
        "pytorch_pretrained_bert": _built_before,
    },
    wrappers={"transformers.BetterTransformer.transform": 0},
)
