"""What Python's statements and expressions do in an abstract execution: functions that take the run."""
