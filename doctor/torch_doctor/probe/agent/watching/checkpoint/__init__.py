"""Watches what is saved and loaded."""
