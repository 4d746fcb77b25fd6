"""PEFT: adapters for models, LoRA and others (https://huggingface.co/docs/peft/package_reference/peft_model)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Adapting, Library, Package, members
from torch_doctor.static.tables import words

_CONFIGS = """
LoraConfig AdaLoraConfig LoHaConfig LoKrConfig IA3Config OFTConfig BOFTConfig VeraConfig HRAConfig FourierFTConfig
PrefixTuningConfig PromptTuningConfig PromptEncoderConfig MultitaskPromptTuningConfig AdaptionPromptConfig
"""
_MODELS = """
PeftModel PeftModelForCausalLM PeftModelForSequenceClassification PeftModelForSeq2SeqLM PeftModelForTokenClassification
PeftModelForQuestionAnswering PeftModelForFeatureExtraction
"""
_MORE = words("modules_to_save bias trainable_token_indices layer_replication init_lora_weights **")
"""Settings by which weights of the model train as well, or are changed for the adapter."""

LIBRARY = Library(
    harmless=("peft.TaskType",),
    packages={"peft": Package(functions_of=frozenset({"mapping", "utils", "helpers"}))},
    adapters={
        "peft.get_peft_model": Adapting(settings=1),
        **dict.fromkeys(
            [f"{model}.from_pretrained" for model in members("peft", _MODELS)], Adapting(switch=("is_trainable", 3))
        ),
    },
    adapter_settings=dict.fromkeys(members("peft", _CONFIGS), _MORE),
    adapter_methods={
        "disable_adapter": "disabled within",
        **dict.fromkeys(words("disable_adapter_layers disable_adapters"), "disabled"),
        "merge_adapter": "merged",
        **dict.fromkeys(words("unmerge_adapter enable_adapter_layers enable_adapters"), "on"),
        **dict.fromkeys(words("merge_and_unload unload"), "gone"),
        **dict.fromkeys(words("set_adapter load_adapter add_adapter delete_adapter add_weighted_adapter"), "chosen"),
        **dict.fromkeys(
            words(
                """
                print_trainable_parameters get_nb_trainable_parameters save_pretrained enable_input_require_grads
                gradient_checkpointing_enable get_model_status
                """
            ),
            "kept",
        ),
    },
    freezing=dict.fromkeys(members("peft", "prepare_model_for_kbit_training prepare_model_for_int8_training"), (0, "")),
)
