"""Observers of reproducibility and operation."""
