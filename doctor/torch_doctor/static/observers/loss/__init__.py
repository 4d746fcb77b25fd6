"""Observers of losses."""
