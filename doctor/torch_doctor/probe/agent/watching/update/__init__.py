"""Watches what updates the weights: forwards, backward passes, gradients, optimizers, scalers and schedulers."""
