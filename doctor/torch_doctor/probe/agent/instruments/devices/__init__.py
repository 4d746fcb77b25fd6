"""Where tensors would be if there were a GPU, and which operations cannot be done there."""
