"""Instruments of checkpoints: what was saved is read back."""
