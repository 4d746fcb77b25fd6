"""What torch-doctor should know of this library; torch-doctor reads it, and nothing else does."""

from torch_doctor.knowledge import Library

LIBRARY = Library(
    aliases={
        "tinytrain.optimizer.SignSGD": "tinytrain.SignSGD",
        "tinytrain.showing.show_model": "tinytrain.show_model",
    },
    optimizers=("tinytrain.SignSGD",),
    harmless=("tinytrain.show_model",),  # it leaves gradients and modes alone
)
