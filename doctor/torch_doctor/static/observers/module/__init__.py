"""Observers of modules: their parts, and how they are called."""
