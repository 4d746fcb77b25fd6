"""Rules on autograd graphs that stay alive."""
