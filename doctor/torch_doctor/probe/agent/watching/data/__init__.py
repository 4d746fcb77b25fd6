"""Watches datasets, loaders and the batches that models get."""
