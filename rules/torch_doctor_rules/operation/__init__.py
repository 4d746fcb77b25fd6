"""Rules on running the script at all."""
