"""The frameworks that own the training loop, or a part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from torch_doctor.static.tables import words

Act: TypeAlias = Literal[
    "forward",
    "loss",
    "backward",
    "clip",
    "step",
    "scheduler",
    "clear",
    "train",
    "eval",
    "loop",
    "prepare",
    "gather",
    "opaque",
]
"""What a method does to the contract; loop: it runs all of it, on its own terms; opaque: it may do any of it."""


@dataclass(frozen=True, slots=True)
class Method:
    """What a call on an object of a framework does, beyond what its arguments say."""

    acts: tuple[Act, ...] = ()
    of: int | None = None  # the position of what it acts on: a loss, parameters
    returns: Literal["nothing", "same", "arguments", "tensor", "context", "unknown"] = "unknown"
    # same: the one argument; arguments: all of them in order, alone where alone; context: a context manager


@dataclass(frozen=True, slots=True)
class Framework:
    """What is known of one framework."""

    name: str
    module_bases: frozenset[str] = frozenset()  # modules whose steps the framework calls
    hooks: frozenset[str] = frozenset()  # methods of those that it calls while training or evaluating
    training_hooks: frozenset[str] = frozenset()  # in training mode, with gradients, its result is the loss
    evaluation_hooks: frozenset[str] = frozenset()  # in evaluation mode, without gradients
    owners: frozenset[str] = frozenset()  # classes that run the loop on what they are given; may be subclassed
    override_hooks: frozenset[str] = frozenset()  # methods of the owners that users override and the loop calls
    methods: dict[str, Method] = field(default_factory=dict)  # of the owners
    factories: dict[str, str] = field(default_factory=dict)  # function -> owner that it returns
    wraps: dict[str, int] = field(default_factory=dict)  # function -> position of what is returned wrapped
    owns_mode: bool = False  # it switches training and evaluation mode itself
    owns_gradients: bool = False  # it clears, runs backward and steps itself


_LOOP = Method(("loop",))

# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html
LIGHTNING = Framework(
    name="lightning",
    module_bases=frozenset({"lightning.LightningModule", "lightning.LightningDataModule"}),
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
    methods=dict.fromkeys(("fit", "validate", "test", "predict", "tune"), _LOOP),
    owns_mode=True,
    owns_gradients=True,  # but for modules that set self.automatic_optimization = False
)
LIGHTNING_MANUAL = {
    "optimizers": Method(returns="unknown"),
    "lr_schedulers": Method(returns="unknown"),
    "manual_backward": Method(("backward",), of=0, returns="nothing"),
    "toggle_optimizer": Method(returns="nothing"),
    "untoggle_optimizer": Method(returns="nothing"),
    "clip_gradients": Method(("clip",), returns="nothing"),
    "log": Method(returns="nothing"),
    "log_dict": Method(returns="nothing"),
    "print": Method(returns="nothing"),
    "save_hyperparameters": Method(returns="nothing"),
    "all_gather": Method(("gather",), of=0, returns="tensor"),
}
"""What a LightningModule calls on itself, with automatic_optimization = False above all."""

# https://lightning.ai/docs/fabric/stable/api/fabric_methods.html
FABRIC = Framework(
    name="fabric",
    owners=frozenset({"lightning.Fabric"}),
    override_hooks=frozenset({"run"}),
    methods={
        "setup": Method(("prepare",), returns="arguments"),
        "setup_module": Method(("prepare",), returns="same"),
        "setup_optimizers": Method(("prepare",), returns="arguments"),
        "setup_dataloaders": Method(("prepare",), returns="arguments"),
        "backward": Method(("backward",), of=0, returns="nothing"),
        "clip_gradients": Method(("clip",), of=0),
        "autocast": Method(returns="context"),
        "no_backward_sync": Method(returns="context"),
        "init_module": Method(returns="context"),
        "init_tensor": Method(returns="context"),
        "rank_zero_first": Method(returns="context"),
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

# https://huggingface.co/docs/accelerate/package_reference/accelerator
ACCELERATE = Framework(
    name="accelerate",
    owners=frozenset({"accelerate.Accelerator"}),
    methods={
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
        "accumulate": Method(returns="context"),
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
        "unwrap_model": Method(returns="same"),
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

# https://huggingface.co/docs/transformers/main_classes/trainer
TRANSFORMERS = Framework(
    name="transformers",
    owners=frozenset(
        {
            *words(
                """
                transformers.Trainer transformers.Seq2SeqTrainer sentence_transformers.SentenceTransformerTrainer
                trl.SFTTrainer trl.DPOTrainer trl.PPOTrainer trl.RewardTrainer trl.GRPOTrainer trl.ORPOTrainer
                trl.KTOTrainer setfit.Trainer setfit.SetFitTrainer adapters.AdapterTrainer
                """
            ),
        }
    ),
    override_hooks=frozenset(
        {
            *words(
                """
                compute_loss training_step prediction_step evaluation_loop prediction_loop create_optimizer
                create_scheduler create_optimizer_and_scheduler get_train_dataloader get_eval_dataloader
                get_test_dataloader log _prepare_inputs _save_checkpoint _inner_training_loop evaluate
                """
            ),
        }
    ),
    training_hooks=frozenset({"compute_loss"}),  # also called while evaluating
    methods=dict.fromkeys(("train", "evaluate", "predict", "hyperparameter_search", "step"), _LOOP),
    owns_mode=True,
    owns_gradients=True,
)

# https://docs.pytorch.org/ignite/engine.html
IGNITE = Framework(
    name="ignite",
    owners=frozenset({"ignite.engine.Engine"}),  # its first argument is called for every batch: (engine, batch)
    methods={
        "run": _LOOP,
        **dict.fromkeys(("add_event_handler", "on", "state_dict", "terminate"), Method()),
    },
    factories={
        "ignite.engine.create_supervised_trainer": "ignite.engine.Engine",
        "ignite.engine.create_supervised_evaluator": "ignite.engine.Engine",
        "ignite.contrib.engines.create_supervised_tbptt_trainer": "ignite.engine.Engine",
    },
)
ENGINE_STEPS = {"ignite.engine.Engine": 0}
"""Classes whose instances call, for every batch, the function at this position; it keeps the whole contract itself."""
ENGINE_TRAINERS = frozenset(
    {"ignite.engine.create_supervised_trainer", "ignite.contrib.engines.create_supervised_tbptt_trainer"}
)
"""Factories that train the model (0) with the optimizer (1) and the loss (2)."""
ENGINE_EVALUATORS = frozenset({"ignite.engine.create_supervised_evaluator"})
"""Factories that evaluate the model (0), in evaluation mode and without gradients."""

# https://docs.fast.ai/learner.html
FASTAI = Framework(
    name="fastai",
    owners=frozenset(
        {
            *words(
                """
                fastai.learner.Learner fastai.basics.Learner fastai.vision.all.Learner fastai.text.all.Learner
                fastai.basic_train.Learner fastai.vision.Learner fastai.tabular.all.TabularLearner
                fastai.text.all.TextLearner fastai.tabular.all.Learner fastai.collab.Learner
                """
            ),
        }
    ),
    factories={
        f"fastai.{module}.{name}": "fastai.learner.Learner"
        for module, names in {
            "vision.all": ("vision_learner", "cnn_learner", "unet_learner", "gan_learner"),
            "vision.learner": ("vision_learner", "cnn_learner", "unet_learner"),
            "vision": ("cnn_learner", "unet_learner"),
            "text.all": ("text_classifier_learner", "language_model_learner"),
            "text": ("text_classifier_learner", "language_model_learner"),
            "tabular.all": ("tabular_learner",),
            "collab": ("collab_learner",),
        }.items()
        for name in names
    },
    methods={
        **dict.fromkeys(
            (
                "fit",
                "fit_one_cycle",
                "fine_tune",
                "fit_flat_cos",
                "fit_sgdr",
                "lr_find",
                "validate",
                "get_preds",
                "predict",
            ),
            _LOOP,
        ),
        **dict.fromkeys(
            ("freeze", "unfreeze", "save", "load", "export", "show_results", "summary", "add_cb"), Method()
        ),
    },
    override_hooks=frozenset(
        {"one_batch", "before_fit", "after_fit", "before_batch", "after_batch", "after_pred", "after_loss"}
    ),
    owns_mode=True,
    owns_gradients=True,
)

# https://deepspeed.readthedocs.io/en/latest/training.html
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

# https://horovod.readthedocs.io/en/stable/pytorch.html
HOROVOD = Framework(name="horovod", wraps={"horovod.torch.DistributedOptimizer": 0})

# https://docs.mosaicml.com/projects/composer
COMPOSER = Framework(
    name="composer",
    module_bases=frozenset({"composer.ComposerModel", "composer.ComposerClassifier", "composer.HuggingFaceModel"}),
    training_hooks=frozenset({"loss"}),
    evaluation_hooks=frozenset({"eval_forward"}),
    hooks=frozenset({"get_metrics", "update_metric"}),
    owners=frozenset({"composer.Trainer"}),
    methods=dict.fromkeys(("fit", "eval", "predict"), _LOOP),
    owns_mode=True,
    owns_gradients=True,
)

# https://skorch.readthedocs.io/en/stable/net.html
SKORCH = Framework(
    name="skorch",
    owners=frozenset(
        f"skorch.{name}"
        for name in ("NeuralNet", "NeuralNetClassifier", "NeuralNetRegressor", "NeuralNetBinaryClassifier")
    ),
    override_hooks=frozenset(
        {"get_loss", "train_step", "train_step_single", "validation_step", "infer", "evaluation_step"}
    ),
    methods=dict.fromkeys(("fit", "partial_fit", "predict", "predict_proba", "score", "forward"), _LOOP),
    owns_mode=True,
    owns_gradients=True,
)

# https://catalyst-team.github.io/catalyst
CATALYST = Framework(
    name="catalyst",
    owners=frozenset(
        {
            *words(
                """
                catalyst.dl.Runner catalyst.dl.SupervisedRunner catalyst.runners.SupervisedRunner
                catalyst.runners.Runner catalyst.dl.ConfigRunner catalyst.core.runner.IRunner
                """
            ),
        }
    ),
    override_hooks=frozenset({"handle_batch", "on_loader_start", "on_loader_end", "predict_batch"}),
    methods=dict.fromkeys(("train", "evaluate_loader", "predict_loader", "run", "infer"), _LOOP),
    owns_mode=True,
    owns_gradients=True,
)

# https://keras.io/guides/writing_a_custom_training_loop_in_torch: a module under the torch backend; fit owns the loop
KERAS = Framework(
    name="keras",
    module_bases=frozenset({"keras.Model", "keras.Sequential", "keras.layers.Layer", "tensorflow.keras.Model"}),
    training_hooks=frozenset({"train_step"}),
    evaluation_hooks=frozenset({"test_step", "predict_step"}),
    owners=frozenset({"keras.Model", "keras.Sequential", "poutyne.Model", "torchkeras.KerasModel"}),
    methods=dict.fromkeys(
        (
            "fit",
            "evaluate",
            "predict",
            "fit_generator",
            "train_on_batch",
            "test_on_batch",
            "predict_on_batch",
        ),
        _LOOP,
    ),
    owns_mode=True,
    owns_gradients=True,
)

# Others whose trainers take a model and run it themselves.
OTHERS = Framework(
    name="others",
    module_bases=frozenset({"allennlp.models.Model", "allennlp.models.model.Model", "mmengine.model.BaseModel"}),
    owners=frozenset(
        {
            *words(
                """
                allennlp.training.trainer.Trainer allennlp.training.trainer.GradientDescentTrainer
                mmengine.runner.Runner flair.trainers.ModelTrainer detectron2.engine.DefaultTrainer
                detectron2.engine.SimpleTrainer ultralytics.YOLO monai.engines.SupervisedTrainer
                monai.engines.SupervisedEvaluator stable_baselines3.PPO stable_baselines3.DQN stable_baselines3.A2C
                stable_baselines3.SAC
                """
            ),
            "pytorch_metric_learning.trainers.MetricLossOnly",
            *words("speechbrain.Brain speechbrain.core.Brain sentence_transformers.SentenceTransformer"),
        }
    ),
    training_hooks=frozenset({"compute_objectives"}),
    methods=dict.fromkeys(
        ("train", "fit", "run", "learn", "evaluate", "val", "predict", "fit_batch", "evaluate_batch"), _LOOP
    ),
    owns_mode=True,
    owns_gradients=True,
)

FRAMEWORKS: tuple[Framework, ...] = (
    *(
        LIGHTNING,
        FABRIC,
        ACCELERATE,
        TRANSFORMERS,
        IGNITE,
        FASTAI,
        DEEPSPEED,
        HOROVOD,
        COMPOSER,
        SKORCH,
        CATALYST,
        KERAS,
    ),
    OTHERS,
)

MODULE_BASES: dict[str, Framework] = {name: framework for framework in FRAMEWORKS for name in framework.module_bases}
OWNERS: dict[str, Framework] = {name: framework for framework in FRAMEWORKS for name in framework.owners}
FACTORIES: dict[str, str] = {name: owner for framework in FRAMEWORKS for name, owner in framework.factories.items()}

DECLARED: frozenset[str] = frozenset(
    (*MODULE_BASES, *OWNERS, *FACTORIES, *(name for framework in FRAMEWORKS for name in framework.wraps))
)
"""Everything of frameworks that is declared here: within a framework's own repository too, this is what it means."""

MODULES = MODULE_BASES.keys() - {"lightning.LightningDataModule"}
"""Bases whose subclasses are modules of torch."""
