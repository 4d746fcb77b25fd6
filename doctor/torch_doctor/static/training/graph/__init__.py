"""What holds a value, and with it the graph that autograd recorded of it."""
