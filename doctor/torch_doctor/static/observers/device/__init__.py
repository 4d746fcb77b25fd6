"""Observers of devices, precision and many processes."""
