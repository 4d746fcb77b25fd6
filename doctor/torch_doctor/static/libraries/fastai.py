"""fastai: learners (https://docs.fast.ai/learner.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import LOOP, Framework, Method

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
    owns_gradients=True,
)

LIBRARY = Library(frameworks=(FASTAI,))
