"""The frameworks that own the training loop, or a part of it."""

from __future__ import annotations

from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import LOOP, Framework, Method
from torch_doctor.static.tables.hugging_face import ACCELERATE, TRANSFORMERS
from torch_doctor.static.tables.lightning import FABRIC, LIGHTNING

# https://docs.pytorch.org/ignite/engine.html
IGNITE = Framework(
    name="ignite",
    owners=frozenset({"ignite.engine.Engine"}),  # its first argument is called for every batch: (engine, batch)
    methods={
        "run": LOOP,
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
            LOOP,
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
    methods=dict.fromkeys(("fit", "eval", "predict"), LOOP),
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
    methods=dict.fromkeys(("fit", "partial_fit", "predict", "predict_proba", "score", "forward"), LOOP),
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
    methods=dict.fromkeys(("train", "evaluate_loader", "predict_loader", "run", "infer"), LOOP),
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
        LOOP,
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
        ("train", "fit", "run", "learn", "evaluate", "val", "predict", "fit_batch", "evaluate_batch"), LOOP
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
WRAPS: dict[str, int] = {name: place for framework in FRAMEWORKS for name, place in framework.wraps.items()}
OWNERS: dict[str, Framework] = {name: framework for framework in FRAMEWORKS for name in framework.owners}
FACTORIES: dict[str, str] = {name: owner for framework in FRAMEWORKS for name, owner in framework.factories.items()}

DECLARED: frozenset[str] = frozenset((*MODULE_BASES, *OWNERS, *FACTORIES, *WRAPS))
"""Everything of frameworks that is declared here: within a framework's own repository too, this is what it means."""

MODULES = MODULE_BASES.keys() - {"lightning.LightningDataModule"}
"""Bases whose subclasses are modules of torch."""
