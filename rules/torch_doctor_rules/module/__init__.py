"""Rules on what a module registers and how it is constructed."""
