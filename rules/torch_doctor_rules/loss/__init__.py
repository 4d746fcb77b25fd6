"""Rules on the loss and what it is given."""
