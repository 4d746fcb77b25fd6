"""An optimizer that follows the sign of the gradient alone."""

from collections.abc import Iterable

import torch


class SignSGD(torch.optim.Optimizer):
    """Every number moves by `lr`, against the sign of its gradient."""

    def __init__(self, params: Iterable[torch.nn.Parameter], lr: float = 1e-3) -> None:
        """Take the parameters."""
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self) -> None:
        """Move them."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter -= group["lr"] * parameter.grad.sign()
