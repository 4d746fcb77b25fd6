"""Findings as people and programs want them: one module per output format."""
