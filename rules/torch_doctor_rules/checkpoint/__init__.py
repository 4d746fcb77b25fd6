"""Rules on what is written to a checkpoint."""
