"""Rules on the mode and the graph of evaluation passes."""
