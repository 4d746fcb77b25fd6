"""Operations on tensors, by function and by method."""
