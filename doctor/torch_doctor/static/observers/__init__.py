"""What only watches a run and writes events, by the families of the rules."""
