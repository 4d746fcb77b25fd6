"""What could not be read, or failed on what was made up: the script goes on with placeholder values inferred from their use."""
