"""Instruments of the update: gradients, parameters and what optimizers do with them."""
