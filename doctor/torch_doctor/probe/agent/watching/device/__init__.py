"""Watches moves, mixed precision and what processes exchange."""
