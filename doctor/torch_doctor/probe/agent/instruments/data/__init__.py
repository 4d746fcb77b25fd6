"""Instruments of data: what datasets and loaders give is read again."""
