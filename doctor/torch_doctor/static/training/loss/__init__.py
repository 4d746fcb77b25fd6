"""Losses: torch's own, and those that models of libraries compute."""
