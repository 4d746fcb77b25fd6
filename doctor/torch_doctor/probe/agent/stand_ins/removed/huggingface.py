"""What transformers had: arguments of training, an optimizer, and methods of tokenizers."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any

from ... import imports
from .names import Removed

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
}
GONE = frozenset(
    "overwrite_output_dir logging_dir evaluate_during_training fp16_opt_level fp16_backend half_precision_backend tpu_num_cores "
    "group_by_length save_safetensors jit_mode_eval use_ipex past_index use_mps_device push_to_hub_token warmup_ratio "
    "prediction_loss_only include_inputs_for_metrics".split()
)


class TransformersNames(Removed):
    """Names, arguments and methods that transformers had."""

    def prepare(self) -> None:
        """Patches its modules when they are imported."""
        imports.after("transformers", self._patch_names)
        imports.after("transformers.training_args", functools.partial(self._patch, "TrainingArguments", RENAMED, GONE))
        renamed = {"tokenizer": "processing_class"}
        imports.after("transformers.trainer", functools.partial(self._patch, "Trainer", renamed, frozenset()))
        imports.after("transformers.tokenization_utils_base", self._patch_tokenizers)

    def _patch(self, cls: str, renamed: dict[str, str], gone: frozenset[str], module: ModuleType) -> None:
        """Has a class take arguments by the names that they had, and leave out those that are gone."""
        found: Any = vars(module).get(cls)
        if found is None:
            return
        build = found.__init__
        parameters = inspect.signature(build).parameters

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            for name in [name for name in keywords if name not in parameters and (name in renamed or name in gone)]:
                value, new = keywords.pop(name), renamed.get(name)
                self.took_argument(cls, name, new if new in parameters else None, module.__name__)
                if new is not None and new in parameters:
                    keywords.setdefault(new, value)
            build(this, *arguments, **keywords)

        found.__init__ = built

    def _patch_names(self, module: ModuleType) -> None:
        library: Any = sys.modules.get(module.__name__, module)  # it puts another in its place while it is imported
        inner = type(library).__getattr__ if hasattr(type(library), "__getattr__") else None

        def optimizer() -> Any:
            import torch

            class AdamW(torch.optim.AdamW):
                """As torch has it, without what only transformers knew."""

                def __init__(self, params: Any, lr: float = 1e-3, *_: Any, **keywords: Any) -> None:
                    keywords.pop("correct_bias", None)
                    keywords.pop("no_deprecation_warning", None)
                    super().__init__(params, lr, **{"weight_decay": 0.0, **keywords})

            return AdamW

        if inner is not None and _is_missing(library, "AdamW"):
            library.AdamW = _Once(self, optimizer)()

    def _patch_tokenizers(self, module: ModuleType) -> None:
        base: Any = vars(module).get("PreTrainedTokenizerBase")
        if base is None:
            return
        call = base.__call__

        @functools.wraps(call)
        def called(this: Any, *arguments: Any, **keywords: Any) -> Any:
            if "pad_to_max_length" in keywords:
                self.was_used("pad_to_max_length=…", "padding='max_length'")
                if keywords.pop("pad_to_max_length"):
                    keywords.setdefault("padding", "max_length")
                    keywords.setdefault("truncation", True)
            return call(this, *arguments, **keywords)

        base.__call__ = called
        for name in ("encode_plus", "batch_encode_plus"):
            if not hasattr(base, name):
                setattr(base, name, self._method(name))

    def _method(self, name: str) -> Callable[..., Any]:
        def encoded(this: Any, *arguments: Any, **keywords: Any) -> Any:
            self.was_used(f"tokenizer.{name}", "the tokenizer itself")
            return this(*arguments, **keywords)

        return encoded


class _Once:
    """Makes a class that was removed, and tells of it when it is built."""

    def __init__(self, removed: Removed, make: Callable[[], Any]) -> None:
        self._removed, self._make = removed, make

    def __call__(self) -> Any:
        """The class."""
        cls = self._make()
        build, removed = cls.__init__, self._removed

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            removed.was_used("transformers.AdamW", "torch.optim.AdamW")
            build(this, *arguments, **keywords)

        cls.__init__ = built
        return cls


def _is_missing(module: Any, name: str) -> bool:
    try:
        getattr(module, name)
    except (AttributeError, ImportError):
        return True
    return False
