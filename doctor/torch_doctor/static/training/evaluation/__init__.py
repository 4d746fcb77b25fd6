"""The modes that an evaluation sets: of modules, and of autograd."""
