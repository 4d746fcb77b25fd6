"""What values mean, one question each: a domain reads its answer from how a value was made, when somebody asks."""
