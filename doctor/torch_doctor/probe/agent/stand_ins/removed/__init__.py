"""Stand-ins for interfaces that newer versions of Python and of libraries have no more: they work as they did, and are told."""
