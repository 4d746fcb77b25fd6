"""What torch and the libraries around it do in an abstract execution: functions that take the run."""
