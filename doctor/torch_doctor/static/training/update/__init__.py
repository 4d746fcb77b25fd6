"""What changes parameters: gradients, the optimizers that apply them, and what scripts do by hand."""
