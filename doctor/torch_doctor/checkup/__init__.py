"""The checkup: climbs the debug ladder on a live training script, one rung after the other."""
