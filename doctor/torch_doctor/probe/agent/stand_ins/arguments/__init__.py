"""Stand-ins for what must be given on the command line, or in a configuration, and was not."""
