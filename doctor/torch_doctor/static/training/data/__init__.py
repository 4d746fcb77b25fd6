"""Datasets, loaders and arrays: what the batches of a loop consist of."""
