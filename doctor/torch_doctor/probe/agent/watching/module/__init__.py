"""Watches how modules are built, what they hold and how they are called."""
