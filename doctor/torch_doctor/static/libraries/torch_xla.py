"""PyTorch/XLA: training on TPUs."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library

LIBRARY = Library(
    launchers={
        "torch_xla.distributed.xla_multiprocessing.spawn": Launcher(0, "fn", 1, prepended=1),
        "torch_xla.launch": Launcher(0, "fn", 1, prepended=1),
    },
    optimizer_steps={"torch_xla.core.xla_model.optimizer_step": 0},
    saves={"torch_xla.core.xla_model.save": 0},
    loader_wrappers={"torch_xla.distributed.parallel_loader.MpDeviceLoader": 0},
    wrappers={"torch_xla.distributed.fsdp.XlaFullyShardedDataParallel": 0},
)
