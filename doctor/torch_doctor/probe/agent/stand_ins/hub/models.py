"""Pretrained models and tokenizers of `transformers` that are not there: the same architecture with random weights."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..cuda.places import places
from ..stand_in import StandIn
from .snapshots import Snapshots, tokenizer_class

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ..told import Teller

WHY = "the probe downloads nothing"
TOKENS = "the probe downloads nothing"
# Modules of the library → classes whose `from_pretrained` reads nothing but small files.
READING = {
    "image_processing_base": ("ImageProcessingMixin",),
    "feature_extraction_utils": ("FeatureExtractionMixin",),
    "processing_utils": ("ProcessorMixin",),
    "models.auto.image_processing_auto": ("AutoImageProcessor",),
    "models.auto.feature_extraction_auto": ("AutoFeatureExtractor",),
    "models.auto.processing_auto": ("AutoProcessor",),
    "models.auto.auto_factory": ("_BaseAutoModelClass", "_BaseAutoBackboneClass"),
}
QUANTISING = ("quantization_config", "load_in_8bit", "load_in_4bit")
ELSEWHERE = ("cpu", "disk", "meta", "mps")  # devices that are no GPU that we know
ATTENTIONS = ("eager", "sdpa")  # that a CPU has


class PretrainedModels(StandIn):
    """Models and tokenizers of `transformers`."""

    replaces = "the probe downloads nothing"
    voids = (told.WEIGHTS,)

    def prepare(self) -> None:
        """Patches `transformers`, module by module, when they are imported."""
        makes = Models(Snapshots(self.sources, self.teller), self.teller)
        for name, classes in READING.items():
            after(f"transformers.{name}", functools.partial(makes.patch, classes, makes.read))
        after("transformers.configuration_utils", makes.patch_configurations)
        after("transformers.modeling_utils", functools.partial(makes.patch, ("PreTrainedModel",), makes.model))
        after(
            "transformers.tokenization_utils_base",
            functools.partial(makes.patch, ("PreTrainedTokenizerBase",), makes.tokenizer),
        )
        after(
            "transformers.models.auto.tokenization_auto",
            functools.partial(makes.patch, ("AutoTokenizer",), makes.tokenizer),
        )


class Models:
    """Puts the made-up snapshots where the real ones would be read."""

    def __init__(self, snapshots: Snapshots, teller: Teller) -> None:
        self._snapshots = snapshots
        self._teller = teller

    def patch(self, names: tuple[str, ...], instead: Callable[..., Any], module: ModuleType) -> None:
        """Has `instead` called for the `from_pretrained` of classes."""
        for name in names:
            cls = getattr(module, name, None)
            if cls is not None and "from_pretrained" in vars(cls):
                _replace(cls, "from_pretrained", instead)

    def patch_configurations(self, module: ModuleType) -> None:
        """Patches what reads the configuration for all classes of configurations."""
        # Since version 5, and before: https://github.com/huggingface/transformers/issues/39202.
        for name in ("PreTrainedConfig", "PretrainedConfig"):
            cls = getattr(module, name, None)
            if cls is not None:
                _replace(cls, "get_config_dict", self.configuration)
                return

    # --- what is called instead, with the real function, the class, and the script's arguments ---

    def configuration(self, real: Callable[..., Any], cls: Any, name: Any, **keywords: Any) -> Any:
        """The configuration of a model that may not be there."""
        kind = getattr(cls, "model_type", "")
        return real(self._snapshots.of(name, kind, keywords.get("cache_dir")) or name, **keywords)

    def read(self, real: Callable[..., Any], _: Any, name: Any, *arguments: Any, **keywords: Any) -> Any:
        """Whatever reads the files of a model that may not be there."""
        folder = self._snapshots.of(name, cache=keywords.get("cache_dir"))
        return real(folder or name, *arguments, **keywords)

    def tokenizer(self, real: Callable[..., Any], cls: Any, name: Any, *arguments: Any, **keywords: Any) -> Any:
        """A tokenizer that may not be there."""
        folder = self._snapshots.of(name, _kind(cls), keywords.get("cache_dir"), beside=True)
        if folder is None:
            return real(name, *arguments, **keywords)
        keywords.pop("revision", None)
        made = loaded(real, folder, arguments, keywords)
        size = self._snapshots.size(folder)
        if len(made) > size:  # the class adds tokens of its own
            self._snapshots.write_vocabulary(folder, len(made) - size)
            made = loaded(real, folder, arguments, keywords)
        shown = self._snapshots.named(folder) or str(name)
        made.name_or_path = shown
        how = f"{type(made).__name__} with a synthetic vocabulary of {len(made)}"
        self._teller.stand_in(f"the tokenizer of {shown}", TOKENS, how, [told.VALUES])
        return made

    def model(self, real: Callable[..., Any], cls: Any, name: Any, *arguments: Any, **keywords: Any) -> Any:
        """A model that may not be there."""
        if name is None:
            return real(name, *arguments, **keywords)
        kind = getattr(getattr(cls, "config_class", None), "model_type", "")
        folder = self._snapshots.of(name, kind, keywords.get("cache_dir"))
        if folder is None:
            found = real(name, *arguments, **keywords)
            if dispatched(keywords):
                places.dispatch(found[0] if isinstance(found, tuple) else found)
            return found
        config = keywords.pop("config", None)
        rest = keywords
        if config is None or isinstance(config, str):
            read = {key: value for key, value in keywords.items() if key not in ("cache_dir", "revision")}
            config, rest = cls.config_class.from_pretrained(folder, return_unused_kwargs=True, **read)
        if keywords.get("attn_implementation") in ATTENTIONS:
            config._attn_implementation = keywords["attn_implementation"]
        known = inspect.signature(cls.__init__).parameters
        made = cls(config, *arguments, **{key: value for key, value in rest.items() if key in known})
        dtype = keywords.get("dtype", keywords.get("torch_dtype"))
        if getattr(dtype, "is_floating_point", False):
            made = made.to(dtype)
        shown = self._snapshots.named(folder) or str(name)
        made.config._name_or_path = made.name_or_path = shown
        smaller = self._snapshots.shrunk.get(folder)
        how = f"{cls.__name__} with random weights" + (f" ({smaller})" if smaller else "")
        self._teller.stand_in(shown, WHY, how, [told.WEIGHTS])
        made.eval()
        if dispatched(keywords):
            made = made.to("cuda")
            places.dispatch(made)
        if not keywords.get("output_loading_info"):
            return made
        return made, {"missing_keys": [], "unexpected_keys": [], "mismatched_keys": [], "error_msgs": []}


def dispatched(keywords: dict[str, Any]) -> bool:
    """Whether a model is loaded to the GPUs that are there: by `device_map`, or as what is quantised is."""
    wanted = keywords.get("device_map")
    if wanted is None:
        return any(keywords.get(name) for name in QUANTISING)
    return not all(
        str(each).startswith(ELSEWHERE) for each in (wanted.values() if isinstance(wanted, dict) else [wanted])
    )


def loaded(real: Callable[..., Any], folder: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A tokenizer from a folder; the fast one of no model in particular where its class cannot read what is there."""
    try:
        return real(folder, *arguments, **keywords)
    except (ImportError, OSError, TypeError, ValueError):  # in Python, and reads its vocabulary in another form
        from transformers import PreTrainedTokenizerFast

        return PreTrainedTokenizerFast.from_pretrained(folder)


def _replace(cls: Any, name: str, instead: Callable[..., Any]) -> None:
    """Puts a class method in the place of another, which it gets, bound to the class that is asked."""
    original = vars(cls)[name].__func__

    @functools.wraps(original)
    def called(asked: Any, path: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if path is None:
            path = keywords.pop("pretrained_model_name_or_path", None)
        return instead(functools.partial(original, asked), asked, path, *arguments, **keywords)

    setattr(cls, name, classmethod(called))


def _kind(cls: Any) -> str:
    """The type of model that a class of tokenizers is for."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    name = cls.__name__.removesuffix("Fast")
    kinds = [kind for kind in CONFIG_MAPPING_NAMES if tokenizer_class(kind).removesuffix("Fast") == name]
    own = name.removesuffix("Tokenizer").lower()
    return next((kind for kind in kinds if kind.replace("-", "").replace("_", "") == own), "")
