"""What a checkup found, told to people: on a terminal, as an HTML page, as a readiness note."""
