"""Instruments of losses: they are computed again with other targets."""
