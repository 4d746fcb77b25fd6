"""What is saved and loaded, and the files that it is in."""
