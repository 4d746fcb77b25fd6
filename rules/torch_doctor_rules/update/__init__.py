"""Rules on the update: clearing, computing and applying gradients."""
