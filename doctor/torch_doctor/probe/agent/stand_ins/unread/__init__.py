"""What could not be read, or failed on what was made up: the script goes on with values that are known by their use alone."""
