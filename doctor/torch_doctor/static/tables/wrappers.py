"""What stands around a model: wrappers, averaged copies, and functions that call it.

Sources: the documentation of each package named. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import libraries

if TYPE_CHECKING:
    from torch_doctor.static.libraries.library import Position

# Wrappers ------------------------------------------------------------------------------------------------------------

PARALLEL = frozenset(
    (
        "torch.nn.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
    )
)
"""Wrappers that train a module in several processes, or on several devices."""
WRAPPERS: dict[str, Position] = {
    "torch.nn.DataParallel": 0,
    "torch.nn.parallel.DistributedDataParallel": 0,
    "torch.nn.parallel.DistributedDataParallelCPU": 0,
    "torch.distributed.fsdp.FullyShardedDataParallel": 0,
    "torch.distributed.fsdp.fully_shard": 0,
    "torch.distributed._composable.replicate": 0,
    "torch.distributed.tensor.parallel.parallelize_module": 0,
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper": 0,
    "torch.compile": 0,
    "torch.jit.script": 0,
    "torch.jit.trace": 0,
    "torch.jit.freeze": 0,
    "torch.jit.optimize_for_inference": 0,
    "torch.fx.symbolic_trace": 0,
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": 0,
    "torch.nn.utils.weight_norm": 0,
    "torch.nn.utils.remove_weight_norm": 0,
    "torch.nn.utils.spectral_norm": 0,
    "torch.nn.utils.remove_spectral_norm": 0,
    "torch.nn.utils.parametrizations.weight_norm": 0,
    "torch.nn.utils.parametrizations.spectral_norm": 0,
    "torch.nn.utils.parametrizations.orthogonal": 0,
    "torch.nn.utils.parametrize.register_parametrization": 0,
    "torch.nn.utils.convert_conv2d_weight_memory_format": 0,
    "torch.ao.quantization.prepare": 0,
    "torch.ao.quantization.prepare_qat": 0,
    "torch.ao.quantization.convert": 0,
    "torch.ao.quantization.quantize_dynamic": 0,
    "torch.quantization.prepare": 0,
    "torch.quantization.prepare_qat": 0,
    "torch.quantization.convert": 0,
    "torch.quantization.quantize_dynamic": 0,
    "torch.ao.quantization.QuantWrapper": 0,
    **libraries.table(lambda library: library.wrappers),
}
"""Calls that return the module at this position, wrapped or changed in place: the same layers in the same mode."""

ADAPTERS = libraries.table(lambda library: library.adapters)
"""Calls that freeze a model and put an adapter into it."""
ADAPTER_SETTINGS = libraries.table(lambda library: library.adapter_settings)
"""The classes of such calls' settings, and what is set where they leave more than the adapter to train."""
ADAPTER_METHODS = libraries.table(lambda library: library.adapter_methods)
"""Methods of models with an adapter, and what they do with it."""
FREEZING = libraries.table(lambda library: library.freezing)
"""Functions that freeze the model at this position, and how the names of layers begin that keep an adapter to train."""
ADAPTER_LAYERS = tuple({start for _, start in FREEZING.values() if start})
"""How the names of layers begin that are adapters of the weights they have beside."""

COMPILERS = frozenset(
    {
        "torch.jit.script",
        "torch.jit.trace",
        "torch.jit.freeze",
        "torch.jit.optimize_for_inference",
        "torch.fx.symbolic_trace",
        *libraries.every(lambda library: library.compilers),
    }
)
"""Those of the wrappers whose module runs compiled code, not Python's: hooks and overridden methods mean nothing to it."""

APPLIED: dict[str, Position] = {
    "torch.nn.parallel.data_parallel": 1,
    "torch.utils.checkpoint.checkpoint": 1,
    "torch.utils.checkpoint.checkpoint_sequential": 2,
}
"""Functions that call the module or function they get first, with what they get from this position on."""

# Averaged copies -----------------------------------------------------------------------------------------------------

AVERAGED: dict[str, Position] = {
    "torch.optim.swa_utils.AveragedModel": 0,
    **libraries.table(lambda library: library.averaged),
}
"""Averaged copies of the model at this position: modules of their own, which no optimizer trains."""
