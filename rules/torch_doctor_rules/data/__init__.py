"""Data: what is read, in which order, and by whom."""
