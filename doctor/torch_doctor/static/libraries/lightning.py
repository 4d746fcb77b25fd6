"""Lightning and Fabric, under all their names, and the packages that add to them."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.static.libraries.library import Launcher, Library, members
from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import LOOP, Framework, Method

MODULES = frozenset({"lightning.LightningModule"})
AUTOMATIC = "automatic_optimization"
"""The attribute by which the trainer clears, goes backward and steps; True until the module says something else."""
# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html
LIGHTNING = Framework(
    name="lightning",
    module_bases=frozenset({"lightning.LightningModule", "lightning.LightningDataModule"}),
    data_modules=frozenset({"lightning.LightningDataModule"}),
    hooks=frozenset(
        {
            *words(
                """
                configure_optimizers configure_model prepare_data setup teardown train_dataloader val_dataloader
                test_dataloader predict_dataloader optimizer_step optimizer_zero_grad backward lr_scheduler_step
                configure_gradient_clipping transfer_batch_to_device on_before_optimizer_step training_step_end
                validation_step_end test_step_end training_epoch_end validation_epoch_end test_epoch_end
                on_train_start on_train_end on_train_epoch_start on_train_epoch_end on_validation_start
                on_validation_end on_validation_epoch_start on_validation_epoch_end on_test_start on_test_end
                on_test_epoch_start on_test_epoch_end on_fit_start on_fit_end on_train_batch_start
                on_train_batch_end on_validation_batch_start on_validation_batch_end on_before_backward
                on_after_backward on_before_zero_grad on_save_checkpoint on_load_checkpoint on_validation_model_eval
                on_validation_model_train on_predict_start on_predict_epoch_end
                """
            ),
        }
    ),
    training_hooks=frozenset({"training_step"}),
    evaluation_hooks=frozenset({"validation_step", "test_step", "predict_step"}),
    owners=frozenset({"lightning.Trainer"}),
    methods=dict.fromkeys(("fit", "validate", "test", "predict", "tune"), LOOP),
    attributes={AUTOMATIC: True},
    owns_gradients=True,  # unless a module sets that to False
)
LIGHTNING_MANUAL = {
    "optimizers": Method(returns="unknown"),
    "lr_schedulers": Method(returns="unknown"),
    "manual_backward": Method(("backward", "as_is"), of=0, returns="nothing"),
    "toggle_optimizer": Method(returns="nothing"),
    "untoggle_optimizer": Method(returns="nothing"),
    "clip_gradients": Method(("clip",), returns="nothing"),
    "log": Method(returns="nothing"),
    "log_dict": Method(returns="nothing"),
    "print": Method(returns="nothing"),
    "save_hyperparameters": Method(returns="nothing"),
    "all_gather": Method(("gather",), of=0, returns="tensor"),
}
"""What a LightningModule calls on itself, above all if it updates by hand."""
THAWING = {"freeze": False, "unfreeze": True}
"""What a module does with all its parameters, and with its mode."""
OWN_LOGS = frozenset(("log", "log_dict"))
"""The methods of a module that log a figure; of a metric object the trainer logs what it adds up, and resets it."""

SAVING, SETTINGS, OF_SAVING = "save_hyperparameters", "hparams", frozenset(("ignore", "logger"))
"""The method that keeps the arguments of the constructor that calls it, the attribute they are kept as, and its settings."""
LOADING = frozenset({"load_from_checkpoint"})
"""The class method that returns a new module with the weights of a file; on an object, it fails since Lightning 2.2."""

# https://lightning.ai/docs/fabric/stable/api/fabric_methods.html
FABRIC = Framework(
    name="fabric",
    owners=frozenset({"lightning.Fabric", "lightning.LightningLite"}),
    methods={
        "setup": Method(("prepare",), returns="arguments"),
        "setup_module": Method(("prepare",), returns="same"),
        "setup_optimizers": Method(("prepare",), returns="arguments"),
        "setup_dataloaders": Method(("prepare",), returns="arguments"),
        "backward": Method(("backward", "as_is"), of=0, returns="nothing"),
        "clip_gradients": Method(("clip",), of=0),
        "autocast": Method(returns="context"),
        "no_backward_sync": Method(returns="neutral"),
        "init_module": Method(returns="context"),
        "init_tensor": Method(returns="context"),
        "rank_zero_first": Method(returns="neutral"),
        "to_device": Method(returns="same"),
        "all_gather": Method(("gather",), of=0, returns="tensor"),
        "all_reduce": Method(("gather",), of=0, returns="tensor"),
        "broadcast": Method(returns="same"),
        "launch": Method(),  # calls its first argument, if it has one
        "barrier": Method(returns="nothing"),
        "print": Method(returns="nothing"),
        "log": Method(returns="nothing"),
        "log_dict": Method(returns="nothing"),
        "seed_everything": Method(),
        "save": Method(returns="nothing"),
        "load": Method(),
        "call": Method(("opaque",)),
    },
)


class TrainerStage(Struct, frozen=True):
    """What a trainer does with its module and one kind of rows; `name` is what it tells `setup`, and its method."""

    name: str
    dataloader: str  # the hook that makes the loaders, of a data module or of the module
    arguments: tuple[str, ...]  # the keywords for them, first the newest
    over: str  # what they are called where nobody in sight makes them
    hooks: tuple[str, ...] = ()  # in order; the one that ends in `_step` is called for each batch


def _evaluation(name: str, stem: str, *arguments: str) -> TrainerStage:
    hooks = f"""
        on_{stem}_start on_{stem}_epoch_start on_{stem}_batch_start {stem}_step {stem}_step_end on_{stem}_batch_end
        {stem}_epoch_end on_{stem}_epoch_end on_{stem}_end
        """
    dataloader = f"{stem.removesuffix('idation')}_dataloader"
    return TrainerStage(name, dataloader, arguments, f"the {stem} batches", tuple(words(hooks)))


TRAIN = TrainerStage("fit", "train_dataloader", ("train_dataloaders", "train_dataloader"), "the training batches")
VALIDATE = _evaluation("validate", "validation", "dataloaders", "val_dataloaders")
TEST = _evaluation("test", "test", "dataloaders", "test_dataloaders")
PREDICT = _evaluation("predict", "predict", "dataloaders")
STAGES = {stage.name: stage for stage in (TRAIN, VALIDATE, TEST, PREDICT)}
"""The stages by the trainer's methods. All but training run in evaluation mode and without autograd, and each part has its own
mode again behind them. `fit` validates behind each epoch."""
EVALUATION = tuple(stage.hooks for stage in (VALIDATE, TEST, PREDICT))
SCHEDULED = words("lr_scheduler scheduler interval frequency")
"""The keys of what `configure_optimizers` returns that tell of schedulers."""
PREPARED = words("prepare_data setup")
"""What is called first in each stage, of the data module before the module."""
BEFORE_TRAINING = words("configure_model on_fit_start on_train_start")
"""What is called before the first epoch, in the mode in which each part was left: `fit` calls no `train()`."""
EACH_EPOCH = words("on_train_epoch_start on_train_batch_start on_train_batch_end")
UPDATE = words(
    """
    on_before_zero_grad on_before_backward on_after_backward on_before_optimizer_step configure_gradient_clipping
    """
)
"""What is called around the update of a batch, in this order, unless the module does all by hand."""
STEPPING = "lr_scheduler_step"
"""What is called instead of the step of a scheduler."""
AFTER_EPOCH = words("training_epoch_end on_train_epoch_end")
COMBINED = tuple(
    f"lightning.{module}.CombinedLoader" for module in ("utilities", "utilities.combined_loader", "trainer.supporters")
)
"""The class of loaders that are gone through together."""
CONFIGURING = "configure_optimizers"
"""The hook that makes the optimizers and schedulers: in manual optimization, the trainer steps none of them."""
MOST = "max_epochs"
"""The argument of a trainer that limits its epochs."""
WINDOW, WINDOWS = "accumulate_grad_batches", "lightning.callbacks.GradientAccumulationScheduler"
"""What says how many batches an update takes: the trainer divides their losses, and counts updates for its schedulers."""
CLI = frozenset(f"lightning.{module}.LightningCLI" for module in ("cli", "utilities.cli"))
"""What builds a model, a data module and a trainer from the command line, and fits unless it is told not to `run`."""
CLASSES_OF_CLI = words("model_class datamodule_class")
CHOSEN_BY_CLI = frozenset(words("subclass_mode_model subclass_mode_data **"))
"""The arguments with which the command line names the classes, or may do so."""
OTHER_STEPS = frozenset(words("max_steps limit_train_batches overfit_batches fast_dev_run **"))
"""The arguments of a trainer by which it may make other steps than its epochs have."""
TRIALS = words("overfit_batches fast_dev_run **")
"""The arguments of a trainer with which it only tries whether a module can be trained."""
OWN_CHECKPOINTS = (None, "best", "last")
"""What `ckpt_path` is where no weights but those of the same training are loaded."""
AFTER_TRAINING = words("on_train_end on_fit_end")
IN_ORDER = frozenset(
    {
        *PREPARED,
        *BEFORE_TRAINING,
        *EACH_EPOCH,
        *AFTER_EPOCH,
        *AFTER_TRAINING,
        "configure_optimizers",
        *(name for stage in STAGES.values() for name in (stage.dataloader, *stage.hooks)),
    }
)
"""The hooks whose place in the order is known; the others are called once, behind the training."""

LOOKING_ON = frozenset(
    members(
        "lightning.callbacks",
        """
        ModelCheckpoint EarlyStopping LearningRateMonitor RichProgressBar TQDMProgressBar ProgressBar ModelSummary
        RichModelSummary Timer DeviceStatsMonitor GPUStatsMonitor GradientAccumulationScheduler
        """,
    )
)
"""Callbacks that leave the module as it is."""
CHOOSING = {
    **dict.fromkeys(members("lightning.callbacks", "EarlyStopping"), words("monitor min_delta patience verbose mode")),
    **dict.fromkeys(members("lightning.callbacks", "ModelCheckpoint"), words("dirpath filename monitor")),
}
"""Callbacks that keep a model or stop by a logged figure, and their positional parameters."""


def is_for_batches(hook: str) -> bool:
    """Whether an evaluation calls a hook for each batch."""
    return "_batch_" in hook or hook.endswith(("_step", "_step_end"))


_PUBLIC = (
    "Trainer",
    "LightningModule",
    "LightningDataModule",
    "Callback",
    "seed_everything",
    "Fabric",
    "LightningLite",
)


def _spelled(name: str) -> str:
    parts = name.split(".")
    if parts[1:2] == ["callbacks"]:  # each is in a module of its own as well
        return ".".join(("lightning", "callbacks", parts[-1]))
    for index, part in enumerate(parts):
        if part in _PUBLIC:
            return ".".join(("lightning", *parts[index:]))
    return name


LIBRARY = Library(
    trees=(
        ("pytorch_lightning.", "lightning."),
        ("lightning.pytorch.", "lightning."),
        ("lightning_fabric.", "lightning.fabric."),
        ("lightning_lite.", "lightning.lite."),
    ),
    spelling={"lightning": _spelled},
    harmless=("lightning.seed_everything",),
    tallies=("lightning.metrics.",),
    launcher_methods={"lightning.Fabric.launch": Launcher(0, "function", prepended=1)},
    frameworks=(LIGHTNING, FABRIC),
    schedulers=(
        *members("pl_bolts.optimizers.lr_scheduler", "LinearWarmupCosineAnnealingLR"),
        *members("flash.core.optimizers", "LinearWarmupCosineAnnealingLR"),
    ),
)
