"""Libraries that own the training loop or a part of it."""
