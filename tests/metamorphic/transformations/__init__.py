"""The transformations, by what they touch."""
