"""Keras, and what trains as it does: under the torch backend a model is a module, and `fit` owns the loop.

Source: https://keras.io/guides/writing_a_custom_training_loop_in_torch.
"""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library
from torch_doctor.static.tables.framework import LOOP, Framework

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
    owns_gradients=True,
)

LIBRARY = Library(
    launchers={"tensorflow.app.run": Launcher(0, "main", prepended=1)},
    frameworks=(KERAS,),
)
