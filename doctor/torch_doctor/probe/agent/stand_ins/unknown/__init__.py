"""What stands in for modules of which nothing is known but how the script uses what it imports from them."""
