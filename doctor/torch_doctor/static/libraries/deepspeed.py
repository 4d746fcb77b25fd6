"""DeepSpeed: engines that train what they wrap (https://deepspeed.readthedocs.io/en/latest/training.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members
from torch_doctor.static.tables.framework import Framework, Method

DEEPSPEED = Framework(
    name="deepspeed",
    owners=frozenset(
        {"deepspeed.DeepSpeedEngine", "deepspeed.runtime.engine.DeepSpeedEngine", "deepspeed.PipelineEngine"}
    ),
    factories={"deepspeed.initialize": "deepspeed.DeepSpeedEngine"},  # (engine, optimizer, loader, scheduler)
    wraps={"deepspeed.init_inference": 0},
    methods={
        "backward": Method(("backward",), of=0, returns="same"),
        "step": Method(("step", "scheduler", "clear"), returns="nothing"),
        "train_batch": Method(("loop",), returns="tensor"),
        "eval_batch": Method(("loop",), returns="tensor"),
        "save_checkpoint": Method(),
        "load_checkpoint": Method(),
        "no_sync": Method(returns="context"),
        "zero_grad": Method(("clear",), returns="nothing"),
        "allreduce_gradients": Method(returns="nothing"),
        "is_gradient_accumulation_boundary": Method(),
        "get_global_grad_norm": Method(),
    },
)

LIBRARY = Library(
    harmless=members("deepspeed", "init_distributed add_config_arguments"),
    frameworks=(DEEPSPEED,),
    optimizers=members("deepspeed.ops", "adam.FusedAdam adam.DeepSpeedCPUAdam lamb.FusedLamb lion.FusedLion"),
    schedulers=members("deepspeed.runtime.lr_schedules", "WarmupLR WarmupDecayLR"),
)
