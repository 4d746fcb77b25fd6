"""Instruments of modules: copies of them are run with other inputs."""
