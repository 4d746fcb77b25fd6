"""What small packages have of which scripts use little: dictionaries with attributes, configurations, typed command lines."""
