"""loralib: layers with LoRA (https://github.com/microsoft/LoRA)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, LibraryModel, members

_LAYERS = members("loralib", "Linear Embedding MergedLinear Conv1d Conv2d Conv3d")

LIBRARY = Library(
    aliases={f"loralib.layers.{layer.rpartition('.')[2]}": layer for layer in _LAYERS},
    harmless=("loralib",),
    models=dict.fromkeys(
        _LAYERS, LibraryModel(sensitive=False, training=True, rates=(("lora_dropout", 4),), layer=True)
    ),
    freezing={"loralib.mark_only_lora_as_trainable": (0, "loralib.")},
)
