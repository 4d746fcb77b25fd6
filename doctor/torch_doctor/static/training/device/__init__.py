"""Devices and precision."""
