"""Instruments of evaluation: it is done again and compared."""
