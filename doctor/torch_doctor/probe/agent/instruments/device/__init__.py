"""Instruments of devices: where tensors would be, and whether processes and devices agree."""
