"""Observers of data sets and loaders."""
