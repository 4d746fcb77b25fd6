"""Modules: their classes, parts and methods, and the forwards that calls of them run."""
