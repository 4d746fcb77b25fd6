"""Rules about where tensors are: CPU, GPU, and what moves between them."""
