"""Horovod: training in several processes (https://horovod.readthedocs.io/en/stable/pytorch.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library, members
from torch_doctor.static.tables.framework import Framework

LIBRARY = Library(
    harmless=members(
        "horovod.torch", "rank size local_rank init allreduce broadcast_parameters broadcast_optimizer_state"
    ),
    launchers={"horovod.run": Launcher(0, "func", 1), "horovod.spark.run": Launcher(0, "fn", 1)},
    frameworks=(Framework(name="horovod", wraps={"horovod.torch.DistributedOptimizer": 0}),),
    optimizer_wrappers={"horovod.torch.DistributedOptimizer": 0},
)
