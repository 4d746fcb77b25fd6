"""Observers of the update: gradients, optimizers and steps."""
