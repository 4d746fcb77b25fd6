"""Apex: mixed precision, wrappers and optimizers of NVIDIA."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, Package

LIBRARY = Library(
    aliases={
        "apex.parallel.distributed.DistributedDataParallel": "apex.parallel.DistributedDataParallel",
        "apex.amp.handle.scale_loss": "apex.amp.scale_loss",
        "apex.amp.frontend.initialize": "apex.amp.initialize",
    },
    packages={"apex.optimizers": Package()},
    optimizer_packages=("apex.optimizers.", "apex.contrib.optimizers."),
    optimizer_wrappers={
        "apex.fp16_utils.FP16_Optimizer": 0,
        "apex.contrib.optimizers.FP16_Optimizer": 0,
        "apex.parallel.LARC": 0,
        "apex.parallel.LARC.LARC": 0,
    },
    scaled_losses=("apex.amp.scale_loss",),
    prepares=("apex.amp.initialize",),
    wrappers={"apex.parallel.DistributedDataParallel": 0, "apex.parallel.convert_syncbn_model": 0},
)
