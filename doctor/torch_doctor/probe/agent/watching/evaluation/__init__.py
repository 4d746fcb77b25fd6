"""Watches the modes of modules and of autograd."""
