"""What shows a model."""

from torch import nn


def show_model(model: nn.Module) -> None:
    """Print the names and shapes of its parameters."""
    for name, parameter in model.named_parameters():
        print(name, tuple(parameter.shape))
