"""FairScale: sharded training."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members

LIBRARY = Library(
    optimizers=members("fairscale.optim", "OSS oss.OSS"),
    scalers=("fairscale.optim.grad_scaler.ShardedGradScaler",),
    wrappers={
        "fairscale.nn.FullyShardedDataParallel": 0,
        "fairscale.nn.data_parallel.ShardedDataParallel": 0,
        "fairscale.nn.data_parallel.FullyShardedDataParallel": 0,
    },
)
