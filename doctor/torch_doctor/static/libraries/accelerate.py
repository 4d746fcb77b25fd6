"""Accelerate (https://huggingface.co/docs/accelerate/package_reference/accelerator)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library, Package, PassThrough, members
from torch_doctor.static.tables.framework import Framework, Method
from torch_doctor.static.tables.reading import DATA_LOADER

ACCELERATE = Framework(
    name="accelerate",
    owners=frozenset({"accelerate.Accelerator"}),
    methods={
        # A model is wrapped in DDP or FSDP where there are several processes, and every process gets batches of its own:
        # the last ones are filled up with samples from the beginning (`even_batches`).
        # https://huggingface.co/docs/accelerate/concept_guides/internal_mechanism
        "prepare": Method(("prepare",), returns="arguments"),
        "prepare_model": Method(("prepare",), of=0, returns="same"),
        "prepare_optimizer": Method(("prepare",), of=0, returns="same"),
        "prepare_scheduler": Method(("prepare",), of=0, returns="same"),
        "prepare_data_loader": Method(("prepare",), of=0, returns="same"),
        "backward": Method(("backward",), of=0, returns="nothing"),
        "clip_grad_norm_": Method(("clip",), of=0, returns="tensor"),
        "clip_grad_value_": Method(("clip",), of=0, returns="nothing"),
        "unscale_gradients": Method(returns="nothing"),
        # Within, step and zero_grad of prepared optimizers wait until the window is full; backward divides the loss.
        # https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
        "accumulate": Method(("window",), returns="context"),
        "no_sync": Method(returns="context"),
        "autocast": Method(returns="context"),
        "main_process_first": Method(returns="context"),
        "local_main_process_first": Method(returns="context"),
        "join_uneven_inputs": Method(returns="context"),
        "profile": Method(returns="context"),
        "gather": Method(("gather",), of=0, returns="same"),
        "gather_for_metrics": Method(("gather",), of=0, returns="same"),
        "reduce": Method(("gather",), of=0, returns="same"),
        "pad_across_processes": Method(("gather",), of=0, returns="same"),
        "unwrap_model": Method(of=0, returns="bare"),
        "get_state_dict": Method(),
        "free_memory": Method(returns="arguments"),
        "clear": Method(returns="arguments"),
        "skip_first_batches": Method(returns="same"),
        "wait_for_everyone": Method(returns="nothing"),
        "print": Method(returns="nothing"),
        "log": Method(returns="nothing"),
        "init_trackers": Method(returns="nothing"),
        "end_training": Method(returns="nothing"),
        "save": Method(returns="nothing"),
        "save_state": Method(),
        "save_model": Method(returns="nothing"),
        "load_state": Method(),
        "register_for_checkpointing": Method(returns="nothing"),
        "trigger_sync_in_backward": Method(returns="context"),
    },
)

UNEVEN = frozenset(("even_batches", "dataloader_config", "split_batches", "dispatch_batches", "**"))
"""Arguments by which the last batches may stay as they are."""
EXACT = frozenset(("gather_for_metrics", "pad_across_processes"))
"""Methods that leave out what the last batches were filled up with."""

LIBRARY = Library(
    aliases={
        "accelerate.launchers.notebook_launcher": "accelerate.notebook_launcher",
        "accelerate.utils.set_seed": "accelerate.set_seed",
    },
    packages={"accelerate": Package(frozenset({"utils", "state", "tracking"}))},
    harmless=members("accelerate", "logging set_seed utils.ProjectConfiguration"),
    passes={"accelerate.skip_first_batches": PassThrough(0)},
    launchers={
        "accelerate.notebook_launcher": Launcher(0, "function", 1),
        "accelerate.debug_launcher": Launcher(0, "function", 1),
    },
    frameworks=(ACCELERATE,),
    loader_parameters={"accelerate.data_loader.DataLoaderShard": DATA_LOADER},
    saves={"accelerate.utils.save": 0},
)
