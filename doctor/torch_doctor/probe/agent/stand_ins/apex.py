"""apex, which no index has: its mixed precision does nothing, its optimizers and layers are torch's."""

from __future__ import annotations

import contextlib
import functools
import types
from typing import TYPE_CHECKING, Any

from .. import imports
from . import told
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.machinery import ModuleSpec


class Apex(StandIn):
    """Stands in for apex where the user's code cannot do without."""

    replaces = "package not installed"
    voids = (told.PRECISION,)

    def prepare(self) -> None:
        """Finds apex and its modules."""
        imports.where_absent(self._find)

    def _find(self, name: str) -> ModuleSpec | None:
        frame = importing_frame()
        if name not in MODULES or frame is None:
            return None
        if name == "apex":
            users = self.sources.is_users(frame.f_code.co_filename)
            if not users or is_only_asking() or has_fallback(self.sources, frame):
                return None
            self.tell("apex", "the equivalents in torch, in float32")
        return imports.spec_of(name, _made)


def _made(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__path__ = []
    vars(module).update(MODULES[name]())
    if name == "apex":
        for inner in ("amp", "parallel", "optimizers", "normalization"):
            whole = types.ModuleType(f"apex.{inner}")
            vars(whole).update(MODULES[whole.__name__]())
            setattr(module, inner, whole)
    return module


def _amp() -> dict[str, Any]:
    import torch

    def initialize(models: Any, optimizers: Any = None, *_: Any, **__: Any) -> Any:
        return models if optimizers is None else (models, optimizers)

    @contextlib.contextmanager
    def scale_loss(loss: Any, *_: Any, **__: Any) -> Iterator[Any]:
        yield loss

    def master_params(optimizer: Any) -> Iterator[Any]:
        return (parameter for group in optimizer.param_groups for parameter in group["params"])

    def unchanged(function: Any = None, *_: Any, **__: Any) -> Any:
        return function

    return {
        "initialize": initialize,
        "scale_loss": scale_loss,
        "master_params": master_params,
        "disable_casts": contextlib.nullcontext,
        "state_dict": dict,
        "load_state_dict": unchanged,
        "init": lambda *_, **__: types.SimpleNamespace(_clear_cache=lambda: None, scale_loss=scale_loss),
        **dict.fromkeys(("half_function", "float_function", "promote_function"), unchanged),
        "register_float_function": unchanged,
        "autocast": torch.autocast,
    }


def _parallel() -> dict[str, Any]:
    import torch

    batch_norm: Any = torch.nn.SyncBatchNorm

    def distributed(module: Any, *_: Any, **__: Any) -> Any:
        return torch.nn.parallel.DistributedDataParallel(module)

    return {
        "DistributedDataParallel": distributed,
        "SyncBatchNorm": batch_norm,
        "convert_syncbn_model": lambda module, *_, **__: batch_norm.convert_sync_batchnorm(module),
        "LARC": lambda optimizer, *_, **__: optimizer,
    }


def _optimizers() -> dict[str, Any]:
    from torch import optim

    def fused(kind: Any, *names: str) -> Callable[..., Any]:
        @functools.wraps(kind)
        def built(params: Any, *_: Any, **keywords: Any) -> Any:
            return kind(params, **{name: value for name, value in keywords.items() if name in names})

        return built

    usual = ("lr", "weight_decay")
    return {
        "FusedAdam": fused(optim.AdamW, *usual, "betas", "eps"),
        "FusedLAMB": fused(optim.AdamW, *usual, "betas", "eps"),
        "FusedNovoGrad": fused(optim.AdamW, *usual, "betas", "eps"),
        "FusedSGD": fused(optim.SGD, *usual, "momentum", "dampening", "nesterov"),
        "FP16_Optimizer": lambda optimizer, *_, **__: optimizer,
    }


def _normalization() -> dict[str, Any]:
    from torch import nn

    return {"FusedLayerNorm": nn.LayerNorm, "FusedRMSNorm": nn.RMSNorm}


def _fp16() -> dict[str, Any]:
    return {
        "network_to_half": lambda module: module,
        "BN_convert_float": lambda module: module,
        "convert_network": lambda module, *_: module,
        "FP16_Optimizer": lambda optimizer, *_, **__: optimizer,
        "prep_param_lists": lambda module, *_: (list(module.parameters()), list(module.parameters())),
    }


MODULES: dict[str, Callable[[], dict[str, Any]]] = {
    "apex": dict,
    "apex.amp": _amp,
    "apex.parallel": _parallel,
    "apex.optimizers": _optimizers,
    "apex.normalization": _normalization,
    "apex.normalization.fused_layer_norm": _normalization,
    "apex.fp16_utils": _fp16,
    "apex.contrib": dict,
}
