"""The rungs: each module has `climb(stage)`, a generator that yields how the step is to be repeated and returns what it found."""
