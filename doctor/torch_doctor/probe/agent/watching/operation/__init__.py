"""Watches settings of the whole process, and numbers that are read while it trains."""
