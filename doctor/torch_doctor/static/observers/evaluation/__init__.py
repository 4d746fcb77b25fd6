"""Observers of evaluation and what is reported of it."""
