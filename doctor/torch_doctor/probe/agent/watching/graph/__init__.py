"""Watches what keeps autograd's graph alive."""
