"""Watches losses, and the computations whose results they are given."""
