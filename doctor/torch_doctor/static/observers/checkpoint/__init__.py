"""Observers of checkpoints and states."""
