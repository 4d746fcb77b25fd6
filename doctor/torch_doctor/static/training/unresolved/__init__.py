"""What nobody can see: arguments that no call gives, and what unknown code may do with what it gets."""
