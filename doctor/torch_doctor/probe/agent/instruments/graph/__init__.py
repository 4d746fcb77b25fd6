"""Instruments of the autograd graph: what of it stays alive."""
