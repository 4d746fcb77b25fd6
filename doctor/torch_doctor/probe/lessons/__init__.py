"""Learning by restarting: an attempt to run a script that stops early says what a substitute has to be in the next one."""
