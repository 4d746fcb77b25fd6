"""Observers of the graph that autograd records."""
