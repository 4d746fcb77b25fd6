"""timm: models of pictures with pretrained weights, and what trains them."""

from __future__ import annotations

from torch_doctor.static.libraries.library import SENSITIVE, UNSURE, Library, LibraryModel, Package, members
from torch_doctor.static.tables import words

_HELPERS = frozenset(("layers", "features", "helpers", "hub", "registry"))
"""Modules of `timm.models` whose functions build no model; so do those whose names begin with `_`."""
_ASKING = ("is_", "list_", "load_", "get_", "register_", "checkpoint", "named_", "model_", "group_")

# https://huggingface.co/docs/timm/models: families whose layers are normalised by batch norm.
_WITH_BATCH_NORM = words(
    """
    resnet resnext wide_resnet seresnet seresnext skresnet ecaresnet res2net resnest rexnet repvgg regnetx regnety
    efficientnet tf_efficientnet mobilenet tf_mobilenet mnasnet semnasnet mixnet tf_mixnet fbnet spnasnet tinynet lcnet
    hardcorenas ghostnet densenet dpn dla hrnet inception_v inception_resnet xception nasnet pnasnet selecsls vovnet
    ese_vovnet cspresnet cspdarknet darknet legacy_seresnet legacy_senet vgg11_bn vgg13_bn vgg16_bn vgg19_bn
    """
)
# `get_classifier()` of the families: these call their last linear layer so.
_WITH_FC = "resnet resnext wide_resnet seresnet seresnext skresnet ecaresnet res2net resnest"
_WITH_CLASSIFIER = """
efficientnet tf_efficientnet mobilenet tf_mobilenet mnasnet semnasnet mixnet tf_mixnet fbnet spnasnet tinynet lcnet
hardcorenas ghostnet densenet
"""
_OTHER_NORMS = ("resnetv2", "_gn", "_evos", "_frn")


def _built(rest: str) -> LibraryModel | None:
    owner, _, last = rest.rpartition(".")
    package, *inner = owner.split(".")
    if package != "models" or any(part in _HELPERS or part.startswith("_") for part in inner):
        return None
    if last == "*":
        return UNSURE
    if not last.islower() or last.startswith(_ASKING):
        return None
    return SENSITIVE if last.startswith(_WITH_BATCH_NORM) and not any(norm in last for norm in _OTHER_NORMS) else UNSURE


LIBRARY = Library(
    aliases={
        "timm.models.create_model": "timm.create_model",
        "timm.models.factory.create_model": "timm.create_model",
        "timm.models._factory.create_model": "timm.create_model",
        "timm.models.factory.create_optimizer": "timm.optim.create_optimizer",
        "timm.optim.optim_factory.create_optimizer": "timm.optim.create_optimizer",
        "timm.optim.optim_factory.create_optimizer_v2": "timm.optim.create_optimizer_v2",
        "timm.optim._optim_factory.create_optimizer_v2": "timm.optim.create_optimizer_v2",
        "timm.scheduler.scheduler_factory.create_scheduler": "timm.scheduler.create_scheduler",
        "timm.scheduler.scheduler_factory.create_scheduler_v2": "timm.scheduler.create_scheduler_v2",
        "timm.utils.cuda.NativeScaler": "timm.utils.NativeScaler",
        "timm.utils.cuda.ApexScaler": "timm.utils.ApexScaler",
    },
    packages={"timm.optim": Package(), "timm.scheduler": Package()},
    harmless=(
        *members(
            "timm.utils",
            """
            metrics accuracy AverageMeter random_seed update_summary reduce_tensor setup_default_logging
            """,
        ),
        *members("timm.data", "resolve_data_config create_transform"),
    ),
    # `self.sum += val * n`: https://github.com/huggingface/pytorch-image-models/blob/main/timm/utils/metrics.py
    sinks={"timm.utils.AverageMeter.update": "keeps", "timm.utils.metrics.AverageMeter.update": "keeps"},
    optimizer_packages=("timm.optim.",),
    no_optimizers=("timm.optim.Lookahead",),
    optimizer_factories={"timm.optim.create_optimizer": 1, "timm.optim.create_optimizer_v2": 0},
    optimizer_wrappers={"timm.optim.Lookahead": 0},
    scheduler_pairs=members("timm.scheduler", "create_scheduler create_scheduler_v2"),
    scheduler_packages=("timm.scheduler.",),
    scaler_calls=members("timm.utils", "NativeScaler ApexScaler"),
    clips={
        "timm.utils.dispatch_clip_grad": 0,
        "timm.utils.clip_grad.dispatch_clip_grad": 0,
        "timm.utils.adaptive_clip_grad": 0,
        "timm.utils.agc.adaptive_clip_grad": 0,
    },
    loaders=("timm.data.create_loader", "timm.data.loader.create_loader"),
    picture_models=("timm.create_model", "timm.models."),
    parts={name: {"bn1": True} for name in members("timm.models", " ".join(_WITH_BATCH_NORM))},
    models={"timm.create_model": UNSURE},
    builders={"timm": _built},
    named={"timm.create_model": "timm.models"},
    pretrained={"timm.create_model": {"pretrained": 1}, "timm.models.": {"pretrained": 0}},
    heads={
        **dict.fromkeys(members("timm.models", _WITH_FC), ("fc", -1)),
        **dict.fromkeys(members("timm.models", _WITH_CLASSIFIER), ("classifier", -1)),
        **dict.fromkeys(members("timm.models", "vit_ deit_ beit_ mixer_"), ("head", -1)),
    },
    head_methods={"get_classifier": False, "reset_classifier": True},
    averaged={
        f"timm.utils.{module}{name}": 0
        for module in ("", "model_ema.")
        for name in ("ModelEma", "ModelEmaV2", "ModelEmaV3")
    },
)
